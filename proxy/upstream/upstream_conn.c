/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection to the server.
 *
 *	IDLE ──start──▶ CONNECTING ──▶ UP
 *	                  ▲    │        │ lost, silent, garbage
 *	           backoff│    ▼failed  ▼
 *	                  └── DOWN ◀────┘
 *
 * DOWN lasts 0.1 s, doubling up to 5 s, each time between half and one and a
 * half of that; but a connection that had answered before it was lost is made
 * again at once. CONNECTING gives up after 5 s. A failure has resolve.c look
 * again, every 5 s at most, and take the host's next address. The upstream of
 * MOUNT is lazy: IDLE until there is a call, and again after 60 s without one.
 *
 * A call waits 60 s for its reply; the repeats of a change or a WRITE wait 5,
 * 10, 20, 40, 60 s. If nothing was received since it was sent, the connection
 * is made anew; else the call is sent again over it. It is made anew, too,
 * where the server acknowledges nothing (dial_silent()), and where a record has
 * been under way for five minutes: a wrong length swallows the replies behind
 * it. When a connection is lost, changes that were sent go to `pinned`, others
 * to the head of the queue, both in their order.
 *
 * upstream.c decides which call goes where, and looks at each connection once a
 * second; this file makes connections, and sends and takes back calls.
 */
#include "upstream/upstream_conn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <event2/event.h>
#include <event2/util.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/netmatch.h"

enum {
	CONNECT_TIMEOUT_US = 5000000,
	BACKOFF_LAST_US = 5000000,
	/*
	 * Bytes that may wait to be sent in one connection. Calls that stay in
	 * the queue can still be dropped, or go over another connection.
	 */
	BACKLOG_MAX_BYTES = 256 << 10,
	/* A repeat that comes later than this after the first sending is in
	 * doubt: servers keep replies for little longer (knfsd: 120 s). */
	SERVER_REPLIES_US = 100000000,
	/* So is one that comes later than this after the last sending: the
	 * server may have been rebooted, which takes longer. */
	SERVER_RESTART_US = 10000000,
};

static void conn_on_record(void *ctx, const struct record *rec);
static void conn_on_end(void *ctx, enum xprt_end end, const char *why);
static void conn_on_sent(void *ctx, size_t bytes);
static void conn_on_received(
    void *ctx, size_t bytes, bool begun, uint64_t now_us);
static void conn_on_read(void *ctx);

static const struct xprt_ops conn_xprt_ops = {
    .on_record = conn_on_record,
    .on_end = conn_on_end,
    .on_sent = conn_on_sent,
    .on_received = conn_on_received,
    .on_read = conn_on_read,
};

static void conn_set_state(struct upstream_conn *c, enum upstream_state state)
{
	c->state = state;
	upstream_state_changed(c->up);
}

/* Waits before the next try, longer each time, or tries `now`, from the event
 * loop. The time is random, so that not all clients of a server try at the same
 * moment. */
static void conn_retry_later(struct upstream_conn *c, bool now)
{
	struct timeval tv = {0, 0};
	uint32_t random;

	if (!now) {
		evutil_secure_rng_get_bytes(&random, sizeof(random));
		tv = clock_timeval(c->backoff_us / 2 + random % c->backoff_us);
		c->backoff_us *= 2;
		if (c->backoff_us > BACKOFF_LAST_US)
			c->backoff_us = BACKOFF_LAST_US;
	}
	conn_set_state(c, UPSTREAM_DOWN);
	event_add(c->ev_retry, &tv);
}

static void conn_tell_back(const struct upstream_conn *c)
{
	const struct upstream_params *p = &c->up->p;

	if (p->on_back)
		p->on_back(p->ctx);
}

/*
 * Gives up on a connection that cannot be had for long while another one is up:
 * changes that wait for it go over that one. They are doubtful then, by their
 * source.
 */
static void conn_give_up_pinned(struct upstream_conn *c)
{
	struct upstream_call *call;

	if (c->backoff_us < BACKOFF_LAST_US || c->up->state != UPSTREAM_UP)
		return;
	conn_tell_back(c);
	while ((call = TAILQ_FIRST(&c->pinned)) != NULL) {
		TAILQ_REMOVE(&c->pinned, call, link);
		c->waiting--;
		upstream_call_queue(call, false);
	}
	upstream_pump(c->up);
}

/* Notes for the status who did not answer, and what that may mean. */
static void note_failure(struct upstream *up, int err)
{
	char text[sizeof(up->last_error)], to[NETMATCH_TEXT_MAX];
	const char *hint = "";

	netmatch_format((const struct sockaddr *)&up->addr, to);
	if (err == ECONNREFUSED)
		hint = ": nothing listens there";
	else if (err == ETIMEDOUT)
		hint = ": is it switched on, or is a firewall in between?";
	snprintf(text, sizeof(text), "cannot connect to %s: %s%s", to,
	    strerror(err), hint);
	upstream_set_error(up, text);
}

/* Marks the changes that wait for this connection as doubtful, since it could
 * not be made: the server may have been restarted. The owners hear of it,
 * because a daemon that comes after this one would not know. */
static void conn_distrust_pinned(struct upstream_conn *c)
{
	struct upstream_call *call;

	TAILQ_FOREACH (call, &c->pinned, link) {
		struct upstream_sent sent = {.xid = call->xid,
		    .conn = (uint16_t)c->index,
		    .at_us = call->sent_us,
		    .first_us = call->first_us};

		if (call->doubtful)
			continue;
		call->doubtful = true;
		if (call->ops->on_distrust)
			call->ops->on_distrust(call->arg, &sent);
	}
}

static void conn_failed(struct upstream_conn *c, int err)
{
	struct upstream *up = c->up;

	metrics_add(up->p.metrics, METRICS_UPSTREAM_CONNECT_FAILURES, 1);
	note_failure(up, err);
	if (up->failures++ == 0)
		log_warn("upstream server=%s program=%s: cannot connect: %s; "
			 "retrying",
		    up->p.name, up->p.program, strerror(err));
	up->failed_us = clock_now_us();
	conn_distrust_pinned(c);
	conn_retry_later(c, false);
	conn_give_up_pinned(c);
	up->p.on_unreachable(up->p.ctx);
}

static void conn_send_pinned(struct upstream_conn *c)
{
	struct upstream_call *call;

	/* Sending may fail, and then all calls come back to this list. */
	while (c->state == UPSTREAM_UP &&
	       (call = TAILQ_FIRST(&c->pinned)) != NULL) {
		TAILQ_REMOVE(&c->pinned, call, link);
		c->waiting--;
		upstream_conn_send(c, call);
	}
}

/* The connection is made, or could not be. Pinned changes go out first, and
 * then the owner may drop others (on_back()), before the queue is sent. */
static void conn_on_dialed(void *arg, int fd, int err)
{
	struct upstream_conn *c = arg;
	struct upstream *up = c->up;

	c->dial = NULL;
	if (err) {
		conn_failed(c, err);
		return;
	}
	c->xprt = xprt_new(up->p.base, fd, up->p.pool, &conn_xprt_ops, c);
	if (!c->xprt) {
		evutil_closesocket(fd);
		conn_failed(c, ENOMEM);
		return;
	}
	c->port = dial_local_port(fd);
	c->source = dial_source(fd);
	c->connected_us = clock_now_us();
	c->answered = false;
	c->idle_since_us = clock_now_us();
	c->silent = false;
	up->failures = 0;
	metrics_add(up->p.metrics, METRICS_UPSTREAM_CONNECTS, 1);
	log_info("upstream server=%s program=%s connection=%u port=%u: "
		 "connected",
	    up->p.name, up->p.program, c->index, c->port);
	up->p.on_port(up->p.ctx, c->index, c->port);
	conn_set_state(c, UPSTREAM_UP);
	conn_send_pinned(c);
	conn_tell_back(c);
	upstream_pump(up);
}

void upstream_conn_start(struct upstream_conn *c)
{
	struct upstream *up = c->up;

	if (c->dial || c->xprt || up->addr.ss_family == 0)
		return;
	event_del(c->ev_retry);
	c->dial = dial_start(up->p.base, (struct sockaddr *)&up->addr, c->port,
	    CONNECT_TIMEOUT_US, conn_on_dialed, c);
	if (c->dial)
		conn_set_state(c, UPSTREAM_CONNECTING);
	else
		conn_failed(c, errno);
}

static void conn_on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct upstream_conn *c = arg;

	(void)fd;
	(void)what;
	if (c->up->p.lazy && c->up->queued == 0 && c->waiting == 0)
		upstream_conn_close_idle(c);
	else
		upstream_conn_start(c);
}

/* Takes back the calls that were sent and not answered, to be sent again. */
static void conn_take_back(struct upstream_conn *c)
{
	struct upstream_call *call;

	/* The last comes first, since each is put at the head. */
	while ((call = TAILQ_LAST(&c->sent, upstream_calls)) != NULL) {
		TAILQ_REMOVE(&c->sent, call, link);
		c->in_flight--;
		upstream_call_requeue(call);
	}
}

/* Closes whatever there is of the connection. */
static void conn_hang_up(struct upstream_conn *c)
{
	dial_cancel(c->dial);
	c->dial = NULL;
	if (c->xprt)
		tcploss_add(xprt_fd(c->xprt), &c->up->loss);
	xprt_free(c->xprt);
	c->xprt = NULL;
	event_del(c->ev_retry);
}

void upstream_conn_reset(struct upstream_conn *c, const char *why, bool now)
{
	struct upstream *up = c->up;

	if (c->xprt) {
		metrics_add(up->p.metrics, METRICS_UPSTREAM_DISCONNECTS, 1);
		log_warn("upstream server=%s program=%s connection=%u "
			 "in_flight=%u: %s",
		    up->p.name, up->p.program, c->index, c->in_flight, why);
	}
	upstream_set_error(up, why);
	conn_hang_up(c);
	/* The state changes first of all, so that nobody who is called from
	 * here uses the connection. */
	conn_set_state(c, UPSTREAM_DOWN);
	conn_take_back(c);
	conn_retry_later(c, now);
	upstream_pump(up);
}

void upstream_conn_close_idle(struct upstream_conn *c)
{
	conn_hang_up(c);
	conn_set_state(c, UPSTREAM_IDLE);
}

/* The connection is over. One without calls, of a lazy upstream, need not be
 * made again; one that had answered a call is, at once. */
static void conn_on_end(void *ctx, enum xprt_end end, const char *why)
{
	struct upstream_conn *c = ctx;
	bool quiet = c->up->p.lazy && c->in_flight == 0 && c->waiting == 0 &&
		     c->up->queued == 0;

	if (end == XPRT_END_RECORD)
		metrics_add(c->up->p.metrics, METRICS_UPSTREAM_BAD_REPLIES, 1);
	if (quiet)
		upstream_conn_close_idle(c);
	else
		upstream_conn_reset(c, why, c->answered);
}

static void conn_on_record(void *ctx, const struct record *rec)
{
	struct upstream_conn *c = ctx;

	upstream_on_record(c, rec);
}

static void conn_on_sent(void *ctx, size_t bytes)
{
	struct upstream_conn *c = ctx;

	(void)bytes;
	if (c->up->queued > 0)
		upstream_pump(c->up);
}

static void conn_on_received(
    void *ctx, size_t bytes, bool begun, uint64_t now_us)
{
	const struct upstream_params *p = &((struct upstream_conn *)ctx)->up->p;

	if (p->on_received)
		p->on_received(p->ctx, bytes, begun, now_us);
}

static void conn_on_read(void *ctx)
{
	const struct upstream_params *p = &((struct upstream_conn *)ctx)->up->p;

	if (p->on_read)
		p->on_read(p->ctx);
}

bool upstream_conn_ready(const struct upstream_conn *c)
{
	return c->state == UPSTREAM_UP &&
	       xprt_queued_bytes(c->xprt) < BACKLOG_MAX_BYTES;
}

/*
 * Whether the server's reply cache may not know a call that is repeated over
 * this connection. It knows one by XID and source for some minutes (knfsd:
 * 120 s), while it is not restarted. Restarts show by connections that fail,
 * or by nothing at all, where the link was down, too: then they take a while.
 */
static bool repeat_is_doubtful(
    const struct upstream_call *call, const struct upstream_conn *c)
{
	uint64_t now_us;

	/* A server that has kept the connection has kept its replies. */
	if (call->sendings == 0 || !(call->proc->flags & NFS_PROC_DRC) ||
	    (call->source == c->source &&
		call->connected_us == c->connected_us))
		return false;
	now_us = clock_now_us();
	return call->source != c->source ||
	       call->sent_us < call->up->failed_us ||
	       now_us - call->first_us > SERVER_REPLIES_US ||
	       now_us - call->sent_us > SERVER_RESTART_US ||
	       now_us - call->waits_us > UPSTREAM_LATE_US;
}

static void count_sending(
    struct upstream_call *call, const struct upstream_conn *c)
{
	struct metrics *m = call->up->p.metrics;

	call->checked = false;
	if (call->sendings++ == 0)
		return;
	metrics_add(m, METRICS_UPSTREAM_RESENT, 1);
	if (call->source != c->source)
		metrics_add(m, METRICS_UPSTREAM_RESENT_OTHER_PORT, 1);
}

void upstream_conn_send(struct upstream_conn *c, struct upstream_call *call)
{
	unsigned char head[RPC_CALL_HEADER_MAX];
	struct rpc_call rpc = {.xid = call->xid,
	    .prog = call->proc->prog,
	    .vers = call->proc->vers,
	    .proc = call->proc->proc,
	    .cred = *call->cred};
	struct upstream_sent sent = {
	    .xid = call->xid, .conn = (uint16_t)c->index};
	struct rbuf_piece args = {
	    .data = call->args.data, .len = call->args.len, .hold = call->hold};
	size_t len = rpc_call_encode(&rpc, head, sizeof(head));

	call->conn = c;
	if (repeat_is_doubtful(call, c))
		call->doubtful = true;
	if (call->doubtful && upstream_call_hold(call))
		return;
	count_sending(call, c);
	call->sent_us = clock_now_us();
	if (call->sendings == 1)
		call->first_us = call->sent_us;
	call->source = c->source;
	call->connected_us = c->connected_us;
	/* A call in doubt is still in doubt after a restart of the proxy. */
	sent.source = call->doubtful ? 0 : c->source;
	sent.at_us = call->sent_us;
	sent.first_us = call->first_us;
	call->where = CALL_SENT;
	TAILQ_INSERT_TAIL(&c->sent, call, link);
	c->in_flight++;
	if (call->ops->on_send)
		call->ops->on_send(call->arg, &sent);
	if (!xprt_queue(c->xprt, head, len, &args, 1))
		upstream_conn_reset(c, "out of memory", false);
}

bool upstream_conn_init(
    struct upstream_conn *c, struct upstream *up, unsigned index)
{
	c->up = up;
	c->index = index;
	c->state = UPSTREAM_NO_ADDRESS;
	c->backoff_us = UPSTREAM_BACKOFF_FIRST_US;
	TAILQ_INIT(&c->sent);
	TAILQ_INIT(&c->pinned);
	c->ev_retry = evtimer_new(up->p.base, conn_on_retry, c);
	return c->ev_retry != NULL;
}

void upstream_conn_fini(struct upstream_conn *c)
{
	if (!c->ev_retry)
		return;
	conn_hang_up(c);
	event_free(c->ev_retry);
}
