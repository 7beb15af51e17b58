/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pump: turns of wants, the most urgent first, until nothing may go out. */
#include <stdlib.h>

#include "base/uint.h"
#include "prefetch/calls/refused.h"
#include "prefetch/queue/queue.h"
#include "prefetch/steps/turn_private.h"

enum {
	TURN_WANTS = 64,      /* in one turn of the loop */
	TURN_DEARS = 16,      /* of those that cost too much just now */
	JOBS_POLL_US = 20000, /* while the server cannot be asked */
};

struct steps *steps_new(const struct steps_params *p)
{
	struct steps *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->g = p->ground;
	s->notes = p->notes;
	s->queue = p->queue;
	s->sources = p->sources;
	s->refused = refused_new();
	if (!s->refused) {
		free(s);
		return NULL;
	}
	steps_open_flights(s, p->calls);
	return s;
}

void steps_free(struct steps *s)
{
	if (!s)
		return;
	flights_free(&s->flights);
	steps_forget_farmed(s);
	free(s->refused);
	free(s);
}

unsigned steps_flights(const struct steps *s)
{
	return s->flights.n;
}

bool steps_sent(const struct steps *s, const struct flight *fl)
{
	return fl->of == &s->flights;
}

static enum step take_turn(
    struct steps *s, struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	struct want_owner *o = want_owner(w);

	return o && o->on_turn ? o->on_turn(o, now_us, wait_us)
			       : step_want(s, w, now_us, wait_us);
}

/* Takes one turn with a want. Returns false if the link has no room for another
 * call; then `*wait_us` says when there may be. */
static bool pump_one(
    struct steps *s, struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	switch (take_turn(s, w, now_us, wait_us)) {
	case STEP_DONE:
		want_drop(w);
		break;
	case STEP_OLD:
		want_give_up(w);
		break;
	case STEP_MORE:
		queue_put(w, false);
		break;
	case STEP_WAITS:
		queue_put_aside(w);
		break;
	case STEP_LATER:
		queue_put_later(w, now_us);
		break;
	case STEP_BLOCKED:
		queue_put_blocked(w);
		return false;
	}
	return true;
}

/* How long nobody has to look at the queue, but for replies. */
static uint64_t rest_us(const struct queue *q, uint64_t now_us)
{
	return queue_has_dear(q) ? queue_dear_rest_us(q, now_us) : PUMP_RESTS;
}

/*
 * A want that is blocked ends the turn, since those behind it are less urgent.
 * A job that is blocked does not: another may have nothing to ask the server.
 * Nor does a want that costs too much now: another may be worth it.
 */
static uint64_t turns(struct steps *s, uint64_t now_us)
{
	uint64_t least_us = PUMP_RESTS;
	unsigned dear = 0;
	struct want *w = NULL;

	queue_begin_turn(s->queue);
	for (int i = 0; i < TURN_WANTS; i++) {
		uint64_t wait_us = 0; /* until a reply */

		w = queue_next(s->queue);
		if (!w)
			break;
		if (pump_one(s, w, now_us, &wait_us))
			continue;
		if (wait_us > 0 && wait_us < least_us)
			least_us = wait_us;
		if (want_is_urgent(w))
			return least_us;
		if (want_is_put_off(w) && ++dear == TURN_DEARS)
			break;
	}
	if (dear > 0)
		queue_rest_dear(s->queue, now_us + DEAR_US);
	if (w && dear < TURN_DEARS)
		return 0;
	return min_u64(least_us, rest_us(s->queue, now_us));
}

uint64_t pump_run(struct steps *s, uint64_t now_us)
{
	const struct queue *q = s->queue;

	if (queue_count_urgent(q) == 0 && !queue_has_jobs(q) &&
	    !queue_has_dear(q))
		return PUMP_RESTS;
	if (!s->g->ready(s->g->ready_ctx))
		return queue_has_jobs(q) ? JOBS_POLL_US : PUMP_RESTS;
	return turns(s, now_us);
}
