/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The successor graph at work: what followed an object within a window, in
 * whatever order. It knows what trails miss when a job's order changes, such as
 * that of parallel makes.
 */
#include "predictor/core/core.h"

/* Less likely edges make no candidate. 0.08 to 0.3 give the same stall
 * (forefetch-sim, tuning half). */
#define EDGE_MIN 0.15f

/* An object gets its edges when it is seen for the second time: what followed
 * it before is taken from the trails. */
static uint32_t relate_begin(struct predictor *p, uint32_t object)
{
	enum { PLACES = 8 }; /* the last ones */
	struct object *o = objects_at(p->objects, object);
	uint32_t place = o->last, node;

	if (o->count == 0 || !trails_holds(p->trails, place, object))
		return GRAPH_NONE;
	node = graph_make(p->graph);
	if (node == GRAPH_NONE)
		return node;
	o->edges = node;
	for (int i = 0; i < PLACES && place != TRAIL_NONE; i++) {
		uint32_t at = place;

		graph_occur(p->graph, node);
		for (int j = 0; j < GRAPH_WINDOW; j++) {
			uint32_t id;

			at = trails_next(p->trails, at);
			if (at == TRAIL_NONE)
				break;
			id = trails_object(p->trails, at);
			if (id != TRAIL_NOTHING)
				graph_add(p->graph, node, id);
		}
		place = trails_earlier(p->trails, place);
	}
	return node;
}

/* The object followed those that the stream used before. */
static void relate_learn(
    struct predictor *p, const struct stream *s, uint32_t object)
{
	uint32_t n = s->events < GRAPH_WINDOW ? s->events : GRAPH_WINDOW;

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t before = s->recent[(s->events - i) % RECENT];
		uint32_t node = objects_at(p->objects, before)->edges;

		if (node != GRAPH_NONE && before != object)
			graph_add(p->graph, node, object);
	}
}

/* Makes the likely successors candidates. */
static void relate_predict(
    struct predictor *p, struct stream *s, const struct graph_node *n)
{
	for (int i = 0; i < GRAPH_EDGES; i++) {
		float prob;
		struct cand *c;
		uint32_t to;
		uint8_t needs;
		bool wait;

		if (!n->count[i])
			continue;
		prob = (float)n->count[i] / ((float)n->total + 0.5f);
		if (prob < EDGE_MIN || objects_at(p->objects, n->to[i])->free)
			continue;
		needs = objects_at(p->objects, n->to[i])->needs;
		to = twin_translate(p, s, n->to[i], &wait);
		if (to == OBJECT_NONE)
			continue;
		needs = cands_lacks(p, s, to, needs);
		if (!needs)
			continue;
		c = cands_make(p, s, to, 8);
		c->needs |= needs;
		if (prob <= c->graph_p)
			continue;
		c->graph_p = prob;
		cands_estimate(p, s, c);
	}
}

void relate_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin)
{
	uint32_t node;

	relate_learn(p, s, object);
	if (twin != OBJECT_NONE)
		object = twin;
	node = objects_at(p->objects, object)->edges;
	if (node == GRAPH_NONE)
		node = relate_begin(p, object);
	if (node == GRAPH_NONE)
		return;
	relate_predict(p, s, graph_at(p->graph, node));
	if (twin == OBJECT_NONE)
		graph_occur(p->graph, node);
}
