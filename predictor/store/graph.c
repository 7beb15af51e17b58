/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of the graph, in an arena: relate.c adds an edge for each
 * successor, and predicts from a node's edges. A node is small and fixed, so
 * neither costs more when an object has many successors. */
#include "predictor/store/graph.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/store/vec.h"

enum { FIRST_NODES = 64, TOTAL_MAX = 64 };

struct graph {
	struct graph_node *nodes;
	uint32_t n, cap, limit;
	uint32_t free; /* nodes: a list through to[0] */
};

struct graph *graph_new(uint32_t limit)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->limit = limit;
	g->free = GRAPH_NONE;
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->nodes);
	free(g);
}

uint32_t graph_make(struct graph *g)
{
	uint32_t id = g->free;

	if (id != GRAPH_NONE)
		g->free = g->nodes[id].to[0];
	else if (g->n < g->cap ||
		 VEC_GROW(g->nodes, g->cap,
		     g->cap ? g->cap + g->cap / 2 : FIRST_NODES, g->limit))
		id = g->n++;
	else
		return GRAPH_NONE;
	memset(&g->nodes[id], 0, sizeof(g->nodes[id]));
	memset(g->nodes[id].to, 0xff, sizeof(g->nodes[id].to));
	return id;
}

void graph_drop(struct graph *g, uint32_t node)
{
	g->nodes[node].to[0] = g->free;
	g->free = node;
}

struct graph_node *graph_at(const struct graph *g, uint32_t node)
{
	return &g->nodes[node];
}

/* The total is rounded up, so that no count exceeds it. */
static void node_halve(struct graph_node *n)
{
	for (int i = 0; i < GRAPH_EDGES; i++)
		n->count[i] /= 2;
	n->total = (uint8_t)((n->total + 1) / 2);
}

void graph_occur(struct graph *g, uint32_t node)
{
	struct graph_node *n = &g->nodes[node];

	if (n->total >= TOTAL_MAX)
		node_halve(n);
	n->total++;
}

void graph_add(struct graph *g, uint32_t node, uint32_t to)
{
	struct graph_node *n = &g->nodes[node];
	uint32_t at = 0;
	int least = 0;

	/* Without a branch in it, the loop takes four at a time. */
	for (uint32_t i = 0; i < GRAPH_EDGES; i++)
		at |= n->to[i] == to ? i + 1 : 0;
	if (at > 0) {
		if (n->count[at - 1] < n->total || n->count[at - 1] == 0)
			n->count[at - 1]++;
		return;
	}
	for (int i = 1; i < GRAPH_EDGES; i++)
		if (n->count[i] < n->count[least])
			least = i;
	if (n->count[least] > 1)
		node_halve(n);
	n->to[least] = to;
	n->count[least] = 1;
}

size_t graph_memory_bytes(const struct graph *g)
{
	return sizeof(*g) + g->cap * sizeof(*g->nodes);
}
