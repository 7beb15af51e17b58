/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two baselines on one structure, a weighted graph of what follows what within
 * a window:
 *
 * - the probability graph (Griffioen and Appleton 1994): how often B followed A
 *   within the window, over how often A came;
 * - Nexus (Gu et al. 2006): the same, but an edge weighs less the further apart
 *   the two accesses are.
 */
#include <stdlib.h>

#include "predictor/baselines/ids.h"
#include "predictor/baselines/model.h"

enum { GRAPH_WINDOW = 20, NEXUS_WINDOW = 10, EDGES_MAX = 64 };

struct edge {
	uint32_t to;
	float weight;
};

struct base_graph_node {
	struct edge *edges;
	uint32_t n, cap;
	float count; /* of the object's accesses */
};

struct base_graph {
	struct ids ids;
	struct base_graph_node *nodes;
	uint32_t cap;
	unsigned window;
	bool decremented;              /* the weights, as in Nexus */
	uint32_t recent[GRAPH_WINDOW]; /* newest first */
	unsigned nrecent;
	size_t edge_bytes;
};

static void *graph_new(unsigned window, bool decremented)
{
	struct base_graph *g = calloc(1, sizeof(*g));

	if (g) {
		g->window = window;
		g->decremented = decremented;
	}
	return g;
}

static void *graph_create(const struct model_options *opt)
{
	(void)opt;
	return graph_new(GRAPH_WINDOW, false);
}

static void *nexus_create(const struct model_options *opt)
{
	(void)opt;
	return graph_new(NEXUS_WINDOW, true);
}

static void graph_destroy(void *arg)
{
	struct base_graph *g = arg;

	for (uint32_t i = 0; i < g->cap; i++)
		free(g->nodes[i].edges);
	free(g->nodes);
	ids_done(&g->ids);
	free(g);
}

/* The weight that the `distance`-th successor adds to its edge; 1 is the next
 * one. */
static float graph_weight(const struct base_graph *g, unsigned distance)
{
	return g->decremented ? (float)(g->window + 1 - distance) : 1;
}

/* A node that is full halves all its weights and gives up the least edge. */
static struct edge *node_replace(struct base_graph_node *n)
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

/* Adds the weight to the edge, which is made if there is none. */
static void node_add(
    struct base_graph *g, struct base_graph_node *n, uint32_t to, float weight)
{
	uint32_t cap = n->cap;
	struct edge *e;

	for (uint32_t i = 0; i < n->n; i++) {
		if (n->edges[i].to == to) {
			n->edges[i].weight += weight;
			return;
		}
	}
	if (n->n == cap)
		VEC_GROW(n->edges, n->cap, cap ? cap * 2 : 4, EDGES_MAX);
	g->edge_bytes += (n->cap - cap) * sizeof(*e);
	if (n->n < n->cap)
		e = &n->edges[n->n++];
	else if (n->n == EDGES_MAX)
		e = node_replace(n);
	else
		return;
	*e = (struct edge){to, weight};
}

static void graph_observe(void *arg, const struct predictor_obs *o)
{
	struct base_graph *g = arg;
	uint32_t id = ids_get(&g->ids, o->object);

	if (id == KEYMAP_NONE || !VEC_ROOM(g->nodes, g->cap, id))
		return;
	for (unsigned i = 0; i < g->nrecent; i++)
		if (g->recent[i] != id)
			node_add(g, &g->nodes[g->recent[i]], id,
			    graph_weight(g, i + 1));
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

/* Successors of the last object by weight. `p` is the weight over what it would
 * be if each access had been followed directly by that successor. */
static size_t graph_predict(void *arg, struct prediction *out, size_t max)
{
	struct base_graph *g = arg;
	struct base_graph_node *n;
	size_t i;

	if (g->nrecent == 0)
		return 0;
	n = &g->nodes[g->recent[0]];
	if (n->n == 0)
		return 0;
	qsort(n->edges, n->n, sizeof(*n->edges), edge_cmp);
	for (i = 0; i < n->n && i < max; i++) {
		float p = n->edges[i].weight / (n->count * graph_weight(g, 1));

		model_predict(out, i, g->ids.keys[n->edges[i].to],
		    p < P_MOST ? p : P_MOST);
	}
	return i;
}

static size_t graph_memory(const void *arg)
{
	const struct base_graph *g = arg;

	return ids_memory_bytes(&g->ids) +
	       g->cap * sizeof(struct base_graph_node) + g->edge_bytes;
}

#define GRAPH_OPS                                                              \
	.destroy = graph_destroy, .observe = graph_observe,                    \
	.predict = graph_predict, .memory_bytes = graph_memory

const struct model_ops model_graph = {
    .name = "graph",
    .what = "probability graph, window 20",
    .create = graph_create,
    GRAPH_OPS,
};

const struct model_ops model_nexus = {
    .name = "nexus",
    .what = "Nexus, window 10, decremented weights",
    .create = nexus_create,
    GRAPH_OPS,
};
