/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EPCM (Kroeger and Long 2001): a trie of contexts in partitions, one for each
 * first file, each of a fixed number of nodes. Each occurrence of a pattern
 * grows it by one node. A full partition halves its counts and drops nodes
 * whose count becomes zero. The prediction follows the likeliest children down
 * from the deepest context that has any.
 */
#include <stdlib.h>
#include <string.h>

#include "predictor/baselines/ids.h"
#include "predictor/baselines/model.h"

enum {
	PART_NODES = 256,
	/* A pattern takes up to 75 to 85 % of a partition in the paper. */
	DEPTH_MAX = PART_NODES * 4 / 5,
	CHAIN = 64,
};

/* Node 0 is the partition's first file, so a link of 0 means none. */
struct base_epcm_node {
	uint32_t object;
	uint16_t count, child, sibling;
};

struct part {
	struct base_epcm_node *nodes;
	uint16_t n, cap;
	uint32_t epoch; /* contexts of an older one point to nothing */
};

struct context {
	uint32_t part, epoch;
	uint16_t node;
};

struct epcm {
	struct ids ids;
	struct part *parts;
	uint32_t cap;
	struct context active[DEPTH_MAX]; /* the deepest one first */
	unsigned nactive;
	size_t node_bytes;
};

static void epcm_destroy(void *arg)
{
	struct epcm *m = arg;

	for (uint32_t i = 0; i < m->cap; i++)
		free(m->parts[i].nodes);
	free(m->parts);
	ids_done(&m->ids);
	free(m);
}

static uint16_t part_child(const struct part *p, uint16_t node, uint32_t object)
{
	uint16_t c = p->nodes[node].child;

	while (c && p->nodes[c].object != object)
		c = p->nodes[c].sibling;
	return c;
}

/* Copies the nodes below `from` whose halved count is not zero; returns the
 * first child. */
static uint16_t part_copy(struct part *to, const struct part *p, uint16_t from)
{
	uint16_t first = 0;

	for (uint16_t c = p->nodes[from].child; c; c = p->nodes[c].sibling) {
		uint16_t copy;

		if (p->nodes[c].count < 2)
			continue;
		copy = to->n++;
		to->nodes[copy] = p->nodes[c];
		to->nodes[copy].count /= 2;
		to->nodes[copy].sibling = first;
		first = copy;
		copy = part_copy(to, p, c);
		to->nodes[first].child = copy;
	}
	return first;
}

static void part_halve(struct part *p)
{
	struct part to = {.cap = p->cap, .n = 1, .epoch = p->epoch + 1};
	uint16_t child;

	to.nodes = calloc(to.cap, sizeof(*to.nodes));
	if (!to.nodes)
		return;
	to.nodes[0] = p->nodes[0];
	to.nodes[0].count /= 2;
	child = part_copy(&to, p, 0);
	to.nodes[0].child = child;
	free(p->nodes);
	*p = to;
}

/* Room for one more node. A full partition makes room for later ones, and its
 * contexts end. */
static bool part_room(struct epcm *m, struct part *p)
{
	uint16_t cap = p->cap ? (uint16_t)(p->cap * 2) : 4;
	struct base_epcm_node *more;

	if (p->n < p->cap)
		return true;
	if (p->cap >= PART_NODES) {
		part_halve(p);
		return false;
	}
	more = realloc(p->nodes, cap * sizeof(*more));
	if (!more)
		return false;
	memset(more + p->cap, 0, (size_t)(cap - p->cap) * sizeof(*more));
	m->node_bytes += (size_t)(cap - p->cap) * sizeof(*more);
	p->nodes = more;
	p->cap = cap;
	return true;
}

static void count_up(uint16_t *count)
{
	if (*count < UINT16_MAX)
		++*count;
}

/* Follows `object` in a context; a context that does not know it grows by it
 * and ends, which false says. */
static bool context_step(struct epcm *m, struct context *c, uint32_t object)
{
	struct part *p = &m->parts[c->part];
	uint16_t child;

	if (c->epoch != p->epoch)
		return false;
	child = part_child(p, c->node, object);
	if (child) {
		count_up(&p->nodes[child].count);
		c->node = child;
		return true;
	}
	if (part_room(m, p)) {
		p->nodes[p->n] = (struct base_epcm_node){.object = object,
		    .count = 1,
		    .sibling = p->nodes[c->node].child};
		p->nodes[c->node].child = p->n++;
	}
	return false;
}

/* The object begins a context in its own partition. */
static void epcm_begin(struct epcm *m, uint32_t object)
{
	struct part *p = &m->parts[object];

	if (p->n == 0) {
		if (!part_room(m, p))
			return;
		p->nodes[p->n++].object = object;
	}
	count_up(&p->nodes[0].count);
	if (m->nactive == DEPTH_MAX) {
		m->nactive--;
		memmove(
		    m->active, m->active + 1, m->nactive * sizeof(*m->active));
	}
	m->active[m->nactive++] =
	    (struct context){.part = object, .epoch = p->epoch};
}

static void epcm_observe(void *arg, const struct predictor_obs *o)
{
	struct epcm *m = arg;
	uint32_t id = ids_get(&m->ids, o->object);
	unsigned kept = 0;

	if (id == KEYMAP_NONE || !VEC_ROOM(m->parts, m->cap, id))
		return;
	for (unsigned i = 0; i < m->nactive; i++)
		if (context_step(m, &m->active[i], id))
			m->active[kept++] = m->active[i];
	m->nactive = kept;
	epcm_begin(m, id);
}

static size_t context_predict(const struct epcm *m, const struct context *c,
    struct prediction *out, size_t max)
{
	const struct part *part = &m->parts[c->part];
	uint16_t at = c->node;
	float p = 1;
	size_t n = 0;

	while (n < max && n < CHAIN && part->nodes[at].child) {
		uint16_t best = part->nodes[at].child;

		for (uint16_t i = best; i; i = part->nodes[i].sibling)
			if (part->nodes[i].count > part->nodes[best].count)
				best = i;
		p *= (float)part->nodes[best].count /
		     ((float)part->nodes[at].count + 0.5f);
		at = best;
		model_predict(out, n++, m->ids.keys[part->nodes[at].object],
		    p < P_MOST ? p : P_MOST);
	}
	return n;
}

static size_t epcm_predict(void *arg, struct prediction *out, size_t max)
{
	struct epcm *m = arg;

	for (unsigned i = 0; i < m->nactive; i++) {
		const struct context *c = &m->active[i];
		const struct part *p = &m->parts[c->part];

		if (c->epoch == p->epoch && p->nodes[c->node].child)
			return context_predict(m, c, out, max);
	}
	return 0;
}

static size_t epcm_memory(const void *arg)
{
	const struct epcm *m = arg;

	return ids_memory_bytes(&m->ids) + m->cap * sizeof(struct part) +
	       m->node_bytes;
}

const struct model_ops model_epcm = {
    .name = "epcm",
    .what = "extended partitioned context modeling",
    .size = sizeof(struct epcm),
    .destroy = epcm_destroy,
    .observe = epcm_observe,
    .predict = epcm_predict,
    .memory_bytes = epcm_memory,
};
