/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mithril (Yang et al. 2017): sporadic associations. Objects belong together
 * that came equally often, and each time within a few accesses of one another.
 * They are mined whenever enough objects have come SUPPORT times. Associations
 * have no probability in the paper; here it is the same for all.
 */
#include <stdlib.h>

#include "predictor/baselines/ids.h"
#include "predictor/baselines/model.h"

enum {
	SUPPORT = 2,       /* occurrences before an object is mined */
	NEAR = 24,         /* accesses between two associates, at most */
	MINING_ROWS = 512, /* objects that are mined together */
	ASSOCIATES = 3,    /* of each object */
};

struct base_mithril_object {
	uint32_t when[SUPPORT]; /* by `clock` */
	uint32_t n; /* accesses since it was mined, SUPPORT at most */
	uint32_t with[ASSOCIATES]; /* number + 1 */
	uint8_t next_with;
};

struct mithril {
	struct ids ids;
	struct base_mithril_object *objects;
	uint32_t cap, clock, now; /* clock counts accesses */
	uint32_t rows[MINING_ROWS];
	unsigned nrows;
};

static void mithril_destroy(void *arg)
{
	struct mithril *m = arg;

	ids_done(&m->ids);
	free(m->objects);
	free(m);
}

/* By the first occurrence, so that mining looks only at rows nearby. */
static int row_cmp(const void *a, const void *b, void *arg)
{
	const struct mithril *m = arg;
	uint32_t x = m->objects[*(const uint32_t *)a].when[0];
	uint32_t y = m->objects[*(const uint32_t *)b].when[0];

	return x < y ? -1 : x > y;
}

/* Whether each occurrence of `b` comes shortly behind that of `a`. */
static bool objects_near(
    const struct base_mithril_object *a, const struct base_mithril_object *b)
{
	for (int i = 0; i < SUPPORT; i++)
		if (b->when[i] < a->when[i] || b->when[i] - a->when[i] > NEAR)
			return false;
	return true;
}

/* An associate more; the oldest of three gives way. */
static void object_join(struct base_mithril_object *a, uint32_t b)
{
	for (int i = 0; i < ASSOCIATES; i++)
		if (a->with[i] == b + 1)
			return;
	a->with[a->next_with] = b + 1;
	a->next_with = (uint8_t)((a->next_with + 1) % ASSOCIATES);
}

/* Pairs rows that are near each other, as far as they are in order; then their
 * objects count from 0 again. */
static void mithril_mine(struct mithril *m)
{
	qsort_r(m->rows, m->nrows, sizeof(*m->rows), row_cmp, m);
	for (unsigned i = 0; i < m->nrows; i++) {
		struct base_mithril_object *a = &m->objects[m->rows[i]];
		int joined = 0;

		for (unsigned j = i + 1; j < m->nrows && joined < ASSOCIATES;
		     j++) {
			const struct base_mithril_object *b =
			    &m->objects[m->rows[j]];

			if (b->when[0] - a->when[0] > NEAR)
				break;
			if (!objects_near(a, b))
				continue;
			object_join(a, m->rows[j]);
			joined++;
		}
	}
	for (unsigned i = 0; i < m->nrows; i++)
		m->objects[m->rows[i]].n = 0;
	m->nrows = 0;
}

static void mithril_observe(void *arg, const struct predictor_obs *o)
{
	struct mithril *m = arg;
	uint32_t id = ids_get(&m->ids, o->object);
	struct base_mithril_object *x;

	if (id == KEYMAP_NONE || !VEC_ROOM(m->objects, m->cap, id))
		return;
	m->now = id;
	m->clock++;
	x = &m->objects[id];
	if (x->n >= SUPPORT)
		return;
	x->when[x->n++] = m->clock;
	if (x->n < SUPPORT)
		return;
	m->rows[m->nrows++] = id;
	if (m->nrows == MINING_ROWS)
		mithril_mine(m);
}

static size_t mithril_predict(void *arg, struct prediction *out, size_t max)
{
	struct mithril *m = arg;
	size_t n = 0;

	if (m->clock == 0)
		return 0;
	for (int i = 0; i < ASSOCIATES && n < max; i++) {
		uint32_t with = m->objects[m->now].with[i];

		if (with)
			model_predict(out, n++, m->ids.keys[with - 1], 0.7f);
	}
	return n;
}

static size_t mithril_memory(const void *arg)
{
	const struct mithril *m = arg;

	return sizeof(*m) + ids_memory_bytes(&m->ids) +
	       m->cap * sizeof(struct base_mithril_object);
}

const struct model_ops model_mithril = {
    .name = "mithril",
    .what = "mined associations of sporadic objects",
    .size = sizeof(struct mithril),
    .destroy = mithril_destroy,
    .observe = mithril_observe,
    .predict = mithril_predict,
    .memory_bytes = mithril_memory,
};
