/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts that count, and their logistic mix: see nameodds.h. Contexts lie in
 * a table of fixed size by a hash, each alone in its slot; a tag tells whose
 * the slot is, and a context whose slot another one has counts as unseen. */
#include "predictor/store/nameodds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

enum {
	SLOTS = 1 << 14,
	STEPS = 1024, /* of the table of logits */
	LEVELS = 5,   /* of how much a context has seen: level() */
	/* Outcomes that a context counts; older ones decay. */
	COUNT_MAX = 20,
	/* A context with more outcomes is not given up at once for another. */
	COUNT_FIRM = 2,
};

/* Sets of weights: by the length of the run, and for what is not entered. */
enum { SET_RUN = 3, SET_BELOW = 4, SETS = 5, RUN_LONG = 8 };

/* How fast weights are learned; a quarter or double changes the stall of first
 * runs by less than .003 (forefetch-sim, tuning half, with names). */
#define RATE        0.02f
/* How fast weights go back to where they began. With it and CONTEXT_MAX the
 * jobs before it make a first run's stall at most .013 higher, without .044
 * (forefetch-sim --labels, tuning half, with names). */
#define PULL        0.02f
/* A context that has seen nothing yet begins here, as 1.6 outcomes. */
#define SLOT_P      0.3f
#define SLOT_N      1.6f
/* The most that one context may add: that of a p of .95, or of .05. That and
 * COUNT_MAX keep small the effect of one job on kinds that another job uses in
 * other ways; 60 of these and no bound change first runs by .002. */
#define CONTEXT_MAX 3.0f
#define X_MAX       8.0f
#define WEIGHT_MAX  1.2f

struct nameodds_slot {
	uint16_t p; /* of 65535 */
	uint8_t n, tag;
};

struct nameodds {
	struct nameodds_slot slots[SLOTS];
	/* The last row is that of the place. */
	float weights[SETS][NAMEODDS_CONTEXTS + 1][LEVELS];
	float bias[SETS];
	float logits[STEPS];
};

/* Odds that are known at the start, by strings; numbers in place of some. */
struct shipped {
	uint8_t context; /* enum nameodds_context */
	uint8_t p;       /* of 255 */
	uint8_t n;       /* outcomes that it counts as */
	const char *a, *b;
};

static const struct shipped shipped[] = {
#include "predictor/store/nameodds_shipped.inc"
};

static float logit(const struct nameodds *o, float p)
{
	int i = (int)(p * STEPS);

	return o->logits[i < 0 ? 0 : i < STEPS ? i : STEPS - 1];
}

static float clip(float x, float max)
{
	return x > max ? max : x < -max ? -max : x;
}

static float squash(float x)
{
	return 1 / (1 + expf(-clip(x, X_MAX)));
}

/* How much a context has seen, in steps: each step has a weight of its own,
 * since a context that has seen much deserves more. */
static unsigned level(unsigned n)
{
	return n == 0 ? 0 : n < 3 ? 1 : n < 8 ? 2 : n < 24 ? 3 : 4;
}

/* How often it can be divided by `by` until nothing is left; 7 at most. */
static unsigned bucket(uint32_t n, uint32_t by)
{
	unsigned b = 0;

	for (; n > 0 && b < 7; b++)
		n /= by;
	return b;
}

static uint32_t hash(uint32_t a, uint32_t b, enum nameodds_context context)
{
	uint64_t x = ((uint64_t)a << 32 | b) +
		     (context + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(x >> 32);
}

/* ---- what is shipped -------------------------------------------------- */

static uint32_t text_name(const char *s)
{
	return (uint32_t)XXH3_64bits(s, strlen(s));
}

/* "/" stands for directories, since no extension has it. */
static uint32_t text_kind(const char *s)
{
	if (*s == '/')
		return NAMEODDS_DIRECTORY;
	return *s ? (uint16_t)(XXH3_64bits(s, strlen(s)) | 1) : 0;
}

static uint32_t text_number(const char *s)
{
	return (uint32_t)strtoul(s, NULL, 10);
}

static void ship(struct nameodds *o, const struct shipped *x)
{
	static uint32_t (*const read[NAMEODDS_CONTEXTS][2])(const char *) = {
	    [NAMEODDS_KIND] = {text_kind, text_number},
	    [NAMEODDS_KIND_DIR] = {text_kind, text_name},
	    [NAMEODDS_NAME] = {text_name, text_number},
	    [NAMEODDS_NAME_DIR] = {text_name, text_name},
	    [NAMEODDS_NAME_ENTRY] = {text_name, text_name},
	    [NAMEODDS_KIND_KIND] = {text_kind, text_kind},
	    [NAMEODDS_SHARE] = {text_number, text_number}};
	uint32_t h = hash(read[x->context][0](x->a), read[x->context][1](x->b),
	    (enum nameodds_context)x->context);
	struct nameodds_slot *s = &o->slots[h % SLOTS];

	if (s->n <= x->n)
		*s = (struct nameodds_slot){.p = (uint16_t)(x->p * 257),
		    .n = x->n,
		    .tag = (uint8_t)(h >> 24)};
}

/* Where the weights begin: about where first runs of the tuning half leave
 * them. The place hardly counts but in a long run; what is below a directory
 * depends on whether that is entered. */
static float weight_begin(unsigned set, int input, unsigned lev)
{
	static const float place[SETS] = {0.13f, 0.13f, 0.4f, 0.9f, 0.9f};
	static const float other[SETS] = {0.26f, 0.26f, 0.26f, 0.05f, 0.26f};

	if (lev == 0)
		return 0;
	return input == NAMEODDS_CONTEXTS ? place[set] : other[set];
}

static void weights_begin(struct nameodds *o)
{
	for (unsigned s = 0; s < SETS; s++)
		for (int i = 0; i <= NAMEODDS_CONTEXTS; i++)
			for (unsigned l = 0; l < LEVELS; l++)
				o->weights[s][i][l] = weight_begin(s, i, l);
}

struct nameodds *nameodds_new(void)
{
	struct nameodds *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	for (int i = 0; i < STEPS; i++) {
		float p = ((float)i + 0.5f) / STEPS;

		o->logits[i] = logf(p / (1 - p));
	}
	weights_begin(o);
	for (size_t i = 0; i < sizeof(shipped) / sizeof(*shipped); i++)
		ship(o, &shipped[i]);
	return o;
}

void nameodds_free(struct nameodds *o)
{
	free(o);
}

/* ---- asking and learning ---------------------------------------------- */

static uint8_t set_of(const struct nameodds_about *a)
{
	if (a->below)
		return SET_BELOW;
	return a->run == 0         ? 0
	       : a->run < 3        ? 1
	       : a->run < RUN_LONG ? 2
				   : SET_RUN;
}

/* Finds the slot and the tag of each of the object's contexts, by which its
 * outcome will find them again. */
static void find(const struct nameodds_about *a, struct nameodds_seen *seen)
{
	uint32_t used = bucket(a->siblings, 2) * 8 + bucket(a->used, 2);
	uint32_t alike =
	    (a->kind == NAMEODDS_DIRECTORY) * 2u + (a->kind == a->kind_last);
	const uint32_t ab[NAMEODDS_CONTEXTS][2] = {
	    [NAMEODDS_KIND] = {a->kind, bucket(a->size_bytes / 256, 8)},
	    [NAMEODDS_KIND_DIR] = {a->kind, a->dir_name},
	    [NAMEODDS_NAME] = {a->name, 0},
	    [NAMEODDS_NAME_DIR] = {a->name, a->dir_name},
	    [NAMEODDS_NAME_ENTRY] = {a->name, a->entry},
	    [NAMEODDS_KIND_KIND] = {a->kind, a->kind_last},
	    [NAMEODDS_SHARE] = {used, alike}};

	for (int i = 0; i < NAMEODDS_CONTEXTS; i++) {
		uint32_t h = hash(ab[i][0], ab[i][1], (enum nameodds_context)i);

		seen->slot[i] = (uint16_t)(h % SLOTS);
		seen->tag[i] = (uint8_t)(h >> 24);
	}
	seen->set = set_of(a);
}

/* The logits, and how much is behind each. */
struct inputs {
	float x[NAMEODDS_CONTEXTS + 1];
	unsigned level[NAMEODDS_CONTEXTS + 1];
};

static void inputs_get(const struct nameodds *o,
    const struct nameodds_seen *seen, struct inputs *in)
{
	for (int i = 0; i < NAMEODDS_CONTEXTS; i++) {
		const struct nameodds_slot *s = &o->slots[seen->slot[i]];
		bool own = s->n > 0 && s->tag == seen->tag[i];

		in->level[i] = own ? level(s->n) : 0;
		in->x[i] =
		    own ? clip(o->logits[s->p / (65536 / STEPS)], CONTEXT_MAX)
			: 0;
	}
	in->level[NAMEODDS_CONTEXTS] = 1;
	in->x[NAMEODDS_CONTEXTS] = logit(o, seen->place);
}

static float inputs_mix(
    const struct nameodds *o, unsigned set, const struct inputs *in)
{
	float sum = o->bias[set];

	for (int i = 0; i <= NAMEODDS_CONTEXTS; i++)
		sum += o->weights[set][i][in->level[i]] * in->x[i];
	return squash(sum);
}

float nameodds_p(const struct nameodds *o, const struct nameodds_about *about,
    float place, struct nameodds_seen *seen)
{
	struct inputs in;

	find(about, seen);
	seen->place = place;
	inputs_get(o, seen, &in);
	return inputs_mix(o, seen->set, &in);
}

/* A context whose slot is taken wears the other's count down, and takes the
 * slot when little is left. The step towards an outcome gets smaller with each,
 * down to a twentieth or so, and so old outcomes fade. */
static void slot_learn(struct nameodds_slot *s, uint8_t tag, bool hit)
{
	float p;

	if (s->tag != tag && s->n > COUNT_FIRM) {
		s->n--;
		return;
	}
	if (s->tag != tag || s->n == 0)
		*s = (struct nameodds_slot){
		    .p = (uint16_t)(SLOT_P * UINT16_MAX), .tag = tag};
	p = s->p;
	p += ((hit ? UINT16_MAX : 0) - p) / ((float)s->n + SLOT_N);
	s->p = (uint16_t)p;
	if (s->n < COUNT_MAX)
		s->n++;
}

/* Contexts that say the same would else be set against each other. And what one
 * job taught must not spoil another's first run. */
static void weight_learn(float *w, float by, float begin)
{
	*w += by + PULL * (begin - *w);
	*w = *w < 0 ? 0 : *w > WEIGHT_MAX ? WEIGHT_MAX : *w;
}

void nameodds_learn(struct nameodds *o, const struct nameodds_seen *seen,
    bool hit, bool entered)
{
	unsigned set = seen->set;
	struct inputs in;
	float by;

	inputs_get(o, seen, &in);
	by = RATE * ((hit ? 1.0f : 0.0f) - inputs_mix(o, set, &in));
	for (int i = 0; i <= NAMEODDS_CONTEXTS; i++)
		weight_learn(&o->weights[set][i][in.level[i]], by * in.x[i],
		    weight_begin(set, i, in.level[i]));
	o->bias[set] += by - PULL * o->bias[set];
	for (int i = 0; i < NAMEODDS_CONTEXTS && entered; i++)
		slot_learn(&o->slots[seen->slot[i]], seen->tag[i], hit);
}

size_t nameodds_memory_bytes(const struct nameodds *o)
{
	return sizeof(*o);
}
