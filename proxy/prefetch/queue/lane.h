/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A lane of wants, fair between clients: each flow, a client's user, has a
 * queue that is first in, first out, and the queues take turns. There are
 * LANE_FLOWS queues, and flows are hashed to them (stochastic fairness
 * queueing, McKenney, INFOCOM 1990): so what one client's find wants stands
 * before nothing of another client's build.
 */
#ifndef FOREFETCH_LANE_H
#define FOREFETCH_LANE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct want;

TAILQ_HEAD(want_queue, want);

enum { LANE_FLOWS = 16 };

struct lane {
	struct want_queue flows[LANE_FLOWS];
	/* The want that was last queued again in its order, so that the next
	 * one finds its place from there; or NULL. */
	struct want *last_again[LANE_FLOWS];
	unsigned n;    /* wants */
	unsigned turn; /* the flow that is served next */
};

/* The flow of a user of a client (observe.h, actor). */
unsigned lane_flow(uint64_t actor);

void lane_init(struct lane *l);
bool lane_is_empty(const struct lane *l);
/* Puts the want at the end of its flow's queue or, `again`, to where it stood,
 * by its order. */
void lane_add(struct lane *l, struct want *w, bool again);
void lane_remove(struct lane *l, struct want *w);
/* The one whose turn it is, of those that were not blocked in that turn of the
 * pump; NULL if there is none. The next turn is the next flow's. */
struct want *lane_next(struct lane *l, uint64_t turn);
/* The want could not go out: the next turn is its flow's once more. */
void lane_give_back(struct lane *l, const struct want *w);
/* The first and the last of a flow that have no owner; NULL if it has none. */
struct want *lane_first_of(const struct lane *l, unsigned flow);
struct want *lane_last_of(const struct lane *l, unsigned flow);

#endif
