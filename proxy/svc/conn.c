/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client's connection between its transport (xprt.h) and svc. It is read from
 * while there is room, and asks its owner to close it when the client breaks
 * the rules of conn.h.
 *
 * xprt calls conn_on_record(), which hands the record to svc; svc replies by
 * client_send() and says by client_done() that a call is over. Whenever one of
 * these changes how much the client holds, conn_update() decides anew whether
 * to read on.
 */
#include "svc/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/uint.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/netmatch.h"
#include "svc/room.h"
#include "svc/svc.h"
#include "upstream/dial.h"
#include "upstream/xprt.h"

struct conn {
	/* Must be first: svc gives its callbacks this. */
	struct svc_client client;
	struct conn_params p;
	struct xprt *xprt;
	struct room_part room;
	uint64_t since_us;
	uint64_t taken_us;   /* when the client last took some of its replies */
	uint64_t seen_bytes; /* xprt_sent_bytes() when that was noted */
	bool full;           /* not read from, until there is room */
	bool draining;       /* not read from any more */
	bool closing;
	char peer[NETMATCH_TEXT_MAX];
};

static size_t conn_bytes(const struct conn *conn)
{
	return conn->client.bytes + xprt_queued_bytes(conn->xprt);
}

/* Stops reading or goes on, as there is room. A client that is not read from is
 * held up by TCP, and no call of it is lost. */
static void conn_update(struct conn *conn)
{
	size_t bytes = conn_bytes(conn);
	bool full;

	room_set(conn->p.room, &conn->room, bytes);
	if (conn->closing)
		return;
	full = conn->client.calls >= CONN_CALLS_MAX ||
	       bytes >= CONN_BYTES_MAX || !room_ask(conn->p.room, &conn->room);
	if (full && !conn->full)
		metrics_add(conn->p.metrics, METRICS_READS_STOPPED, 1);
	conn->full = full;
	xprt_pause(conn->xprt, full || conn->draining);
}

static void conn_on_room(struct room_part *part)
{
	conn_update(container_of(part, struct conn, room));
}

/* Asks the owner to close it, once. Nothing more is read; the owner frees it
 * when no callback of it is running any more. */
static void conn_close(struct conn *conn)
{
	if (conn->closing)
		return;
	conn->closing = true;
	room_leave(conn->p.room, &conn->room);
	xprt_pause(conn->xprt, true);
	conn->p.on_close(conn->p.ctx, conn);
}

static void conn_close_bad(
    struct conn *conn, enum metrics_counter counter, const char *why)
{
	unsigned suppressed;

	metrics_add(conn->p.metrics, counter, 1);
	if (log_limit_ok(conn->p.closed, clock_now_us(), &suppressed))
		log_warn("conn client=%s suppressed=%u: closed: %s", conn->peer,
		    suppressed, why);
	conn_close(conn);
}

static void client_send(struct svc_client *client, const void *head,
    size_t head_len, const struct rbuf_piece *pieces, unsigned n)
{
	struct conn *conn = (struct conn *)client;

	/* Without memory for a reply the stream is broken, and the client must
	 * not take the next one for it. What is queued still has its owner, so
	 * the connection ends when the socket does. */
	if (!xprt_queue(conn->xprt, head, head_len, pieces, n))
		shutdown(xprt_fd(conn->xprt), SHUT_RDWR);
}

static void client_done(struct svc_client *client)
{
	conn_update((struct conn *)client);
}

static void client_reject(struct svc_client *client, const char *why)
{
	struct conn *conn = (struct conn *)client;

	conn_close_bad(conn, METRICS_CONNECTIONS_CLOSED_BAD_RECORD, why);
}

static const struct svc_client_ops client_ops = {
    .send = client_send,
    .done = client_done,
    .reject = client_reject,
};

static void conn_on_record(void *ctx, const struct record *rec)
{
	struct conn *conn = ctx;
	unsigned calls = conn->client.calls;

	svc_receive(conn->p.svc, &conn->client, rec);
	/* If the call was answered at once, client_done() has done this
	 * already. */
	if (conn->client.calls != calls)
		conn_update(conn);
}

/* The disk under a reply failed. The socket took nothing, so the bytes that
 * cannot be read are among the first ones. The client will connect and ask
 * again, and must not find them in the cache then. */
static void conn_on_fault(struct conn *conn)
{
	enum { LOOK_MAX = 32 };
	struct iovec pieces[LOOK_MAX];
	unsigned n = xprt_unsent(conn->xprt, pieces, LOOK_MAX);

	for (unsigned i = 0; i < n; i++)
		if (svc_data_fault(
			conn->p.svc, pieces[i].iov_base, pieces[i].iov_len))
			return;
}

static void conn_on_end(void *ctx, enum xprt_end end, const char *why)
{
	struct conn *conn = ctx;

	if (end == XPRT_END_RECORD) {
		client_reject(&conn->client, why);
		return;
	}
	if (end == XPRT_END_FAULT)
		conn_on_fault(conn);
	log_debug("conn client=%s: closed: %s", conn->peer, why);
	conn_close(conn);
}

static void conn_on_sent(void *ctx, size_t bytes)
{
	struct conn *conn = ctx;

	(void)bytes;
	conn_update(conn);
}

static const struct xprt_ops conn_xprt_ops = {
    .on_record = conn_on_record,
    .on_end = conn_on_end,
    .on_sent = conn_on_sent,
};

/* Returns a number for the client's address, without its port: the client may
 * connect again from another one. */
static uint64_t address_hash(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;

		return XXH3_64bits(&in6->sin6_addr, sizeof(in6->sin6_addr));
	}
	return XXH3_64bits(&((const struct sockaddr_in *)sa)->sin_addr,
	    sizeof(struct in_addr));
}

struct conn *conn_new(
    const struct conn_params *p, int fd, const struct sockaddr *peer)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->p = *p;
	conn->xprt = xprt_new(p->base, fd, p->pool, &conn_xprt_ops, conn);
	if (!conn->xprt) {
		free(conn);
		return NULL;
	}
	dial_keep_alive(fd);
	conn->since_us = clock_now_us();
	conn->taken_us = conn->since_us;
	conn->room.on_room = conn_on_room;
	netmatch_format(peer, conn->peer);
	conn->client.ops = &client_ops;
	conn->client.name = conn->peer;
	conn->client.address_hash = address_hash(peer);
	LIST_INIT(&conn->client.rqsts);
	return conn;
}

void conn_free(struct conn *conn)
{
	if (!conn)
		return;
	conn->closing = true;
	svc_client_gone(conn->p.svc, &conn->client);
	room_leave(conn->p.room, &conn->room);
	xprt_free(conn->xprt);
	free(conn);
}

/* Whether the client has left its replies unread for too long. */
static bool conn_takes_none(struct conn *conn, uint64_t now_us)
{
	uint64_t sent_bytes = xprt_sent_bytes(conn->xprt);
	uint64_t max_us = room_is_short(conn->p.room) ? CONN_UNTAKEN_SHORT_US
						      : CONN_UNTAKEN_MAX_US;

	if (xprt_queued_bytes(conn->xprt) == 0 ||
	    sent_bytes != conn->seen_bytes) {
		conn->seen_bytes = sent_bytes;
		conn->taken_us = now_us;
	}
	return now_us - conn->taken_us >= max_us;
}

void conn_check(struct conn *conn, uint64_t now_us)
{
	uint64_t since_us = xprt_partial_since_us(conn->xprt);

	if (conn->full && xprt_peer_closed(conn->xprt))
		conn_close(conn);
	else if (since_us != 0 && now_us - since_us >= CONN_PARTIAL_MAX_US)
		conn_close_bad(conn, METRICS_CONNECTIONS_CLOSED_SLOW_RECORD,
		    "a record took too long");
	else if (conn_takes_none(conn, now_us))
		conn_close_bad(conn, METRICS_CONNECTIONS_CLOSED_SLOW_READER,
		    "it does not receive its replies");
}

uint64_t conn_idle_us(const struct conn *conn, uint64_t now_us, bool *used)
{
	uint64_t since_us = conn->since_us;

	*used = xprt_received_bytes(conn->xprt) > 0;
	if (!conn_idle(conn) || conn->closing ||
	    xprt_partial_since_us(conn->xprt) != 0)
		return 0;
	if (xprt_last_rx_us(conn->xprt) > since_us)
		since_us = xprt_last_rx_us(conn->xprt);
	return now_us > since_us ? now_us - since_us : 0;
}

void conn_close_idle(struct conn *conn)
{
	conn_close_bad(conn, METRICS_CONNECTIONS_CLOSED_IDLE,
	    "it is idle, and there are too many connections");
}

bool conn_ask_again(struct conn *conn)
{
	if (!conn->client.must_ask || conn->closing)
		return false;
	/* This is done at once: a change that the client waits for would
	 * otherwise be sent now, and be asked for again. */
	svc_client_gone(conn->p.svc, &conn->client);
	conn_close_bad(conn, METRICS_CONNECTIONS_CLOSED_ASK_AGAIN,
	    "the server was away; the client shall repeat the changes that it "
	    "still waits for");
	return true;
}

void conn_drain(struct conn *conn)
{
	conn->draining = true;
	conn_update(conn);
}

bool conn_idle(const struct conn *conn)
{
	return conn->client.calls == 0 && xprt_queued_bytes(conn->xprt) == 0;
}

void conn_get_status(const struct conn *conn, struct conn_status *st)
{
	st->peer = conn->peer;
	st->since_us = conn->since_us;
	st->in_flight = conn->client.calls;
	st->in_flight_bytes = conn_bytes(conn);
	st->received_bytes = xprt_received_bytes(conn->xprt);
	st->sent_bytes = xprt_sent_bytes(conn->xprt);
}
