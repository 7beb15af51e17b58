/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions (predictor.h): what a user used after a mount or a pause is wanted
 * again when a session begins that goes like a former one, under the credential
 * of the call that it began with. Only as many wants are made at a time as the
 * link takes: so what is predicted from single calls goes first, and if the
 * session goes another way after all, hardly anything of it is left waiting.
 *
 * Wants of sessions stand in lanes eight accesses further off than they are,
 * and are made only while fewer than 128 wants wait. Beyond a file's first
 * bytes a session wants all that was read of it from its beginning, two lanes
 * further off: here there is time for it, which a client's readahead does not
 * have. Nobody waits for any of it: the mount and the first call are answered
 * before.
 */
#include <stdlib.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "config/config.h"
#include "prefetch/ground/hold.h"
#include "prefetch/queue/queue.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/source_private.h"

enum {
	SESSIONS = 8,     /* that go on at the same time */
	ROOM = 128,       /* no more is asked for while so many wants wait */
	PART = 64,        /* predictions that are asked for at a time */
	LOOK_US = 250000, /* between two looks while no call comes */
};

/* In the credential's pocket. */
struct user_session {
	uint32_t number; /* that it is in; 0: none that is known */
	uint64_t bytes;  /* that were asked ahead for the session */
};

struct session_source {
	struct source s;
	struct credential *in[SESSIONS]; /* in a session; then NULL */
	struct predictor_session_stats counted;
	struct event *ev;
};

static void configure(struct source *s)
{
	const struct config_server *c = s->all->g->config;

	predictor_set_sessions(s->all->g->predictor, c->session_pause_us * 1000,
	    c->session_time_us * 1000);
}

/* NULL without memory. */
static struct user_session *session_of(struct credential *cred)
{
	return credential_pocket(
	    cred, CREDENTIAL_SESSION, sizeof(struct user_session));
}

bool sources_in_session(struct credential *cred)
{
	const struct user_session *own = session_of(cred);

	return own && own->number;
}

bool sources_session_spent(const struct sources *all, struct credential *cred)
{
	const struct user_session *own = session_of(cred);

	return !own || own->bytes >= all->g->config->session_size;
}

void sources_session_spends(
    struct sources *all, struct credential *cred, uint64_t bytes)
{
	struct user_session *own = session_of(cred);

	if (own)
		own->bytes += bytes;
	metrics_add(all->g->metrics, METRICS_SESSION_BYTES, bytes);
}

/* The credential is in that session from now on, unless another one is: a user
 * may have several, which differ in their groups. */
static void enter(struct session_source *x, struct credential *cred,
    struct user_session *own, uint32_t session)
{
	int i = 0;

	while (i < SESSIONS && x->in[i] && x->in[i] != cred) {
		if (session_of(x->in[i])->number == session)
			return;
		i++;
	}
	if (i == SESSIONS)
		return;
	if (!x->in[i])
		x->in[i] = credential_ref(cred);
	/* If the former session goes on as well, its share of bytes is shared:
	 * else two that take turns would have it anew each time. */
	if (!predictor_session_goes_on(x->s.all->g->predictor, own->number))
		own->bytes = 0;
	own->number = session;
}

static void leave(struct session_source *x, int i)
{
	session_of(x->in[i])->number = 0;
	credential_unref(x->in[i]);
	for (; i + 1 < SESSIONS; i++)
		x->in[i] = x->in[i + 1];
	x->in[SESSIONS - 1] = NULL;
}

/* The predictor has heard of the call. */
static void passed(struct source *s, struct passed *p)
{
	const struct predictor *predictor = s->all->g->predictor;
	uint32_t session = predictor_session(predictor);
	struct user_session *own = session ? session_of(p->cred) : NULL;

	if (own && session != own->number &&
	    predictor_session_goes_on(predictor, session))
		enter((struct session_source *)s, p->cred, own, session);
}

static void want_next(
    struct sources *all, struct credential *cred, uint64_t now_us)
{
	struct prediction preds[PART];
	size_t n;

	while (queue_count_urgent(all->queue) < ROOM) {
		n = predictor_replay(all->g->predictor,
		    session_of(cred)->number, now_us * 1000, preds, PART);
		for (size_t i = 0; i < n; i++) {
			notes_predicted(all->notes, &preds[i],
			    credential_uid(cred), now_us);
			if (sources_want(all, cred, &preds[i], now_us) &&
			    preds[i].parent)
				dirs_want(all->dirs, preds[i].parent, now_us);
		}
		if (n == 0)
			return;
	}
}

static void count(struct session_source *x)
{
	struct predictor_session_stats st, was = x->counted;
	struct metrics *m = x->s.all->g->metrics;

	predictor_get_session_stats(x->s.all->g->predictor, &st);
	metrics_add(m, METRICS_SESSIONS_RECORDED, st.recorded - was.recorded);
	metrics_add(m, METRICS_SESSIONS_REPLAYED, st.replayed - was.replayed);
	metrics_add(m, METRICS_SESSIONS_STOPPED, st.stopped - was.stopped);
	metrics_add(m, METRICS_SESSION_WANTED, st.wanted - was.wanted);
	metrics_add(m, METRICS_SESSION_USED, st.used - was.used);
	x->counted = st;
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	ground_wake(arg, clock_now_us());
}

static bool turn(struct source *s, uint64_t now_us)
{
	struct session_source *x = (struct session_source *)s;
	struct ground *g = s->all->g;
	struct timeval tv = clock_timeval(LOOK_US);

	for (int i = 0; i < SESSIONS && x->in[i];) {
		if (predictor_session_goes_on(
			g->predictor, session_of(x->in[i])->number)) {
			if (hold_lets(g->hold, false, CONFIRM_BYTES, now_us))
				want_next(s->all, x->in[i], now_us);
			i++;
		} else {
			leave(x, i);
		}
	}
	count(x);
	/* No call wakes the pump while the user thinks. */
	if (x->in[0] && !evtimer_pending(x->ev, NULL))
		event_add(x->ev, &tv);
	return false;
}

static struct source *open_session(struct sources *all)
{
	struct source *s = source_new(sizeof(struct session_source));
	struct event *ev =
	    s ? evtimer_new(all->g->base, on_look, all->g) : NULL;

	if (!ev) {
		free(s);
		return NULL;
	}
	((struct session_source *)s)->ev = ev;
	return s;
}

static void close_session(struct source *s)
{
	struct session_source *x = (struct session_source *)s;

	while (x->in[0])
		leave(x, 0);
	event_free(x->ev);
	free(s);
}

const struct source_ops source_session = {.open = open_session,
    .close = close_session,
    .configure = configure,
    .passed = passed,
    .turn = turn};
