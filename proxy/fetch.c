/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "metrics.h"

enum { JOIN_HASH_SIZE = 1024 }; /* a power of two */

TAILQ_HEAD(fetch_waiters, fetch_waiter);
LIST_HEAD(fetch_flights, fetch_flight);

struct fetch_flight {
	LIST_ENTRY(fetch_flight) link;
	LIST_ENTRY(fetch_flight) join_link; /* while `joinable` */
	struct fetch *fetch;
	struct upstream_call *call;
	struct upstream_request req;
	struct fetch_waiters waiters; /* the first one keeps the request */
	uint64_t hash;
	bool joinable;
};

struct fetch {
	struct upstream *nfs;
	struct upstream *mount;
	struct metrics *metrics;
	struct fetch_flights flights;
	struct fetch_flights join[JOIN_HASH_SIZE];
	unsigned joinable;
	unsigned in_flight;
};

struct fetch *fetch_new(
    struct upstream *nfs, struct upstream *mount, struct metrics *metrics)
{
	struct fetch *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->nfs = nfs;
	f->mount = mount;
	f->metrics = metrics;
	return f;
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
	LIST_REMOVE(fl, link);
	fl->fetch->in_flight--;
	free(fl);
}

void fetch_free(struct fetch *f)
{
	if (!f)
		return;
	while (!LIST_EMPTY(&f->flights))
		flight_free(LIST_FIRST(&f->flights));
	free(f);
}

/* Only what changes nothing, and is cheap to compare. */
static bool request_joinable(const struct upstream_request *req)
{
	return !(req->proc->flags & NFS_PROC_CHANGE) && !req->former &&
	       !req->hold && !req->alone;
}

static uint64_t request_hash(const struct upstream_request *req)
{
	uint64_t h = XXH3_64bits_withSeed(
	    req->args.data, req->args.len, (uintptr_t)req->proc);

	return XXH3_64bits_withSeed(
	    req->cred->body.data, req->cred->body.len, h);
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

static void flight_on_send(void *arg, const struct upstream_sent *sent)
{
	struct fetch_flight *fl = arg;
	struct fetch_waiter *w = TAILQ_FIRST(&fl->waiters);

	flight_unjoin(fl);
	if (w->ops->on_send)
		w->ops->on_send(w, sent);
}

static void flight_on_reply(void *arg, const struct upstream_result *res)
{
	struct fetch_flight *fl = arg;
	struct fetch_waiters waiters = TAILQ_HEAD_INITIALIZER(waiters);
	struct fetch_waiter *w;

	TAILQ_CONCAT(&waiters, &fl->waiters, link);
	flight_free(fl);
	/* The first one last: it keeps what the others were asking. */
	while ((w = TAILQ_LAST(&waiters, fetch_waiters)) != NULL) {
		TAILQ_REMOVE(&waiters, w, link);
		w->flight = NULL;
		w->ops->on_reply(w, res);
	}
}

static const struct upstream_call_ops flight_ops = {
    .on_send = flight_on_send,
    .on_reply = flight_on_reply,
};

static void flight_add_waiter(struct fetch_flight *fl, struct fetch_waiter *w)
{
	w->flight = fl;
	TAILQ_INSERT_TAIL(&fl->waiters, w, link);
}

/* Make it known to those that may join, if it could not go out at once. */
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

static struct fetch_flight *flight_new(
    struct fetch *f, const struct upstream_request *req)
{
	struct fetch_flight *fl = calloc(1, sizeof(*fl));

	if (!fl)
		return NULL;
	fl->fetch = f;
	fl->req = *req;
	TAILQ_INIT(&fl->waiters);
	LIST_INSERT_HEAD(&f->flights, fl, link);
	f->in_flight++;
	return fl;
}

static struct upstream *fetch_route(
    const struct fetch *f, const struct nfs_proc *proc)
{
	return proc->prog == MOUNT_PROGRAM ? f->mount : f->nfs;
}

int fetch_start(
    struct fetch *f, const struct upstream_request *req, struct fetch_waiter *w)
{
	struct fetch_flight *fl = NULL;

	if (f->joinable > 0 && request_joinable(req))
		fl = fetch_find(f, req, request_hash(req));
	if (fl) {
		flight_add_waiter(fl, w);
		metrics_add(f->metrics, METRICS_CALLS_JOINED, 1);
		return 0;
	}
	fl = flight_new(f, req);
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
	bool first = w == TAILQ_FIRST(&fl->waiters);
	bool alone = first && !TAILQ_NEXT(w, link);

	(void)f;
	if (first && (!alone || !upstream_drop(fl->call)))
		return false;
	TAILQ_REMOVE(&fl->waiters, w, link);
	w->flight = NULL;
	if (alone)
		flight_free(fl);
	return true;
}

void fetch_abandon(struct fetch_waiter *w)
{
	upstream_abandon(w->flight->call);
}

unsigned fetch_in_flight(const struct fetch *f)
{
	return f->in_flight;
}
