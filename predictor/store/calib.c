/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells, their parents, and the correction of what is told: see calib.h.
 * cands.c asks for a probability here whenever it estimates a candidate, and
 * brings its outcome back, whether the object was fetched or not. */
#include "predictor/store/calib.h"

#include <stdlib.h>

/* How many outcomes the coarser estimate counts as. Half or double changes the
 * stall by less than seeds do (forefetch-sim, tuning half). */
#define LEAN_PARENT 6.0f
#define LEAN_PRIOR  4.0f
#define LEAN_TOLD   20.0f

/* Probabilities that were told are counted in so many steps. */
enum { TOLD = 20 };

struct calib_cell {
	float hits, n;
};

struct calib {
	struct calib_cell fine[CALIB_CELLS];
	struct calib_cell parents[CALIB_PARENTS];
	struct calib_cell told[TOLD];
};

struct calib *calib_new(void)
{
	return calloc(1, sizeof(struct calib));
}

void calib_free(struct calib *c)
{
	free(c);
}

float calib_p(const struct calib *c, calib_cell cell, float prior)
{
	const struct calib_cell *f = &c->fine[cell];
	const struct calib_cell *up = &c->parents[cell / CALIB_FINE];
	float p = (up->hits + LEAN_PRIOR * prior) / (up->n + LEAN_PRIOR);

	return (f->hits + LEAN_PARENT * p) / (f->n + LEAN_PARENT);
}

/* When a cell has seen enough, all its outcomes count half, so that it follows
 * a client that changes its ways. */
static void cell_learn(struct calib_cell *c, int hit)
{
	if (c->n >= CALIB_OUTCOMES) {
		c->hits /= 2;
		c->n /= 2;
	}
	c->n += 1;
	c->hits += hit ? 1.0f : 0.0f;
}

void calib_learn(struct calib *c, calib_cell cell, int hit)
{
	cell_learn(&c->fine[cell], hit);
	cell_learn(&c->parents[cell / CALIB_FINE], hit);
}

static int told_step(float p)
{
	int i = (int)(p * TOLD);

	return i < 0 ? 0 : i < TOLD ? i : TOLD - 1;
}

/* Which share of step `i` came true; the middle of the step is the prior. */
static float told_share(const struct calib *c, int i)
{
	const struct calib_cell *t = &c->told[i];
	float said = ((float)i + 0.5f) / TOLD;

	return (t->hits + LEAN_TOLD * said) / (t->n + LEAN_TOLD);
}

/* Interpolates between the middles of two steps. */
float calib_correct(const struct calib *c, float p)
{
	float x = p * TOLD - 0.5f;
	int i = x < 0 ? 0 : x < TOLD - 1 ? (int)x : TOLD - 2;
	float a = told_share(c, i), b = told_share(c, i + 1);
	float was = a + (b - a) * (x - (float)i);

	return was < 0.001f ? 0.001f : was > 0.999f ? 0.999f : was;
}

void calib_learn_told(struct calib *c, float p, int hit)
{
	cell_learn(&c->told[told_step(p)], hit);
}

size_t calib_memory_bytes(const struct calib *c)
{
	return sizeof(*c);
}

void calib_get(const struct calib *c, calib_cell cell, float *hits, float *n)
{
	*hits = c->fine[cell].hits;
	*n = c->fine[cell].n;
}

/* A parent becomes the sum of its cells, up to CALIB_OUTCOMES. */
void calib_set(struct calib *c, calib_cell cell, float hits, float n)
{
	struct calib_cell *up = &c->parents[cell / CALIB_FINE];

	c->fine[cell] = (struct calib_cell){hits, n};
	up->hits += hits;
	up->n += n;
	if (up->n > CALIB_OUTCOMES) {
		up->hits *= CALIB_OUTCOMES / up->n;
		up->n = CALIB_OUTCOMES;
	}
}
