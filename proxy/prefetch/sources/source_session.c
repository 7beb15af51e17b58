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
#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "config/config.h"
#include "prefetch/prefetch_private.h"

enum {
	ROOM = 128,       /* no more is asked for while so many wants wait */
	PART = 64,        /* predictions that are asked for at a time */
	LOOK_US = 250000, /* between two looks while no call comes */
};

void session_configure(struct prefetch *pf)
{
	const struct config_server *c = pf->p.config;

	predictor_set_sessions(pf->predictor, c->session_pause_us * 1000,
	    c->session_time_us * 1000);
}

bool session_spent(const struct want *w)
{
	return w->cred->session_bytes >= w->pf->p.config->session_size;
}

/* The credential is in that session from now on, unless another one is: a user
 * may have several, which differ in their groups. */
static void session_enter(
    struct prefetch *pf, struct pf_cred *cred, uint32_t session)
{
	int i = 0;

	while (i < PF_SESSIONS && pf->sessions[i] && pf->sessions[i] != cred) {
		if (pf->sessions[i]->session == session)
			return;
		i++;
	}
	if (i == PF_SESSIONS)
		return;
	if (!pf->sessions[i])
		pf->sessions[i] = pf_cred_ref(cred);
	/* If the former session goes on as well, its share of bytes is shared:
	 * else two that take turns would have it anew each time. */
	if (!predictor_session_goes_on(pf->predictor, cred->session))
		cred->session_bytes = 0;
	cred->session = session;
}

static void session_leave(struct prefetch *pf, int i)
{
	pf->sessions[i]->session = 0;
	pf_cred_unref(pf->sessions[i]);
	for (; i + 1 < PF_SESSIONS; i++)
		pf->sessions[i] = pf->sessions[i + 1];
	pf->sessions[PF_SESSIONS - 1] = NULL;
}

void session_seen(struct prefetch *pf, struct pf_cred *cred)
{
	uint32_t session = predictor_session(pf->predictor);

	if (session && session != cred->session &&
	    predictor_session_goes_on(pf->predictor, session))
		session_enter(pf, cred, session);
}

static void session_want(
    struct prefetch *pf, struct pf_cred *cred, uint64_t now_us)
{
	struct prediction preds[PART];
	size_t n;

	while (pf->nqueued < ROOM) {
		n = predictor_replay(
		    pf->predictor, cred->session, now_us * 1000, preds, PART);
		for (size_t i = 0; i < n; i++) {
			note_predicted(pf, &preds[i], cred->uid, now_us);
			(void)prefetch_want(pf, cred, &preds[i], now_us);
		}
		if (n == 0)
			return;
	}
}

static void session_count(struct prefetch *pf)
{
	struct predictor_session_stats st, was = pf->session_stats;
	struct metrics *m = pf->p.metrics;

	predictor_get_session_stats(pf->predictor, &st);
	metrics_add(m, METRICS_SESSIONS_RECORDED, st.recorded - was.recorded);
	metrics_add(m, METRICS_SESSIONS_REPLAYED, st.replayed - was.replayed);
	metrics_add(m, METRICS_SESSIONS_STOPPED, st.stopped - was.stopped);
	metrics_add(m, METRICS_SESSION_WANTED, st.wanted - was.wanted);
	metrics_add(m, METRICS_SESSION_USED, st.used - was.used);
	pf->session_stats = st;
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct prefetch *pf = arg;

	(void)fd;
	(void)what;
	prefetch_wake(pf, clock_now_us());
}

void session_go_on(struct prefetch *pf, uint64_t now_us)
{
	struct timeval tv = clock_timeval(LOOK_US);

	for (int i = 0; i < PF_SESSIONS && pf->sessions[i];) {
		struct pf_cred *cred = pf->sessions[i];

		if (predictor_session_goes_on(pf->predictor, cred->session)) {
			if (hold_lets(pf->hold, false, CONFIRM_BYTES, now_us))
				session_want(pf, cred, now_us);
			i++;
		} else {
			session_leave(pf, i);
		}
	}
	session_count(pf);
	/* No call wakes the pump while the user thinks. */
	if (pf->sessions[0] && !evtimer_pending(pf->ev_session, NULL))
		event_add(pf->ev_session, &tv);
}

bool session_open(struct prefetch *pf)
{
	pf->ev_session = evtimer_new(pf->p.base, on_look, pf);
	if (pf->ev_session)
		session_configure(pf);
	return pf->ev_session != NULL;
}

void session_close(struct prefetch *pf)
{
	while (pf->sessions[0])
		session_leave(pf, 0);
	if (pf->ev_session)
		event_free(pf->ev_session);
}
