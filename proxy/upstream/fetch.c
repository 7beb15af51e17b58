/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flights. One that could not go out yet is in `join`, by what it asks,
 * until it is sent; one that is about an object is in `about` until it ends, so
 * that others can watch it. A flight has a waiter as long as it lives: the
 * first one keeps the request, and is told last.
 */
#include "upstream/fetch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "hashing/hash_key.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_object.h"

enum {
	JOIN_HASH_SIZE = 1024, /* powers of two */
	ABOUT_HASH_SIZE = 1024,
	/* The calls and claims of one place of the table that are looked at for
	 * a watch. What stands behind them is not found, and asked for again: a
	 * client can put any number of calls there. */
	LOOKS_MAX = 256,
	/* The same for fetch_is_changing(): more than a client sends READs of
	 * one file at once. */
	CHANGING_LOOKS_MAX = 1024,
};

TAILQ_HEAD(fetch_waiters, fetch_waiter);
LIST_HEAD(fetch_flights, fetch_flight);

struct fetch_flight {
	LIST_ENTRY(fetch_flight) link;
	LIST_ENTRY(fetch_flight) join_link; /* while `joinable` */
	struct fetch *fetch;
	struct upstream_call *call;
	struct upstream_request req;
	struct fetch_waiters waiters; /* the first one keeps the request */
	struct fetch_watches watches;
	LIST_ENTRY(fetch_flight) about_link; /* where about.object is set */
	struct fetch_about about;
	struct linkest_mark mark;
	uint64_t hash;
	bool joinable;
	bool timed; /* `mark` was set */
};

struct fetch {
	struct upstream *nfs;
	struct upstream *mount;
	struct metrics *metrics;
	struct linkest *link;  /* may be NULL */
	fetch_on_send on_send; /* NULL: nobody hears */
	void *on_send_ctx;
	struct fetch_flights flights;
	struct fetch_flights about[ABOUT_HASH_SIZE];
	struct fetch_flights join[JOIN_HASH_SIZE];
	struct fetch_claims claims[ABOUT_HASH_SIZE];
	unsigned nclaims; /* most often none */
	unsigned joinable;
	unsigned in_flight;
};

struct fetch *fetch_new(struct upstream *nfs, struct upstream *mount,
    struct metrics *metrics, struct linkest *link)
{
	struct fetch *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->nfs = nfs;
	f->mount = mount;
	f->metrics = metrics;
	f->link = link;
	return f;
}

void fetch_tell(struct fetch *f, fetch_on_send on_send, void *ctx)
{
	f->on_send = on_send;
	f->on_send_ctx = ctx;
}

static void flight_unjoin(struct fetch_flight *fl)
{
	if (!fl->joinable)
		return;
	fl->joinable = false;
	LIST_REMOVE(fl, join_link);
	fl->fetch->joinable--;
}

static void flight_free(struct fetch_flight *fl)
{
	flight_unjoin(fl);
	if (fl->timed)
		linkest_lost(fl->fetch->link, &fl->mark);
	if (fl->about.object)
		LIST_REMOVE(fl, about_link);
	LIST_REMOVE(fl, link);
	fl->fetch->in_flight--;
	free(fl);
}

void fetch_take_watches(struct fetch_watches *from, struct fetch_watches *to)
{
	struct fetch_watch *w;

	TAILQ_FOREACH (w, from, link)
		w->list = to;
	TAILQ_CONCAT(to, from, link);
}

/* Each watcher may unwatch others, so the list is looked at anew each time. */
void fetch_ring(struct fetch_watches *list)
{
	struct fetch_watches watches = TAILQ_HEAD_INITIALIZER(watches);
	struct fetch_watch *w;

	fetch_take_watches(list, &watches);
	while ((w = TAILQ_FIRST(&watches)) != NULL) {
		fetch_unwatch(w);
		w->on_done(w);
	}
}

void fetch_forget(struct fetch *f)
{
	struct fetch_flight *fl;
	struct fetch_waiter *w;

	while (f && (fl = LIST_FIRST(&f->flights)) != NULL) {
		TAILQ_FOREACH (w, &fl->waiters, link)
			w->flight = NULL;
		while (!TAILQ_EMPTY(&fl->watches))
			fetch_unwatch(TAILQ_FIRST(&fl->watches));
		upstream_release(fl->call);
		flight_free(fl);
	}
}

void fetch_free(struct fetch *f)
{
	fetch_forget(f);
	free(f);
}

/* Whether a request may be joined: it changes nothing, and is cheap to compare.
 * One that stands behind another call must not be sent before it (`behind`). */
static bool request_joinable(const struct upstream_request *req)
{
	return !(req->proc->flags & NFS_PROC_CHANGE) && !req->former &&
	       !req->hold && !req->alone && !req->behind;
}

static uint64_t request_hash(const struct upstream_request *req)
{
	uint64_t h =
	    hash_bytes(req->args.data, req->args.len, (uintptr_t)req->proc);

	return hash_bytes(req->cred->body.data, req->cred->body.len, h);
}

static bool view_equal(const struct xdr_view *a, const struct xdr_view *b)
{
	return a->len == b->len &&
	       (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool request_equal(
    const struct upstream_request *a, const struct upstream_request *b)
{
	return a->proc == b->proc && a->cred->flavor == b->cred->flavor &&
	       view_equal(&a->cred->body, &b->cred->body) &&
	       view_equal(&a->args, &b->args);
}

static struct fetch_flight *fetch_find(
    struct fetch *f, const struct upstream_request *req, uint64_t hash)
{
	struct fetch_flight *fl;

	LIST_FOREACH (fl, &f->join[hash & (JOIN_HASH_SIZE - 1)], join_link)
		if (fl->hash == hash && request_equal(&fl->req, req))
			return fl;
	return NULL;
}

/* Nobody joins the flight from now on, since its answer may be older than a
 * request that is still to come. */
static void flight_on_send(void *arg, const struct upstream_sent *sent)
{
	struct fetch_flight *fl = arg;
	struct fetch *f = fl->fetch;
	struct fetch_waiter *w = TAILQ_FIRST(&fl->waiters);
	struct linkest_mark former = fl->mark;
	bool again = fl->timed;

	flight_unjoin(fl);
	fl->timed = f->link && fl->req.proc->prog != MOUNT_PROGRAM;
	if (fl->timed)
		linkest_sent(
		    f->link, &fl->mark, fl->about.reply_bytes, sent->at_us);
	/* This comes last: a link whose reply is awaited is not silent. */
	if (again)
		linkest_lost(f->link, &former);
	if (f->on_send && fl->about.object)
		f->on_send(
		    f->on_send_ctx, &fl->req, fl->about.cred, sent->at_us);
	if (w->ops->on_send)
		w->ops->on_send(w, sent);
}

static void flight_on_distrust(void *arg, const struct upstream_sent *sent)
{
	struct fetch_flight *fl = arg;
	struct fetch_waiter *w = TAILQ_FIRST(&fl->waiters);

	if (w->ops->on_distrust)
		w->ops->on_distrust(w, sent);
}

static void flight_measure(
    struct fetch_flight *fl, const struct upstream_result *res)
{
	/* The reply to a call that was sent twice may be that to either
	 * sending, so it measures nothing. */
	if (!fl->timed || !res->rec || res->resent)
		return;
	fl->timed = false;
	linkest_received(fl->fetch->link, &fl->mark, res->rec->len,
	    res->sent_us + res->latency_us);
}

static void flight_on_reply(void *arg, const struct upstream_result *res)
{
	struct fetch_flight *fl = arg;
	struct fetch_waiters waiters = TAILQ_HEAD_INITIALIZER(waiters);
	struct fetch_watches watches = TAILQ_HEAD_INITIALIZER(watches);
	struct fetch_waiter *w;

	TAILQ_CONCAT(&waiters, &fl->waiters, link);
	fetch_take_watches(&fl->watches, &watches);
	flight_measure(fl, res);
	flight_free(fl);
	/* The first waiter last: the request that all share points into it. */
	while ((w = TAILQ_LAST(&waiters, fetch_waiters)) != NULL) {
		TAILQ_REMOVE(&waiters, w, link);
		w->flight = NULL;
		w->watched = !TAILQ_EMPTY(&watches);
		w->ops->on_reply(w, res);
	}
	fetch_ring(&watches);
}

static bool flight_on_doubt(void *arg)
{
	struct fetch_flight *fl = arg;
	struct fetch_waiter *w = TAILQ_FIRST(&fl->waiters);

	return w->ops->on_doubt && w->ops->on_doubt(w);
}

static const struct upstream_call_ops flight_ops = {
    .on_send = flight_on_send,
    .on_distrust = flight_on_distrust,
    .on_reply = flight_on_reply,
    .on_doubt = flight_on_doubt,
};

static void flight_add_waiter(struct fetch_flight *fl, struct fetch_waiter *w)
{
	w->flight = fl;
	TAILQ_INSERT_TAIL(&fl->waiters, w, link);
}

/* Lets others join the flight, if it could not go out at once. */
static void flight_offer(struct fetch_flight *fl)
{
	struct fetch *f = fl->fetch;

	if (!request_joinable(&fl->req) || upstream_call_sent(fl->call))
		return;
	fl->hash = request_hash(&fl->req);
	fl->joinable = true;
	LIST_INSERT_HEAD(
	    &f->join[fl->hash & (JOIN_HASH_SIZE - 1)], fl, join_link);
	f->joinable++;
}

static size_t about_place(const struct fetch_about *a)
{
	return hash_number(a->object) & (ABOUT_HASH_SIZE - 1);
}

static void flight_set_about(
    struct fetch_flight *fl, const struct fetch_about *about)
{
	fl->about.reply_bytes = FETCH_REPLY_BYTES;
	if (about)
		fl->about = *about;
	if (fl->about.object)
		LIST_INSERT_HEAD(
		    &fl->fetch->about[about_place(&fl->about)], fl, about_link);
}

static struct fetch_flight *flight_new(struct fetch *f,
    const struct upstream_request *req, const struct fetch_about *about)
{
	struct fetch_flight *fl = calloc(1, sizeof(*fl));

	if (!fl)
		return NULL;
	fl->fetch = f;
	fl->req = *req;
	TAILQ_INIT(&fl->waiters);
	TAILQ_INIT(&fl->watches);
	flight_set_about(fl, about);
	LIST_INSERT_HEAD(&f->flights, fl, link);
	f->in_flight++;
	return fl;
}

static struct upstream *fetch_route(
    const struct fetch *f, const struct nfs_proc *proc)
{
	return proc->prog == MOUNT_PROGRAM ? f->mount : f->nfs;
}

int fetch_start(struct fetch *f, const struct upstream_request *req,
    const struct fetch_about *about, struct fetch_waiter *w)
{
	struct fetch_flight *fl = NULL;

	if (f->joinable > 0 && request_joinable(req))
		fl = fetch_find(f, req, request_hash(req));
	if (fl) {
		flight_add_waiter(fl, w);
		metrics_add(f->metrics, METRICS_CALLS_JOINED, 1);
		return 0;
	}
	fl = flight_new(f, req, about);
	if (!fl)
		return -ENOMEM;
	flight_add_waiter(fl, w);
	fl->call =
	    upstream_send(fetch_route(f, req->proc), req, &flight_ops, fl);
	if (!fl->call) {
		w->flight = NULL;
		flight_free(fl);
		return -ENOMEM;
	}
	flight_offer(fl);
	return 0;
}

bool fetch_cancel(struct fetch *f, struct fetch_waiter *w)
{
	struct fetch_flight *fl = w->flight;
	bool first, alone;

	(void)f;
	if (!fl)
		return true;
	first = w == TAILQ_FIRST(&fl->waiters);
	alone = first && !TAILQ_NEXT(w, link);
	/* Without a call, upstream_send() has not returned yet and calls back
	 * from within. */
	if (!fl->call)
		return false;
	/* A flight that is watched cannot end here: whoever watches would be
	 * called in the middle of this. */
	if (first &&
	    (!alone || !TAILQ_EMPTY(&fl->watches) || !upstream_drop(fl->call)))
		return false;
	TAILQ_REMOVE(&fl->waiters, w, link);
	w->flight = NULL;
	if (alone)
		flight_free(fl);
	return true;
}

static bool about_covers(
    const struct fetch_about *a, const struct fetch_about *wanted)
{
	return a->object == wanted->object && a->proc == wanted->proc &&
	       a->cred == wanted->cred && a->from <= wanted->from &&
	       a->to >= wanted->to;
}

/* Returns the watches of a flight or claim that covers `a`; `*to` gets where
 * its range ends. NULL: there is none. */
static struct fetch_watches *about_find(
    struct fetch *f, const struct fetch_about *a, uint64_t *to)
{
	struct fetch_flight *fl;
	struct fetch_claim *c;
	unsigned looks = 0;

	LIST_FOREACH (fl, &f->about[about_place(a)], about_link) {
		if (about_covers(&fl->about, a)) {
			*to = fl->about.to;
			return &fl->watches;
		}
		if (++looks == LOOKS_MAX)
			break;
	}
	if (f->nclaims == 0)
		return NULL;
	looks = 0;
	LIST_FOREACH (c, &f->claims[about_place(a)], link) {
		if (about_covers(&c->about, a)) {
			*to = c->about.to;
			return &c->watches;
		}
		if (++looks == LOOKS_MAX)
			break;
	}
	return NULL;
}

void fetch_watch_list(struct fetch_watches *list, struct fetch_watch *watch)
{
	watch->list = list;
	TAILQ_INSERT_TAIL(list, watch, link);
}

bool fetch_watch(
    struct fetch *f, const struct fetch_about *about, struct fetch_watch *watch)
{
	uint64_t to;
	struct fetch_watches *list = about_find(f, about, &to);

	if (!list)
		return false;
	fetch_watch_list(list, watch);
	return true;
}

bool fetch_under_way(struct fetch *f, const struct fetch_about *about)
{
	uint64_t to;

	return about_find(f, about, &to) != NULL;
}

uint64_t fetch_under_way_to(struct fetch *f, const struct fetch_about *about)
{
	struct fetch_about at = *about;
	uint64_t to;

	/* Each step goes on behind a call that is under way: they are few. */
	while (at.from < about->to) {
		at.to = at.from + 1;
		if (!about_find(f, &at, &to))
			break;
		at.from = to;
	}
	return at.from < about->to ? at.from : about->to;
}

void fetch_unwatch(struct fetch_watch *watch)
{
	if (watch->list)
		TAILQ_REMOVE(watch->list, watch, link);
	watch->list = NULL;
}

void fetch_claim(
    struct fetch *f, struct fetch_claim *c, const struct fetch_about *about)
{
	c->about = *about;
	c->fetch = f;
	TAILQ_INIT(&c->watches);
	LIST_INSERT_HEAD(&f->claims[about_place(about)], c, link);
	f->nclaims++;
}

static void claim_remove(struct fetch_claim *c)
{
	LIST_REMOVE(c, link);
	c->fetch->nclaims--;
}

void fetch_claim_end(struct fetch_claim *c)
{
	claim_remove(c);
	fetch_ring(&c->watches);
}

void fetch_claim_drop(struct fetch_claim *c)
{
	claim_remove(c);
	while (!TAILQ_EMPTY(&c->watches))
		fetch_unwatch(TAILQ_FIRST(&c->watches));
}

uint64_t fetch_waited_us(const struct fetch_waiter *w, uint64_t now_us)
{
	const struct fetch_flight *fl = w->flight;

	return fl && fl->call ? upstream_call_waited_us(fl->call, now_us) : 0;
}

bool fetch_is_changing(struct fetch *f, uint64_t object)
{
	const struct fetch_about a = {.object = object};
	struct fetch_flight *fl;
	unsigned looks = 0;

	LIST_FOREACH (fl, &f->about[about_place(&a)], about_link) {
		if (fl->about.object == object &&
		    (fl->about.proc == NFSPROC3_WRITE ||
			fl->about.proc == NFSPROC3_SETATTR) &&
		    upstream_call_is_moving(fl->call, 0))
			return true;
		if (++looks == CHANGING_LOOKS_MAX)
			break;
	}
	return false;
}

void fetch_abandon(struct fetch_waiter *w)
{
	upstream_abandon(w->flight->call);
}

void fetch_resume(struct fetch_waiter *w)
{
	upstream_resume(w->flight->call);
}

void fetch_release(struct fetch_waiter *w)
{
	struct fetch_flight *fl = w->flight;

	/* Nobody joins a change, nor watches one. */
	assert(TAILQ_FIRST(&fl->waiters) == w && !TAILQ_NEXT(w, link) &&
	       TAILQ_EMPTY(&fl->watches));
	upstream_release(fl->call);
	w->flight = NULL;
	flight_free(fl);
}

const struct upstream_call *fetch_call(const struct fetch_waiter *w)
{
	return w->flight ? w->flight->call : NULL;
}

unsigned fetch_in_flight(const struct fetch *f)
{
	return f->in_flight;
}
