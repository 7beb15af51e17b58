/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses from names: the next names of a directory, while what is used in
 * it was not foreseen by trails.
 */
#include "core.h"

enum {
	NEAR = 6,     /* names ahead, without a run */
	RUN_MAX = 40, /* with one */
	BEHIND = 2,
	FIRST_PARENT = 128, /* of the calibration */
};

static unsigned log_bucket(uint32_t n)
{
	unsigned b = 0;

	while (n > 1 && b < 7) {
		n /= 2;
		b++;
	}
	return b;
}

static unsigned share_bucket(const struct dir *d)
{
	uint32_t percent = d->used * 100 / (d->n ? d->n : 1);

	return percent < 10 ? 0 : percent < 30 ? 1 : percent < 60 ? 2 : 3;
}

/* Before anything is known of such a guess: by the length of the run. */
static const float run_prior[] = {0.08f, 0.3f, 0.5f, 0.6f, 0.7f};

static void guess_one(struct predictor *p, struct stream *s,
    const struct dir *d, uint32_t rank, uint32_t distance, uint16_t type)
{
	uint32_t object = d->list[rank];
	unsigned run = d->run < 7 ? d->run : 7;
	unsigned parent, near = rank < d->last ? 7 : log_bucket(distance);
	const struct object *o;
	struct cand *c;
	calib_cell cell;
	float prob;

	if (object == OBJECT_NONE || cands_has(p, s, object))
		return;
	o = objects_at(p->objects, object);
	parent = FIRST_PARENT + run * 16 + share_bucket(d) * 4 +
		 (o->type == type) * 2u + (o->count > 0);
	cell = (calib_cell)(parent * CALIB_FINE + near * 8 +
			    log_bucket(d->n) / 2 * 2 + (s->guessed > 0.4f));
	prob = calib_p(p->calib, cell, run_prior[d->run < 4 ? d->run : 4]);
	c = cands_make(p, s, object, distance);
	if ((c->told > 0 || c->mask || c->related > 0) && prob <= c->p)
		return;
	c->source = PREDICTOR_FROM_NAMES;
	c->cell = cell;
	cands_set(s, c, prob);
}

void guess_event(struct predictor *p, struct stream *s, uint32_t object)
{
	const struct object *o = objects_at(p->objects, object);
	const struct dir *d;
	uint32_t ahead;

	if (o->dir == DIR_NONE || o->rank == RANK_NONE)
		return;
	names_use(p->names, o->dir, o->rank, p->events);
	d = names_at(p->names, o->dir);
	if (s->foreseen || !d->list)
		return;
	ahead = NEAR + d->run * 4;
	if (ahead > RUN_MAX)
		ahead = RUN_MAX;
	for (uint32_t i = 1; i <= ahead && o->rank + i < d->n; i++)
		guess_one(p, s, d, o->rank + i, i, o->type);
	for (uint32_t i = 1; i <= BEHIND && i <= o->rank; i++)
		guess_one(p, s, d, o->rank - i, i, o->type);
}
