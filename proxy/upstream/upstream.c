/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls to one program of one server. The folder has all that talks to
 * servers; it uses link/, nfsproto and base/, and knows no cache.
 *
 *   fetch         flights: who waits for which call, who may join it
 *   upstream      calls: queued, sent, repeated, answered (this file);
 *                 upstream_conn.c connections, upstream_state.c what is told
 *   xprt, dial    records over a TCP connection; making one
 *   reply         what a reply says, decoded and checked
 *   resolve, portmap   where the server is; rpcbind: where we are
 *   netwatch, linkwatch   changes of the network; is the server away?
 *
 * A call moves like this:
 *
 *	upstream_send ─▶ queue ─▶ a connection's `sent` ─▶ reply
 *	                   ▲            │ the connection is lost
 *	                   ├────────────┤ idempotent: over any connection
 *	                   │            ▼ a change: over the same one again
 *	                   └ never   `pinned` ─▶ in doubt: `held` by its owner
 */
#include "upstream/upstream.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <event2/util.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "upstream/upstream_conn.h"

enum {
	HASH_SIZE = 4096, /* a power of two */
	TICK_US = 1000000,
	/*
	 * When a call is sent again on a connection that lives, as the server
	 * may have lost it: after 60 s, as the Linux client does over TCP
	 * (timeo, nfs(5)). A change or a WRITE that was repeated is sent again
	 * sooner: knfsd drops a copy of a call that it is still working on.
	 */
	TIMEO_US = 60000000,
	TIMEO_RESENT_US = 5000000,
	IDLE_CLOSE_US = 60000000,
	/* A record that takes longer is none: the longest one takes less over a
	 * link of 28 kbit/s. */
	RECORD_MAX_US = 300000000,
};

static struct upstream_call **hash_slot(struct upstream *up, uint32_t xid)
{
	struct upstream_call **slot = &up->hash[xid & (HASH_SIZE - 1)];

	while (*slot && (*slot)->xid != xid)
		slot = &(*slot)->hash_next;
	return slot;
}

static uint32_t upstream_new_xid(struct upstream *up)
{
	/* 0 stands for "never sent" in the reply cache's file (drc.h). */
	while (up->next_xid == 0 || *hash_slot(up, up->next_xid))
		up->next_xid++;
	return up->next_xid++;
}

/* Takes a call out of the list that it is in. */
static void call_unlink(struct upstream_call *call)
{
	switch (call->where) {
	case CALL_QUEUED:
		TAILQ_REMOVE(&call->up->queue[call->class], call, link);
		call->up->queued--;
		break;
	case CALL_PINNED:
		TAILQ_REMOVE(&call->conn->pinned, call, link);
		call->conn->waiting--;
		break;
	case CALL_SENT:
		TAILQ_REMOVE(&call->conn->sent, call, link);
		call->conn->in_flight--;
		break;
	case CALL_HELD:
		TAILQ_REMOVE(&call->up->held, call, link);
		break;
	}
}

static void call_free(struct upstream_call *call)
{
	struct upstream_call **slot = hash_slot(call->up, call->xid);

	*slot = call->hash_next;
	rbuf_unref(call->hold);
	free(call);
}

static void call_pin(struct upstream_call *call, bool head)
{
	struct upstream_calls *pinned = &call->conn->pinned;

	call->where = CALL_PINNED;
	call->waits_us = clock_now_us();
	if (head)
		TAILQ_INSERT_HEAD(pinned, call, link);
	else
		TAILQ_INSERT_TAIL(pinned, call, link);
	call->conn->waiting++;
}

void upstream_call_queue(struct upstream_call *call, bool head)
{
	struct upstream_calls *queue = &call->up->queue[call->class];

	call->where = CALL_QUEUED;
	call->waits_us = clock_now_us();
	if (head)
		TAILQ_INSERT_HEAD(queue, call, link);
	else
		TAILQ_INSERT_TAIL(queue, call, link);
	call->up->queued++;
}

/* Ends a call whose reply will never come. */
static void call_lost(struct upstream_call *call)
{
	const struct upstream_call_ops *ops = call->ops;
	struct upstream_result res = {.sent_us = call->first_us};
	void *arg = call->arg;

	if (call->sendings == 0)
		res.sent_us = clock_now_us();
	call_free(call);
	ops->on_reply(arg, &res);
}

void upstream_call_requeue(struct upstream_call *call)
{
	if (call->abandoned) {
		call_lost(call);
		return;
	}
	if (call->proc->flags & NFS_PROC_CHANGE)
		call_pin(call, true);
	else
		upstream_call_queue(call, true);
	if (call->conn->silent)
		call->waits_us = call->sent_us;
}

static enum upstream_class class_of(const struct nfs_proc *proc)
{
	if (proc->prog != NFS_PROGRAM)
		return CLASS_SMALL;
	switch (proc->proc) {
	case NFSPROC3_READ:
	case NFSPROC3_WRITE:
	case NFSPROC3_READDIR:
	case NFSPROC3_READDIRPLUS:
		return CLASS_BULK;
	default:
		return CLASS_SMALL;
	}
}

/* Returns, of the connections from `first` to `end` that can take a call, the
 * one with the least in flight; `*up_now` says whether any is up. */
static struct upstream_conn *pick_among(
    struct upstream *up, unsigned first, unsigned end, bool *up_now)
{
	struct upstream_conn *best = NULL;

	*up_now = false;
	for (unsigned i = first; i < end; i++) {
		struct upstream_conn *c = &up->conns[i];

		*up_now = *up_now || c->state == UPSTREAM_UP;
		if (upstream_conn_ready(c) &&
		    (!best || c->in_flight < best->in_flight))
			best = c;
	}
	return best;
}

/* Returns a connection of the class, or any other if all of those are down;
 * NULL where none can take a call. */
static struct upstream_conn *upstream_pick(
    struct upstream *up, enum upstream_class class)
{
	unsigned n = up->p.connections;
	bool bulk = class == CLASS_BULK && n > 1, up_now;
	struct upstream_conn *best =
	    pick_among(up, bulk ? 1 : 0, bulk ? n : 1, &up_now);

	return up_now ? best : pick_among(up, 0, n, &up_now);
}

static void pump_class(struct upstream *up, enum upstream_class class)
{
	struct upstream_call *call;
	struct upstream_conn *c;

	while ((call = TAILQ_FIRST(&up->queue[class])) != NULL &&
	       (c = upstream_pick(up, class)) != NULL) {
		call_unlink(call);
		upstream_conn_send(c, call);
	}
}

void upstream_pump(struct upstream *up)
{
	pump_class(up, CLASS_SMALL);
	pump_class(up, CLASS_BULK);
}

static void upstream_wake(struct upstream *up)
{
	for (unsigned i = 0; i < up->p.connections; i++)
		if (up->conns[i].state == UPSTREAM_IDLE)
			upstream_conn_start(&up->conns[i]);
}

/* Has a call from before a restart go out as it did then, so that the server's
 * reply cache knows it: under its XID, over its connection, with its first
 * time. */
static void call_resume(
    struct upstream_call *call, const struct upstream_sent *former)
{
	struct upstream *up = call->up;

	call->conn = &up->conns[former->conn % up->p.connections];
	call->source = former->source;
	call->sendings = 1;
	call->first_us = clock_now_us();
	call->waits_us = call->first_us;
	if (former->first_us != 0 && former->first_us < call->first_us)
		call->first_us = former->first_us;
	call->sent_us = call->first_us;
	if (*hash_slot(up, former->xid) == NULL)
		call->xid = former->xid;
	else
		call->doubtful = true;
}

/* Whether it can go now behind a call that was sent already; else both wait in
 * one queue. */
static bool goes_behind(const struct upstream_request *req)
{
	return !req->former && req->behind && req->behind->where == CALL_SENT &&
	       upstream_conn_ready(req->behind->conn);
}

struct upstream_call *upstream_send(struct upstream *up,
    const struct upstream_request *req, const struct upstream_call_ops *ops,
    void *arg)
{
	struct upstream_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->up = up;
	call->proc = req->proc;
	call->class = class_of(req->proc);
	call->cred = req->cred;
	call->args = req->args;
	call->hold = req->hold ? rbuf_ref(req->hold) : NULL;
	call->ops = ops;
	call->arg = arg;
	call->xid = upstream_new_xid(up);
	if (req->former)
		call_resume(call, req->former);
	else if (req->behind)
		call->class = req->behind->class;
	*hash_slot(up, call->xid) = call;
	if (goes_behind(req))
		upstream_conn_send(req->behind->conn, call);
	else if (!req->former)
		upstream_call_queue(call, false);
	else if (call->conn->state == UPSTREAM_UP)
		upstream_conn_send(call->conn, call);
	else
		call_pin(call, false);
	upstream_pump(up);
	upstream_wake(up);
	return call;
}

bool upstream_call_hold(struct upstream_call *call)
{
	if (!call->ops->on_doubt || call->checked)
		return false;
	call->where = CALL_HELD;
	TAILQ_INSERT_TAIL(&call->up->held, call, link);
	if (call->ops->on_doubt(call->arg))
		return true;
	TAILQ_REMOVE(&call->up->held, call, link);
	return false;
}

void upstream_resume(struct upstream_call *call)
{
	call_unlink(call);
	if (call->conn->state != UPSTREAM_UP) {
		/* By the time it can be sent, what its owner saw may have
		 * changed; so on_doubt() will ask again. */
		call_pin(call, false);
		return;
	}
	call->checked = true;
	upstream_conn_send(call->conn, call);
}

void upstream_release(struct upstream_call *call)
{
	call_unlink(call);
	call_free(call);
}

bool upstream_call_sent(const struct upstream_call *call)
{
	return call->sendings > 0;
}

void upstream_abandon(struct upstream_call *call)
{
	/* A call that waits to be sent, or sent again, can be forgotten. */
	if (call->where != CALL_SENT) {
		call_unlink(call);
		call_lost(call);
		return;
	}
	call->abandoned = true;
	rbuf_unref(call->hold);
	call->hold = NULL;
	call->args = (struct xdr_view){0};
}

bool upstream_drop(struct upstream_call *call)
{
	if ((call->proc->flags & NFS_PROC_DRC) && call->sendings > 0)
		return false;
	call_unlink(call);
	call_free(call);
	return true;
}

static void upstream_bad_reply(struct upstream_conn *c, const char *why)
{
	metrics_add(c->up->p.metrics, METRICS_UPSTREAM_BAD_REPLIES, 1);
	upstream_conn_reset(c, why, false);
}

/* Notes whether the server has the program. NFSACL does not count: many servers
 * do without. */
static void note_served(struct upstream *up, const struct nfs_proc *proc,
    const struct rpc_reply *rpc)
{
	if (proc->prog == NFSACL_PROGRAM || !rpc->accepted)
		return;
	up->served = rpc->status == PROG_MISMATCH || rpc->status == PROG_UNAVAIL
			 ? UPSTREAM_UNSERVED
			 : UPSTREAM_SERVED;
	up->least = rpc->low;
}

static void upstream_finish(struct upstream_call *call,
    const struct record *rec, const struct rpc_reply *rpc)
{
	struct upstream *up = call->up;
	const struct upstream_call_ops *ops = call->ops;
	void *arg = call->arg;
	struct upstream_result res = {.rec = rec,
	    .rpc = rpc,
	    .doubtful = call->doubtful,
	    .resent = call->sendings > 1};
	bool ok = rpc->accepted && rpc->status == SUCCESS;
	struct metrics_call mc = {
	    .bytes_in = rec->len, .bytes_out = call->args.len, .error = !ok};

	res.sent_us = call->first_us;
	res.latency_us = clock_now_us() - call->first_us;
	mc.latency_us = res.latency_us;
	if (ok && (call->proc->flags & NFS_PROC_STATUS))
		mc.error = rpc->body.len < 4 ||
			   memcmp(rpc->body.data, "\0\0\0\0", 4) != 0;
	if (!ok)
		metrics_add(up->p.metrics, METRICS_UPSTREAM_RPC_ERRORS, 1);
	note_served(up, call->proc, rpc);
	metrics_add_call(up->p.metrics, METRICS_UPSTREAM, call->proc->prog,
	    call->proc->proc, &mc);
	call_unlink(call);
	call_free(call);
	ops->on_reply(arg, &res);
}

void upstream_on_record(struct upstream_conn *c, const struct record *rec)
{
	struct upstream *up = c->up;
	struct upstream_call *call;
	struct rpc_reply rpc;
	uint64_t received_us = rec->received_us;

	if (!rpc_reply_decode(rec->data, rec->len, &rpc)) {
		upstream_bad_reply(c, "a record that is not an RPC reply");
		return;
	}
	call = *hash_slot(up, rpc.xid);
	if (!call || call->where != CALL_SENT || call->conn != c) {
		metrics_add(up->p.metrics, METRICS_UPSTREAM_UNKNOWN_XID, 1);
		return;
	}
	c->answered = true;
	c->backoff_us = UPSTREAM_BACKOFF_FIRST_US;
	upstream_finish(call, rec, &rpc);
	if (c->in_flight == 0)
		c->idle_since_us = received_us;
	if (up->queued > 0)
		upstream_pump(up);
}

static uint64_t call_timeo_us(const struct upstream_call *call)
{
	uint64_t timeo = TIMEO_RESENT_US;

	if (call->sendings <= 1 || !(call->proc->flags & NFS_PROC_DRC))
		return TIMEO_US;
	for (unsigned i = 2; i < call->sendings && timeo < TIMEO_US; i++)
		timeo *= 2;
	return timeo < TIMEO_US ? timeo : TIMEO_US;
}

/* Sends again what has waited too long; over a new connection if this one has
 * been silent since the call was sent. */
static void conn_check_timeouts(struct upstream_conn *c, uint64_t now_us)
{
	struct upstream_call *call, *next;
	unsigned n = c->in_flight;

	for (call = TAILQ_FIRST(&c->sent); call && n-- > 0; call = next) {
		next = TAILQ_NEXT(call, link);
		/* A call that this tick has sent again is younger than now_us.
		 */
		if (now_us < call->sent_us + call_timeo_us(call))
			continue;
		metrics_add(c->up->p.metrics, METRICS_UPSTREAM_TIMEOUTS, 1);
		if (xprt_last_rx_us(c->xprt) < call->sent_us) {
			upstream_conn_reset(c, "no answer", true);
			return;
		}
		call_unlink(call);
		if (call->abandoned)
			call_lost(call);
		else
			upstream_conn_send(c, call);
		if (c->state != UPSTREAM_UP)
			return;
	}
}

/* Whether the connection is out of step: a wrong length has it take all bytes
 * that come for a part of one record. */
static bool conn_is_out_of_step(const struct upstream_conn *c, uint64_t now_us)
{
	uint64_t since_us = xprt_partial_since_us(c->xprt);

	return since_us != 0 && now_us - since_us >= RECORD_MAX_US;
}

/*
 * Whether a change lies in the kernel's buffer, or waits behind it, while the
 * server acknowledges nothing. The kernel would send it by itself when the link
 * is back, however long after its client gave up.
 */
static bool conn_keeps_change(const struct upstream_conn *c, uint64_t now_us)
{
	const struct upstream_call *call;

	if (!dial_stalls(xprt_fd(c->xprt)))
		return false;
	TAILQ_FOREACH (call, &c->sent, link)
		if ((call->proc->flags & NFS_PROC_CHANGE) &&
		    now_us > call->sent_us + UPSTREAM_LATE_US)
			return true;
	TAILQ_FOREACH (call, &c->up->queue[CLASS_SMALL], link)
		if (call->proc->flags & NFS_PROC_CHANGE)
			return true;
	return false;
}

static void upstream_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct upstream *up = arg;
	uint64_t now_us = clock_now_us();

	(void)fd;
	(void)what;
	/* If memory ran out, it may be that nobody looks for the address any
	 * more, so the owner is asked to at each tick. */
	if (up->addr.ss_family == 0)
		up->p.on_unreachable(up->p.ctx);
	for (unsigned i = 0; i < up->p.connections; i++) {
		struct upstream_conn *c = &up->conns[i];

		/* If memory ran out, there may be no timer for the next try
		 * either. */
		if (c->state == UPSTREAM_DOWN &&
		    !event_pending(c->ev_retry, EV_TIMEOUT, NULL))
			upstream_conn_start(c);
		if (c->state != UPSTREAM_UP)
			continue;
		c->silent =
		    c->in_flight > 0 && (dial_silent(xprt_fd(c->xprt)) ||
					    conn_keeps_change(c, now_us));
		if (c->silent)
			upstream_conn_reset(c, "the server is silent", true);
		else if (c->in_flight > 0 && conn_is_out_of_step(c, now_us))
			upstream_conn_reset(c, "a record took too long", true);
		else if (c->in_flight > 0)
			conn_check_timeouts(c, now_us);
		else if (up->p.lazy &&
			 now_us - c->idle_since_us > IDLE_CLOSE_US)
			upstream_conn_close_idle(c);
	}
}

static bool upstream_init(struct upstream *up)
{
	struct timeval tick = clock_timeval(TICK_US);

	TAILQ_INIT(&up->queue[CLASS_SMALL]);
	TAILQ_INIT(&up->queue[CLASS_BULK]);
	TAILQ_INIT(&up->held);
	up->hash = calloc(HASH_SIZE, sizeof(struct upstream_call *));
	up->conns = calloc(up->p.connections, sizeof(*up->conns));
	up->ev_tick =
	    event_new(up->p.base, -1, EV_PERSIST, upstream_on_tick, up);
	if (!up->hash || !up->conns || !up->ev_tick)
		return false;
	for (unsigned i = 0; i < up->p.connections; i++)
		if (!upstream_conn_init(&up->conns[i], up, i))
			return false;
	evutil_secure_rng_get_bytes(&up->next_xid, sizeof(up->next_xid));
	up->since_us = clock_now_us();
	return event_add(up->ev_tick, &tick) == 0;
}

struct upstream *upstream_new(const struct upstream_params *p)
{
	struct upstream *up = calloc(1, sizeof(*up));

	if (!up)
		return NULL;
	up->p = *p;
	if (!upstream_init(up)) {
		upstream_free(up);
		return NULL;
	}
	return up;
}

static void upstream_free_calls(struct upstream_calls *list)
{
	struct upstream_call *call;

	while ((call = TAILQ_FIRST(list)) != NULL) {
		call_unlink(call);
		call_free(call);
	}
}

void upstream_free(struct upstream *up)
{
	if (!up)
		return;
	for (unsigned i = 0; up->conns && i < up->p.connections; i++) {
		upstream_free_calls(&up->conns[i].sent);
		upstream_free_calls(&up->conns[i].pinned);
		upstream_conn_fini(&up->conns[i]);
	}
	upstream_free_calls(&up->queue[CLASS_SMALL]);
	upstream_free_calls(&up->queue[CLASS_BULK]);
	upstream_free_calls(&up->held);
	if (up->ev_tick)
		event_free(up->ev_tick);
	free(up->conns);
	free(up->hash);
	free(up);
}
