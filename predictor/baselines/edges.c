/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "predictor/baselines/edges.h"

#include <stdlib.h>

enum { EDGES_MAX = 64, WINDOW_MAX = 32 };

struct edge {
	uint32_t to;
	float weight;
};

struct node {
	struct edge *edges;
	uint32_t n, cap;
	float count;
};

struct edges {
	struct ids ids;
	struct node *nodes;
	uint32_t cap;
	unsigned window;
	edges_weight weight;
	uint32_t recent[WINDOW_MAX]; /* newest first */
	unsigned nrecent;
	size_t edge_bytes;
};

struct edges *edges_new(unsigned window, edges_weight weight)
{
	struct edges *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	if (ids_init(&g->ids)) {
		free(g);
		return NULL;
	}
	g->window = window < WINDOW_MAX ? window : WINDOW_MAX;
	g->weight = weight;
	return g;
}

void edges_free(struct edges *g)
{
	for (uint32_t i = 0; i < g->cap; i++)
		free(g->nodes[i].edges);
	free(g->nodes);
	ids_done(&g->ids);
	free(g);
}

/* At the limit, halve all and replace the least. */
static struct edge *node_replace(struct node *n)
{
	struct edge *least = &n->edges[0];

	for (uint32_t i = 0; i < n->n; i++) {
		n->edges[i].weight /= 2;
		if (n->edges[i].weight < least->weight)
			least = &n->edges[i];
	}
	n->count /= 2;
	return least;
}

static void node_add(struct edges *g, struct node *n, uint32_t to, float weight)
{
	struct edge *e;

	for (uint32_t i = 0; i < n->n; i++) {
		if (n->edges[i].to == to) {
			n->edges[i].weight += weight;
			return;
		}
	}
	if (n->n < EDGES_MAX) {
		uint32_t cap = n->cap;

		if (n->n == n->cap) {
			cap = cap ? cap * 2 : 4;
			e = realloc(n->edges, cap * sizeof(*e));
			if (!e)
				return;
			g->edge_bytes += (cap - n->cap) * sizeof(*e);
			n->edges = e;
			n->cap = cap;
		}
		e = &n->edges[n->n++];
	} else {
		e = node_replace(n);
	}
	e->to = to;
	e->weight = weight;
}

void edges_observe(struct edges *g, uint64_t object)
{
	uint32_t id = ids_get(&g->ids, object);

	if (id == KEYMAP_NONE || !IDS_ROOM(g->nodes, g->cap, id))
		return;
	for (unsigned i = 0; i < g->nrecent; i++)
		if (g->recent[i] != id)
			node_add(
			    g, &g->nodes[g->recent[i]], id, g->weight(i + 1));
	g->nodes[id].count++;
	if (g->nrecent < g->window)
		g->nrecent++;
	for (unsigned i = g->nrecent - 1; i > 0; i--)
		g->recent[i] = g->recent[i - 1];
	g->recent[0] = id;
}

static int edge_cmp(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return (x->weight < y->weight) - (x->weight > y->weight);
}

size_t edges_predict(struct edges *g, struct prediction *out, size_t max)
{
	struct node *n;
	size_t i;

	if (g->nrecent == 0)
		return 0;
	n = &g->nodes[g->recent[0]];
	if (n->n == 0)
		return 0;
	qsort(n->edges, n->n, sizeof(*n->edges), edge_cmp);
	for (i = 0; i < n->n && i < max; i++) {
		float p = n->edges[i].weight / (n->count * g->weight(1));

		out[i] =
		    (struct prediction){.object = g->ids.keys[n->edges[i].to],
			.p = p < 0.99f ? p : 0.99f,
			.lead = (uint32_t)i + 1};
	}
	return i;
}

size_t edges_memory_bytes(const struct edges *g)
{
	return ids_memory_bytes(&g->ids) + g->cap * sizeof(struct node) +
	       g->edge_bytes;
}
