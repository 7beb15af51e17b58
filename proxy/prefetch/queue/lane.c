/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queues of wants that take turns: see lane.h. */
#include "prefetch/queue/lane.h"

#include "prefetch/queue/queue_private.h"

/* By the upper bits of Knuth's multiplicative hash. */
unsigned lane_flow(uint64_t actor)
{
	return (unsigned)(actor * UINT64_C(0x9e3779b97f4a7c15) >> 60) %
	       LANE_FLOWS;
}

void lane_init(struct lane *l)
{
	*l = (struct lane){.turn = 0};
	for (unsigned f = 0; f < LANE_FLOWS; f++)
		TAILQ_INIT(&l->flows[f]);
}

bool lane_is_empty(const struct lane *l)
{
	return l->n == 0;
}

/* A want that comes back stood before nearly all that are there. Many come back
 * at the same time, in their order: so its place is looked for behind the one
 * that came back before it. */
static struct want *place_of(const struct lane *l, const struct want *w)
{
	struct want *next = l->last_again[w->flow];

	if (!next || next->order > w->order)
		next = TAILQ_FIRST(&l->flows[w->flow]);
	while (next && next->order <= w->order)
		next = TAILQ_NEXT(next, link);
	return next;
}

void lane_add(struct lane *l, struct want *w, bool again)
{
	struct want *next = again ? place_of(l, w) : NULL;

	if (again)
		l->last_again[w->flow] = w;
	if (next)
		TAILQ_INSERT_BEFORE(next, w, link);
	else
		TAILQ_INSERT_TAIL(&l->flows[w->flow], w, link);
	l->n++;
}

void lane_remove(struct lane *l, struct want *w)
{
	if (l->last_again[w->flow] == w)
		l->last_again[w->flow] = NULL;
	TAILQ_REMOVE(&l->flows[w->flow], w, link);
	l->n--;
}

struct want *lane_next(struct lane *l, uint64_t turn)
{
	for (unsigned i = 0; l->n > 0 && i < LANE_FLOWS; i++) {
		unsigned f = (l->turn + i) % LANE_FLOWS;
		struct want *w;

		TAILQ_FOREACH (w, &l->flows[f], link) {
			if (w->blocked_turn && w->blocked_turn == turn)
				continue;
			l->turn = (f + 1) % LANE_FLOWS;
			return w;
		}
	}
	return NULL;
}

void lane_give_back(struct lane *l, const struct want *w)
{
	l->turn = w->flow;
}

struct want *lane_first_of(const struct lane *l, unsigned flow)
{
	struct want *w;

	w = TAILQ_FIRST(&l->flows[flow]);
	while (w && w->owner)
		w = TAILQ_NEXT(w, link);
	return w;
}

struct want *lane_last_of(const struct lane *l, unsigned flow)
{
	struct want *w;

	w = TAILQ_LAST(&l->flows[flow], want_queue);
	while (w && w->owner)
		w = TAILQ_PREV(w, want_queue, link);
	return w;
}
