/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One value, asked of the engine. Where the mark of another machine stands in
 * its place, that machine is fetching it: the engine is asked again until the
 * value is there, or waiting for it has taken too long.
 *
 * Where the engine has had nothing for long, nobody waits for it: a question
 * costs little itself, but what comes ahead would lose its turn on the link to
 * what is less urgent. Then a probe asks now and then.
 */
#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/uint.h"
#include "farm/farm_private.h"

enum {
	/* A mark is looked at again this many times while the server would
	 * answer. */
	LOOKS = 4,
	LOOK_MIN_US = 5000,
	LOOK_MAX_US = 50000,
	/* Values that are waited for at once: the engine is asked for each
	 * again and again. */
	WAITS_MAX = 256,
	/* No call waits for a probe, so it has long. */
	PROBE_US = 100000,
};

/* ---- its end ----------------------------------------------------------- */

/* The question is over: notes what that says of the engine and of other
 * machines, and tells whoever asked. */
static void question_end(struct farm_question *q, bool found)
{
	struct farm_server *s = q->server;

	if (q->until_us > 0) {
		others_waited(s, found);
		if (!found)
			metrics_add(s->p.metrics, METRICS_FARM_IN_VAIN, 1);
	}
	/* Whoever waited looks again, and must not come here with the same
	 * question. */
	if (!found)
		farm_note_absent(s, q->kind, &q->key, clock_now_us());
	q->on_end(q);
}

/* The question waits for no other machine any more. */
static void wait_remove(struct farm *f, struct farm_question *q)
{
	TAILQ_REMOVE(&f->waits, q, link);
	q->waits = false;
	f->nwaits--;
}

void question_drop(struct farm_question *q)
{
	if (q->waits)
		wait_remove(q->server->p.farm, q);
	if (q->ask.call)
		engine_cancel(q->server->p.farm->engine, &q->ask);
}

/* ---- waiting ----------------------------------------------------------- */

/* Has the marks looked at again, after a part of the time that the server
 * needs. */
static void look_soon(struct farm_server *s)
{
	struct farm *f = s->p.farm;
	uint64_t us = max_u64(others_server_us(s) / LOOKS, LOOK_MIN_US);
	struct timeval tv = clock_timeval(min_u64(us, LOOK_MAX_US));

	if (event_pending(f->ev_wait, EV_TIMEOUT, NULL))
		return;
	event_add(f->ev_wait, &tv);
}

/* Whether the question may wait, or go on waiting, for another machine. */
static bool may_wait(struct farm_question *q)
{
	struct farm_server *s = q->server;
	uint64_t now_us = clock_now_us();

	if (q->until_us > 0)
		return now_us < q->until_us;
	if (s->p.farm->nwaits >= WAITS_MAX || !others_are_worth_waiting(s))
		return false;
	q->until_us = now_us + others_wait_us(s);
	metrics_add(s->p.metrics, METRICS_FARM_WAITED, 1);
	return true;
}

/* The question waits for the machine that has left the mark. */
static void question_wait(struct farm_question *q)
{
	struct farm *f = q->server->p.farm;

	TAILQ_INSERT_TAIL(&f->waits, q, link);
	q->waits = true;
	f->nwaits++;
	if (q->on_wait)
		q->on_wait(q);
	look_soon(q->server);
}

/* ---- asking ------------------------------------------------------------ */

/* The engine has answered, or its time is over (NULL). Our own mark tells of a
 * fetch of ours, so there is nobody to wait for. */
static void on_value(struct engine_ask *ask, const void *data, size_t len)
{
	struct farm_question *q = (struct farm_question *)ask;
	const struct farm *f = q->server->p.farm;

	if (!data || !others_is_mark(data, len))
		question_end(q, data && q->take(q, data, len));
	else if (!others_is_own_mark(f, data) && may_wait(q))
		question_wait(q);
	else
		question_end(q, false);
}

static bool ask(struct farm_question *q)
{
	struct engine_key key = farm_engine_key(&q->key);

	return engine_get(
	    q->server->p.farm->engine, &key, q->deadline_us, &q->ask);
}

bool question_ask(struct farm_question *q)
{
	q->ask.on_value = on_value;
	return ask(q);
}

/* The engine never answers within the call: so none comes back here before all
 * were looked at. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct farm *f = arg;
	struct farm_question *q;

	(void)fd;
	(void)what;
	while ((q = TAILQ_FIRST(&f->waits)) != NULL) {
		wait_remove(f, q);
		if (!ask(q))
			question_end(q, false);
	}
}

/* ---- probes ------------------------------------------------------------ */

/* A probe has found a value, so the engine is worth asking again. */
static bool take_probe(struct farm_question *q, const void *value, size_t len)
{
	size_t max = q->kind == FARM_DATA ? DATA_VALUE_MAX : LISTING_BYTES_MAX;

	if (farm_open(q->server, &q->key, value, len, max) == 0)
		return false;
	farm_note_found(q->server, q->kind);
	return true;
}

static void on_probe_end(struct farm_question *q)
{
	(void)q;
}

bool probe_is_due(struct farm_server *s, enum farm_kind kind)
{
	const struct farm_question *q = &s->barren[kind].probe;

	return s->barren[kind].passed++ % BARREN_PART == 0 && !q->ask.call &&
	       !q->waits && engine_is_up(s->p.farm->engine);
}

void probe_ask(
    struct farm_server *s, enum farm_kind kind, const struct farm_key *key)
{
	struct farm_question *q = &s->barren[kind].probe;

	if (farm_is_absent(s, key, clock_now_us()))
		return;
	*q = (struct farm_question){.server = s,
	    .kind = kind,
	    .key = *key,
	    .deadline_us = PROBE_US,
	    .take = take_probe,
	    .on_end = on_probe_end};
	if (question_ask(q))
		metrics_add(s->p.metrics, METRICS_FARM_ASKED, 1);
}

/* ---- the farm's begin and end ------------------------------------------ */

bool questions_begin(struct farm *f)
{
	TAILQ_INIT(&f->waits);
	f->ev_wait = evtimer_new(f->base, on_look, f);
	return f->ev_wait != NULL;
}

void questions_end(struct farm *f)
{
	if (f->ev_wait)
		event_free(f->ev_wait);
}
