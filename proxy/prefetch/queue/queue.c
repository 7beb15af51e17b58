/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which order wants have their turns; see the header. */
#include "prefetch/queue/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/metrics.h"
#include "cache/attrcache.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/queue/queue_private.h"

/* Those who list wants look at no more than so many of a flow in a lane. */
enum { WANTS_LOOKED = 64 };

struct queue *queue_new(struct ground *g, struct notes *notes)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->g = g;
	q->notes = notes;
	TAILQ_INIT(&q->spare);
	TAILQ_INIT(&q->later);
	for (int i = 0; i < WANT_LANES; i++)
		lane_init(&q->lanes[i]);
	return q;
}

void queue_free(struct queue *q)
{
	struct want *w;

	if (!q)
		return;
	for (int i = 0; i < WANT_BUCKETS; i++)
		while ((w = LIST_FIRST(&q->wants[i])) != NULL)
			want_drop(w);
	while ((w = TAILQ_FIRST(&q->spare)) != NULL) {
		TAILQ_REMOVE(&q->spare, w, link);
		free(w);
	}
	free(q);
}

/* ---- which lane -------------------------------------------------------- */

/* A want that is half as likely is worth as little as one that is twice as far
 * away. */
uint8_t queue_lane(uint32_t lead, float p)
{
	uint8_t lane = 0;

	for (; p < 0.5f && lane < WANT_ODDS_LANES; p *= 2)
		lane++;
	while (lead > 1 && lane < WANT_LANE_JOBS - 1 - WANT_TAIL_LANES) {
		lead /= 2;
		lane++;
	}
	return lane;
}

bool want_is_urgent(const struct want *w)
{
	return w->lane < WANT_LANE_JOBS;
}

static bool is_left(const struct want *w)
{
	return w->wish.rest_p > 0 && w->wish.object != w->queue->opened;
}

/* As far as it is worth its call. */
static uint8_t home_lane(const struct want *w)
{
	/* The tail of what will be used next is as urgent as its beginning;
	 * where only its kind says that it will be read, until something else
	 * is opened. */
	return w->tail && (w->base_lane > 0 || is_left(w))
		   ? w->base_lane + WANT_TAIL_LANES
		   : w->base_lane;
}

void queue_take_out(struct want *w)
{
	struct queue *q = w->queue;

	if (w->state == WANT_LATER)
		TAILQ_REMOVE(&q->later, w, link);
	if (w->state == WANT_QUEUED) {
		lane_remove(&q->lanes[w->lane], w);
		q->nqueued -= want_is_urgent(w);
	}
	w->state = WANT_TURN;
}

static void move_to(struct want *w, uint8_t lane)
{
	bool queued = w->state == WANT_QUEUED;

	if (lane == w->lane)
		return;
	if (!queued) {
		w->order = ++w->queue->orders;
		w->lane = lane;
		return;
	}
	queue_take_out(w);
	w->lane = lane;
	queue_put(w, false);
}

void queue_move(struct want *w)
{
	if (w->lane != WANT_LANE_DEAR)
		move_to(w, home_lane(w));
}

void want_put_off(struct want *w, bool off)
{
	move_to(w, off ? WANT_LANE_DEAR : home_lane(w));
}

bool want_is_put_off(const struct want *w)
{
	return w->lane == WANT_LANE_DEAR;
}

bool want_begins_tail(struct want *w)
{
	uint8_t was = w->lane;

	w->tail = true;
	queue_move(w);
	return w->lane != was;
}

bool want_is_tail(const struct want *w)
{
	return w->tail;
}

static bool is_job(const struct want *w)
{
	return w->lane == WANT_LANE_JOBS;
}

/* ---- room -------------------------------------------------------------- */

/* The flow that has most wants; `flow`, if none has more. */
static unsigned richest(const struct queue *q, unsigned flow)
{
	for (unsigned f = 0; f < LANE_FLOWS; f++)
		if (q->flow_wants[f] > q->flow_wants[flow])
			flow = f;
	return flow;
}

/* The flow's want that costs too much, or its last in a lane from `nearest` on.
 */
static struct want *least_of(const struct queue *q, unsigned flow, int nearest)
{
	struct want *w = lane_first_of(&q->lanes[WANT_LANE_DEAR], flow);

	for (int i = WANT_LANE_JOBS - 1; !w && i >= nearest; i--)
		w = lane_last_of(&q->lanes[i], flow);
	return w;
}

/* One of the flow that has most goes; else one of the want's own flow that
 * stands behind all of the lane. */
static void make_room(struct queue *q, uint8_t lane, unsigned flow)
{
	unsigned from = richest(q, flow);
	struct want *w = from == flow ? NULL : least_of(q, from, 0);

	if (!w && !(w = least_of(q, flow, lane + 1)))
		return;
	metrics_add(q->g->metrics, METRICS_PREFETCH_CROWDED, 1);
	want_drop(w);
}

struct want *queue_take_spare(struct queue *q, uint8_t lane, uint8_t flow)
{
	struct want *w;

	if (q->nwants == WANTS_MAX)
		make_room(q, lane, flow);
	w = TAILQ_FIRST(&q->spare);
	if (w) {
		TAILQ_REMOVE(&q->spare, w, link);
	} else if (q->nmade < WANTS_MAX) {
		w = malloc(sizeof(*w));
		q->nmade += w != NULL;
	}
	if (w) {
		*w =
		    (struct want){.queue = q, .flow = flow, .state = WANT_TURN};
		q->nwants++;
		q->flow_wants[flow]++;
	}
	return w;
}

/* ---- turns ------------------------------------------------------------- */

void queue_put(struct want *w, bool again)
{
	struct queue *q = w->queue;

	if (!again)
		w->order = ++q->orders;
	lane_add(&q->lanes[w->lane], w, again);
	w->state = WANT_QUEUED;
	q->nqueued += want_is_urgent(w);
}

void queue_put_blocked(struct want *w)
{
	assert(w->state == WANT_TURN);
	w->blocked_turn = w->queue->turn;
	/* The others have their turns one after the other. */
	queue_put(w, want_is_urgent(w));
	if (want_is_urgent(w))
		lane_give_back(&w->queue->lanes[w->lane], w);
}

void queue_put_later(struct want *w, uint64_t now_us)
{
	assert(w->state == WANT_TURN);
	w->due_us = now_us + GRAIN_US;
	w->state = WANT_LATER;
	TAILQ_INSERT_TAIL(&w->queue->later, w, link);
}

uint64_t queue_ripen(struct queue *q, uint64_t now_us)
{
	struct want *w;

	while ((w = TAILQ_FIRST(&q->later)) != NULL) {
		if (w->due_us > now_us)
			return w->due_us;
		TAILQ_REMOVE(&q->later, w, link);
		queue_put(w, true);
	}
	return 0;
}

struct want *queue_next(struct queue *q)
{
	struct want *w = NULL;

	/* Only jobs are passed over that were blocked: what is blocked in
	 * another lane ends the turn. */
	for (int i = 0; !w && i < WANT_LANE_DEAR; i++)
		w = lane_next(&q->lanes[i], q->turn);
	/* These come round in turn. */
	if (!w && q->g->now_us >= q->dear_us)
		w = lane_next(&q->lanes[WANT_LANE_DEAR], q->turn);
	if (w)
		queue_take_out(w);
	return w;
}

void queue_put_aside(struct want *w)
{
	assert(w->state == WANT_TURN || w->state == WANT_QUEUED);
	if (w->state == WANT_TURN)
		w->state = WANT_WAITING;
}

void queue_begin_turn(struct queue *q)
{
	q->turn++;
}

void queue_rest_dear(struct queue *q, uint64_t until_us)
{
	q->dear_us = until_us;
}

static void on_done(struct fetch_watch *watch)
{
	struct want *w = watch->ctx;

	/* One that is LATER has its turn when its time has come. */
	if (--w->pending > 0 || w->state == WANT_QUEUED ||
	    w->state == WANT_LATER)
		return;
	queue_put(w, true);
	ground_wake(w->queue->g, w->queue->g->now_us);
}

bool want_watch(struct want *w, const struct fetch_about *about)
{
	for (int i = 0; i < WANT_WATCHES; i++) {
		struct fetch_watch *watch = &w->watches[i];

		if (watch->list)
			continue;
		watch->on_done = on_done;
		watch->ctx = w;
		if (!fetch_watch(w->queue->g->fetch, about, watch))
			return false;
		w->pending++;
		return true;
	}
	/* It cannot watch that many calls: it asks again in its next turn. */
	return true;
}

unsigned want_watched(const struct want *w)
{
	return w->pending;
}

/* ---- what is there ----------------------------------------------------- */

size_t queue_count(const struct queue *q)
{
	return q->nwants;
}

unsigned queue_count_urgent(const struct queue *q)
{
	return q->nqueued;
}

bool queue_has_jobs(const struct queue *q)
{
	return !lane_is_empty(&q->lanes[WANT_LANE_JOBS]);
}

bool queue_has_dear(const struct queue *q)
{
	return !lane_is_empty(&q->lanes[WANT_LANE_DEAR]);
}

uint64_t queue_dear_rest_us(const struct queue *q, uint64_t now_us)
{
	if (!queue_has_dear(q))
		return UINT64_MAX;
	return q->dear_us > now_us ? q->dear_us - now_us : 1;
}

static size_t list_flow(const struct want_queue *flow, uint32_t uid,
    const struct want **out, size_t n, size_t max)
{
	const struct want *w;
	unsigned looked = 0;

	TAILQ_FOREACH (w, flow, link) {
		if (n == max || looked++ == WANTS_LOOKED)
			break;
		if (uid == 0 || credential_uid(w->wish.cred) == uid)
			out[n++] = w;
	}
	return n;
}

/* In each lane the flow whose turn it is comes first. */
size_t queue_list(
    const struct queue *q, uint32_t uid, const struct want **out, size_t max)
{
	size_t n = 0;

	for (int i = 0; i < WANT_LANES; i++) {
		const struct lane *l = &q->lanes[i];

		for (unsigned f = 0; i != WANT_LANE_JOBS && f < LANE_FLOWS; f++)
			n = list_flow(&l->flows[(l->turn + f) % LANE_FLOWS],
			    uid, out, n, max);
	}
	return n;
}

/* ---- the end of wants -------------------------------------------------- */

static void end(struct want *w, bool given_up)
{
	struct queue *q = w->queue;
	struct want_owner *o = w->owner;

	queue_take_out(w);
	credential_unref(w->wish.cred);
	if (is_job(w)) {
		free(w);
	} else {
		for (int i = 0; i < WANT_WATCHES; i++)
			fetch_unwatch(&w->watches[i]);
		LIST_REMOVE(w, hash_link);
		TAILQ_INSERT_HEAD(&q->spare, w, link);
		q->nwants--;
		q->flow_wants[w->flow]--;
	}
	if (!o)
		return;
	o->want = NULL;
	o->on_end(o, given_up);
}

void want_drop(struct want *w)
{
	end(w, false);
}

void want_give_up(struct want *w)
{
	end(w, true);
}
