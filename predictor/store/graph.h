/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The successor graph: what followed an object within the next GRAPH_WINDOW
 * accesses of its stream, for objects that were seen twice. An object has 24
 * edges at most; one more halves all counts and replaces the least (Griffioen
 * and Appleton 1994 have the graph, here it is bounded).
 */
#ifndef FOREFETCH_GRAPH_H
#define FOREFETCH_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#define GRAPH_NONE UINT32_MAX

enum { GRAPH_EDGES = 24, GRAPH_WINDOW = 20 };

/* An object's successors: how often each followed, of `total` times. */
struct graph_node {
	uint32_t to[GRAPH_EDGES];
	uint8_t count[GRAPH_EDGES]; /* 0: not in use */
	uint8_t total;              /* times that the object came */
};

struct graph;

/* Room for `limit` nodes, which are allocated as they come. NULL without
 * memory. */
struct graph *graph_new(uint32_t limit);
void graph_free(struct graph *g);

/* A new node; GRAPH_NONE at the limit or without memory. Pointers to nodes are
 * valid until the next call. */
uint32_t graph_make(struct graph *g);
/* Frees the node. Edges that lead to its object stay where they are, and mean
 * whatever object has its number next, until others replace them. */
void graph_drop(struct graph *g, uint32_t node);
struct graph_node *graph_at(const struct graph *g, uint32_t node);
/* The object came again. */
void graph_occur(struct graph *g, uint32_t node);
/* `to` followed within the window; it counts once for each time the object
 * came. */
void graph_add(struct graph *g, uint32_t node, uint32_t to);
size_t graph_memory_bytes(const struct graph *g);

#endif
