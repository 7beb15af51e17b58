/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pump: turns of wants, the most urgent first, until nothing may go out.
 * The steps decide which call a want needs next; whether it is worth it now,
 * and whether there is room for it, is asked here and nowhere else.
 */
#include <stdlib.h>

#include "base/metrics.h"
#include "base/uint.h"
#include "link/budget.h"
#include "prefetch/calls/refused.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/hold.h"
#include "prefetch/ground/worth.h"
#include "prefetch/queue/queue.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

enum {
	/* The pump takes so many wants in one turn of the loop, and ends the
	 * turn after so many whose calls cost too much just now. */
	TURN_WANTS = 64,
	TURN_DEARS = 16,
	/* While the server cannot be asked, and somebody waits for a job, the
	 * pump looks so often whether it can. */
	JOBS_POLL_US = 20000,
	/* A farm that has as many questions as it takes is asked again after
	 * this time: it answers within about as much. */
	FARM_BUSY_US = 2000,
	/* A want that could not go out for so long is given up. A pause for
	 * NFS3ERR_JUKEBOX (flight.c) that is as long, or longer, ends all that
	 * wait when it begins. */
	EXPIRED_US = 5000000,
	/* Turns of a want that count; more of them would be a loop. */
	TURNS_MAX = 12,
	/* Between two looks whether a pause is over, at what was asked for. */
	PAUSED_US = 1000000,
};

struct steps *steps_new(const struct steps_params *p)
{
	struct steps *s = calloc(1, sizeof(*s));

	if (!s || !(s->refused = refused_new())) {
		free(s);
		return NULL;
	}
	s->g = p->ground;
	s->notes = p->notes;
	s->queue = p->queue;
	s->sources = p->sources;
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

/* ---- a call that a want needs ------------------------------------------ */

bool turn_pays(const struct ground *g, const struct wish *w,
    const struct want_progress *at, double p, uint64_t bytes)
{
	struct worth_bid bid = {.p = p,
	    .bytes = bytes,
	    .guess = wish_is_guess(w),
	    .bounded = wish_is_bounded(w)};

	/* Whoever asked for it knows what it is worth. */
	if (wish_is_asked(w))
		return true;
	/* Of the rest of a file it takes many a piece to spare a round trip. */
	if (at->place.extent > 0 && w->rest_p > 0) {
		bid.p *= (double)w->rest_p;
		bid.bytes = w->rest_bytes;
	}
	return worth_now(g, &bid);
}

/* Whether the call asks for the rights to a file whose attributes are fresh,
 * and all who want it guess: whoever only looks at the file needs none. */
static bool is_to_open(struct turn *t)
{
	return t->call.proc == NFSPROC3_ACCESS && t->call.node == t->node &&
	       t->wish->needs & PREDICTOR_NEEDS_DATA &&
	       wish_is_guess(t->wish) && turn_confirmed(t, t->node, false);
}

/* Sends the turn's call, if it may go out now; else the turn ends so. */
static bool ask_server(struct turn *t)
{
	const struct turn_call *call = &t->call;
	const struct wish *w = t->wish;
	bool read = call->proc == NFSPROC3_READ;
	double p = (double)(read || is_to_open(t) ? w->data_p : w->p);
	struct refused_call refused = {
	    .node = call->node, .proc = call->proc, .cred = t->cred};
	struct fetch_about about;

	if (refused_lately(t->s->refused, t->c, &refused, t->now_us))
		return false;
	if (!hold_lets(t->g->hold, wish_is_asked(w), call->bytes, t->now_us))
		return turn_ends(t, TURN_HELD);
	if (!turn_pays(t->g, w, t->at, p, call->bytes))
		return turn_ends(t, TURN_DEAR);
	if (!budget_may(t->g->budget, call->bytes, t->now_us, t->wait_us))
		return turn_ends(t, TURN_BLOCKED);
	notes_set(t->s->notes, w->object, NOTE_ASKED, t->now_us);
	if (!turn_send(t, &about))
		return false;
	budget_likely(t->g->budget, call->bytes, p);
	t->sent++;
	t->confirms |= !read;
	want_put_off(t->w, false);
	if (wish_is_of_session(w))
		sources_session_spends(t->s->sources, w->cred, call->bytes);
	return !call->awaited || want_watch(t->w, &about);
}

/* Asks the farm, or else the server, for the turn's call. Returns false where
 * the turn is over; what is not worth it is passed over. */
static bool ask(struct turn *t)
{
	const struct turn_call *call = &t->call;
	bool read = call->proc == NFSPROC3_READ;

	if (!call->missing)
		return ask_server(t);
	switch (turn_ask_farm(t)) {
	case FARM_ASKED:
		/* Of a file, it may have other pieces. The want would not come
		 * back to a call that it cannot watch. */
		return read && want_watched(t->w) < WANT_WATCHES;
	case FARM_BUSY:
		*t->wait_us = FARM_BUSY_US;
		return turn_ends(t, TURN_BLOCKED);
	case FARM_NO:
		break;
	}
	if (!turn_worth(
		t, call->proc, read ? call->args.read.count : call->left_bytes))
		return true;
	return worth_waiting(t->c, call->node, t->now_us)
		   ? turn_ends(t, TURN_TOO_EARLY)
		   : ask_server(t);
}

/* ---- the end of a turn ------------------------------------------------- */

static enum step drop_for(
    struct turn *t, enum note_state why, enum metrics_counter counter)
{
	metrics_add(t->g->metrics, counter, 1);
	notes_set(t->s->notes, t->wish->object, why, t->now_us);
	return STEP_DONE;
}

/* There is nothing more to ask for it. */
static enum step done(struct turn *t)
{
	const struct wish *w = t->wish;

	if (t->end == TURN_HELD)
		return drop_for(t, NOTE_UNLIKELY, METRICS_PREFETCH_HELD);
	if (!t->node && !w->name && !(w->needs & PREDICTOR_NEEDS_ABSENCE))
		return drop_for(t, NOTE_UNKNOWN, METRICS_PREFETCH_UNKNOWN);
	/* It was its first turn, and nothing was missing. */
	if (t->sent == 0 && t->at->turns == 1)
		return t->near
			   ? drop_for(
				 t, NOTE_UNLIKELY, METRICS_PREFETCH_UNLIKELY)
			   : drop_for(t, NOTE_FRESH, METRICS_PREFETCH_FRESH);
	return STEP_DONE;
}

/* It has its turn again when there is nothing else: no reply may come that
 * would make it cheaper. */
static enum step put_off(struct turn *t)
{
	bool again = want_is_put_off(t->w);

	if (!again)
		metrics_add(t->g->metrics, METRICS_PREFETCH_PUT_OFF, 1);
	want_put_off(t->w, true);
	*t->wait_us = DEAR_US;
	return again ? STEP_BLOCKED : STEP_MORE;
}

/* A turn that ended early counts only if it asked for what may have to be asked
 * for again. */
static bool counts(const struct turn *t)
{
	if (t->farmed || t->passes || (t->listing_waits && !t->confirms))
		return false;
	return t->confirms || (t->end != TURN_BLOCKED && t->end != TURN_DEAR);
}

static enum step end_turn(struct turn *t)
{
	if (t->farmed)
		t->at->place = t->back;
	if (want_watched(t->w) > 0)
		turn_ends(t, TURN_WAITS);
	if (!counts(t))
		t->at->turns--;
	switch (t->end) {
	case TURN_TOO_EARLY:
		return STEP_LATER;
	case TURN_BLOCKED:
		return STEP_BLOCKED;
	case TURN_DEAR:
		return put_off(t);
	case TURN_GOES_ON:
		return STEP_MORE;
	case TURN_WAITS:
		return STEP_WAITS;
	default:
		return done(t);
	}
}

/* A want that somebody asked for waits while calls ahead are paused; any other
 * would be of no use by then. */
static enum step end_held(struct turn *t)
{
	if (!wish_is_asked(t->wish))
		return drop_for(t, NOTE_UNLIKELY, METRICS_PREFETCH_HELD);
	t->at->turns--;
	*t->wait_us = PAUSED_US;
	return STEP_BLOCKED;
}

/* ---- turns ------------------------------------------------------------- */

enum step turn_take(
    struct steps *s, struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	struct want_progress *at = want_progress(w);
	const struct wish *wish = want_wish(w);
	struct turn t = {.s = s,
	    .g = s->g,
	    .w = w,
	    .wish = wish,
	    .at = at,
	    .back = at->place,
	    .c = s->g->caches,
	    .cred = credential_id(wish->cred),
	    .now_us = now_us,
	    .wait_us = wait_us};
	bool old = now_us - wish->born_us > EXPIRED_US;

	if (!step_begin(&t))
		return t.node || t.dir ? STEP_DONE
				       : drop_for(&t, NOTE_UNKNOWN,
					     METRICS_PREFETCH_UNKNOWN);
	if (wish_is_of_session(wish) && !sources_in_session(wish->cred))
		return STEP_DONE;
	if (old || ++at->turns > TURNS_MAX) {
		(void)drop_for(&t, NOTE_OLD, METRICS_PREFETCH_OLD);
		return old ? STEP_OLD : STEP_DONE;
	}
	if (!hold_lets(s->g->hold, wish_is_asked(wish), CONFIRM_BYTES, now_us))
		return end_held(&t);
	if (!turn_worth(&t, NFSPROC3_ACCESS, CONFIRM_BYTES))
		return drop_for(&t, NOTE_UNLIKELY, METRICS_PREFETCH_UNLIKELY);
	while (step_want(&t) && ask(&t))
		;
	return end_turn(&t);
}

/* Takes one turn with a want. Returns false if the link has no room for another
 * call; then `*wait_us` says when there may be. */
static bool pump_one(
    struct steps *s, struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	struct want_owner *o = want_owner(w);

	switch (o && o->on_turn ? o->on_turn(o, now_us, wait_us)
				: turn_take(s, w, now_us, wait_us)) {
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
	return min_u64(least_us, queue_dear_rest_us(s->queue, now_us));
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
