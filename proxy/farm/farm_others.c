/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other machines that work on the same server at the same time. Machines that
 * start together would all fetch the same things, each before another one could
 * have published it. So while there are others, whoever asks for what the
 * engine has not leaves a mark in its place, and fetches it; who finds the mark
 * looks again for about as long as that takes, and then asks the server.
 *
 * A machine that is alone leaves none: they cost the engine, and spare nobody
 * anything. Nothing depends on a mark being true.
 */
#include <string.h>
#include <sys/random.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "farm/farm_private.h"
#include "link/linkest.h"

enum {
	/* How often it is asked who is there: while others are, and while
	 * nobody is known to be. */
	THERE_US = 1000000,
	ALONE_US = 250000,
	/* Whoever asked for something so lately counts as there. */
	STAYS_S = 3,
	DEADLINE_US = 20000,
	/* A mark is looked at again this many times while the server would
	 * answer. */
	LOOKS = 4,
	LOOK_MIN_US = 5000,
	LOOK_MAX_US = 50000,
	/* The other machine's call may have begun just now, and what it brings
	 * is published a little later. */
	WAIT_TIMES = 4,
	PUBLISHED_US = 40000,
	/* Where nobody knows how long the server takes. */
	SERVER_US = 40000,
	/* After VAIN_MAX waits in vain in a row, only one mark in VAIN_PART is
	 * waited for. */
	VAIN_MAX = 8,
	VAIN_PART = 16,
	/* Values that are waited for at once: the engine is asked for each
	 * again and again. */
	WAITS_MAX = 256,
	/* Longer than anybody waits: else who comes next would fetch it, too.
	 */
	MARK_MS = 2000,
	MARK_MAGIC_BYTES = 8,
	MARK_BYTES = MARK_MAGIC_BYTES + FARM_NUMBER_BYTES,
};

static const char mark_magic[MARK_MAGIC_BYTES] = "fetching";

/* ---- who is there ------------------------------------------------------ */

/* Each machine reads who asked last, then writes its own number there. */
static void on_other(struct engine_ask *ask, const void *data, size_t len)
{
	struct farm_others *o = (struct farm_others *)ask;
	struct farm *f = o->server->p.farm;
	struct engine_key key = farm_engine_key(&o->key);
	unsigned char me[FARM_NUMBER_BYTES];

	farm_put_number(me, f->id);
	if (data && len == sizeof(me) && memcmp(data, me, len) != 0)
		o->seen_us = clock_now_us();
	(void)engine_put(f->engine, &key, me, sizeof(me), STAYS_S);
}

static void look_for_others(struct farm_server *s, uint64_t now_us)
{
	struct farm_others *o = &s->others;
	struct engine_key key;

	o->asked_us = now_us;
	if (!o->server) {
		o->server = s;
		o->ask.on_value = on_other;
		farm_others_key(s, &o->key);
	}
	key = farm_engine_key(&o->key);
	(void)engine_get(s->p.farm->engine, &key, DEADLINE_US, &o->ask);
}

bool others_are_there(struct farm_server *s, uint64_t now_us)
{
	struct farm_others *o = &s->others;
	bool there = o->seen_us > 0 && now_us - o->seen_us < STAYS_S * 1000000;

	if (!o->ask.call &&
	    now_us - o->asked_us >= (there ? THERE_US : ALONE_US))
		look_for_others(s, now_us);
	return there;
}

/* ---- marks ------------------------------------------------------------- */

static uint64_t server_us(const struct farm_server *s)
{
	uint64_t us = linkest_srtt_us(s->p.link);

	return us > 0 ? us : SERVER_US;
}

static uint64_t wait_us(const struct farm_server *s)
{
	return WAIT_TIMES * server_us(s) + PUBLISHED_US;
}

bool others_get(struct farm_server *s, const struct farm_key *key,
    uint64_t deadline_us, struct engine_ask *a)
{
	struct engine *e = s->p.farm->engine;
	struct engine_key k = farm_engine_key(key);
	char mark[MARK_BYTES];

	if (!others_are_there(s, clock_now_us()))
		return engine_get(e, &k, deadline_us, a);
	memcpy(mark, mark_magic, MARK_MAGIC_BYTES);
	farm_put_number(
	    (unsigned char *)mark + MARK_MAGIC_BYTES, s->p.farm->id);
	return engine_get_or_mark(
	    e, &k, mark, sizeof(mark), MARK_MS, deadline_us, a);
}

bool others_is_mark(const void *value, size_t len)
{
	return len == MARK_BYTES &&
	       memcmp(value, mark_magic, MARK_MAGIC_BYTES) == 0;
}

/* ---- waiting ----------------------------------------------------------- */

static void look_soon(struct farm_server *s)
{
	struct farm *f = s->p.farm;
	uint64_t us = server_us(s) / LOOKS;
	struct timeval tv;

	if (event_pending(f->ev_wait, EV_TIMEOUT, NULL))
		return;
	if (us < LOOK_MIN_US)
		us = LOOK_MIN_US;
	if (us > LOOK_MAX_US)
		us = LOOK_MAX_US;
	tv = clock_timeval(us);
	event_add(f->ev_wait, &tv);
}

/* Whether it is worth to wait for what others fetch. */
static bool is_worth_waiting(struct farm_server *s)
{
	struct farm_others *o = &s->others;

	return s->p.farm->nwaits < WAITS_MAX &&
	       (o->vain < VAIN_MAX || o->passed++ % VAIN_PART == 0);
}

bool others_wait(struct farm_server *s, struct farm_wait *w, const void *mark)
{
	const unsigned char *id =
	    (const unsigned char *)mark + MARK_MAGIC_BYTES;
	uint64_t now_us = clock_now_us();

	/* This machine left the mark: it is fetching already. */
	if (farm_get_number(id) == s->p.farm->id)
		return false;
	if (w->until_us == 0) {
		if (!is_worth_waiting(s))
			return false;
		w->until_us = now_us + wait_us(s);
		metrics_add(s->p.metrics, METRICS_FARM_WAITED, 1);
	}
	if (now_us >= w->until_us)
		return false;
	TAILQ_INSERT_TAIL(&s->p.farm->waits, w, link);
	w->waits = true;
	s->p.farm->nwaits++;
	look_soon(s);
	return true;
}

void others_waited(struct farm_server *s, const struct farm_wait *w, bool found)
{
	if (w->until_us == 0)
		return;
	s->others.vain = found ? 0 : s->others.vain + 1;
	if (!found)
		metrics_add(s->p.metrics, METRICS_FARM_IN_VAIN, 1);
}

void others_forget(struct farm_server *s)
{
	if (s->others.ask.call)
		engine_cancel(s->p.farm->engine, &s->others.ask);
}

static void wait_remove(struct farm *f, struct farm_wait *w)
{
	TAILQ_REMOVE(&f->waits, w, link);
	w->waits = false;
	f->nwaits--;
}

void others_wait_end(struct farm_server *s, struct farm_wait *w)
{
	if (w->waits)
		wait_remove(s->p.farm, w);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct farm *f = arg;
	struct farm_wait *w;

	(void)fd;
	(void)what;
	/* The engine never answers within the call: so none comes back here
	 * before all were looked at. */
	while ((w = TAILQ_FIRST(&f->waits)) != NULL) {
		wait_remove(f, w);
		w->again(w);
	}
}

bool others_begin(struct farm *f)
{
	TAILQ_INIT(&f->waits);
	f->ev_wait = evtimer_new(f->base, on_look, f);
	return f->ev_wait &&
	       getrandom(&f->id, sizeof(f->id), 0) == (ssize_t)sizeof(f->id);
}

void others_end(struct farm *f)
{
	if (f->ev_wait)
		event_free(f->ev_wait);
}
