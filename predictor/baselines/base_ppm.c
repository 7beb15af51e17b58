/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prediction by partial match, order 3 (Kroeger and Long's PCM without its
 * partitions): the longest known context says what comes next. The prediction
 * is appended to the context, and so on for a chain of 16.
 */
#include <stdlib.h>
#include <string.h>

#include "predictor/baselines/ids.h"
#include "predictor/baselines/model.h"

enum { ORDER = 3, CHAIN = 16, NEXTS = 8 };

/* Objects that followed a context, with counts. */
struct base_ppm_node {
	uint32_t next[NEXTS];
	uint16_t count[NEXTS];
	uint32_t total;
};

struct ppm {
	struct ids objects, contexts;
	struct base_ppm_node *nodes;
	uint32_t cap;
	uint32_t recent[ORDER]; /* newest first */
	unsigned nrecent;
};

static void ppm_destroy(void *arg)
{
	struct ppm *m = arg;

	ids_done(&m->objects);
	ids_done(&m->contexts);
	free(m->nodes);
	free(m);
}

/* A hash of the last `order` objects. */
static uint64_t context_key(const uint32_t *recent, unsigned order)
{
	uint64_t h = order;

	for (unsigned i = 0; i < order; i++)
		h = (h ^ recent[i]) * 0x9e3779b97f4a7c15u;
	return h;
}

/* Counts the successor; the one that came least gives way to a new one. */
static void node_count(struct base_ppm_node *n, uint32_t next)
{
	unsigned least = 0;

	n->total++;
	for (unsigned i = 0; i < NEXTS; i++) {
		if (n->count[i] && n->next[i] == next &&
		    n->count[i] < UINT16_MAX) {
			n->count[i]++;
			return;
		}
		if (n->count[i] < n->count[least])
			least = i;
	}
	n->next[least] = next;
	n->count[least] = 1;
}

static void recent_push(uint32_t *recent, unsigned *n, uint32_t id)
{
	memmove(recent + 1, recent, (ORDER - 1) * sizeof(*recent));
	recent[0] = id;
	if (*n < ORDER)
		++*n;
}

static void ppm_observe(void *arg, const struct predictor_obs *o)
{
	struct ppm *m = arg;
	uint32_t id = ids_get(&m->objects, o->object);

	if (id == KEYMAP_NONE)
		return;
	for (unsigned order = 1; order <= m->nrecent; order++) {
		uint32_t c =
		    ids_get(&m->contexts, context_key(m->recent, order));

		if (c != KEYMAP_NONE && VEC_ROOM(m->nodes, m->cap, c))
			node_count(&m->nodes[c], id);
	}
	recent_push(m->recent, &m->nrecent, id);
}

/* The likeliest object behind the longest known context, and `p` times its
 * probability; false if no context is known. */
static bool ppm_next(const struct ppm *m, const uint32_t *recent, unsigned n,
    uint32_t *next, float *p)
{
	for (unsigned order = n; order > 0; order--) {
		uint32_t c = ids_find(&m->contexts, context_key(recent, order));
		const struct base_ppm_node *node;
		unsigned best = 0;

		if (c == KEYMAP_NONE)
			continue;
		node = &m->nodes[c];
		for (unsigned i = 1; i < NEXTS; i++)
			if (node->count[i] > node->count[best])
				best = i;
		*next = node->next[best];
		*p *= (float)node->count[best] / ((float)node->total + 0.5f);
		return true;
	}
	return false;
}

static size_t ppm_predict(void *arg, struct prediction *out, size_t max)
{
	struct ppm *m = arg;
	uint32_t recent[ORDER], next;
	unsigned nrecent = m->nrecent;
	float p = 1;
	size_t n = 0;

	memcpy(recent, m->recent, sizeof(recent));
	while (
	    n < CHAIN && n < max && ppm_next(m, recent, nrecent, &next, &p)) {
		model_predict(out, n++, m->objects.keys[next], p);
		recent_push(recent, &nrecent, next);
	}
	return n;
}

static size_t ppm_memory(const void *arg)
{
	const struct ppm *m = arg;

	return ids_memory_bytes(&m->objects) + ids_memory_bytes(&m->contexts) +
	       m->cap * sizeof(struct base_ppm_node);
}

const struct model_ops model_ppm = {
    .name = "ppm",
    .what = "PPM of order 3 (PCM), a chain of 16",
    .size = sizeof(struct ppm),
    .destroy = ppm_destroy,
    .observe = ppm_observe,
    .predict = ppm_predict,
    .memory_bytes = ppm_memory,
};
