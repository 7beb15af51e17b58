/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a server is, whether it can be reached, and what is told of that.
 * upstream_conn.c reports each change of a connection's state; the functions
 * here sum them up for the status, for `offline = serve` (linkwatch.c) and for
 * those who decide whether waiting for a call makes sense (svc/svc_order.c,
 * svc/doubt.c). */
#include "upstream/upstream.h"

#include <stdio.h>
#include <string.h>

#include <netinet/in.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "upstream/upstream_conn.h"

enum {
	/* A server that has acknowledged bytes so lately is there. */
	ACK_RECENT_MS = 1000,
	/* A server that has sent bytes so lately, or was sent a call so lately,
	 * is not silent. */
	SILENT_US = 2000000,
};

void upstream_set_address(struct upstream *up, const struct sockaddr *sa)
{
	struct sockaddr_storage ss = {0};
	bool changed;

	memcpy(&ss, sa, dial_addr_len(sa));
	changed = memcmp(&ss, &up->addr, sizeof(ss)) != 0;
	up->addr = ss;
	if (!changed)
		return;
	for (unsigned i = 0; i < up->p.connections; i++) {
		struct upstream_conn *c = &up->conns[i];

		if (c->xprt || c->dial)
			upstream_conn_reset(c, "the address changed", true);
		else if (!up->p.lazy || up->queued > 0)
			upstream_conn_start(c);
		else
			upstream_conn_close_idle(c);
	}
}

void upstream_set_port(struct upstream *up, unsigned conn, uint16_t port)
{
	if (conn < up->p.connections)
		up->conns[conn].port = port;
}

uint64_t upstream_partial_bytes(const struct upstream *up)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < up->p.connections; i++)
		if (up->conns[i].xprt)
			bytes += xprt_partial_bytes(up->conns[i].xprt);
	return bytes;
}

void upstream_kick(struct upstream *up, bool woke)
{
	const struct sockaddr *to = (const struct sockaddr *)&up->addr;

	for (unsigned i = 0; i < up->p.connections; i++) {
		struct upstream_conn *c = &up->conns[i];

		c->backoff_us = UPSTREAM_BACKOFF_FIRST_US;
		if (c->state == UPSTREAM_UP &&
		    (woke || dial_source_changed(xprt_fd(c->xprt), to)))
			upstream_conn_reset(c, "the network changed", true);
		else if (c->state == UPSTREAM_CONNECTING)
			upstream_conn_reset(c, "the network changed", true);
		else if (c->state == UPSTREAM_DOWN)
			upstream_conn_start(c);
	}
}

void upstream_set_error(struct upstream *up, const char *why)
{
	snprintf(up->last_error, sizeof(up->last_error), "%s", why);
}

/* Returns the state whose duration counts: an outage is one, however often
 * connecting was tried meanwhile. */
static enum upstream_state state_kind(enum upstream_state state)
{
	return state == UPSTREAM_UP || state == UPSTREAM_IDLE ? state
							      : UPSTREAM_DOWN;
}

void upstream_state_changed(struct upstream *up)
{
	enum upstream_state best = UPSTREAM_NO_ADDRESS;

	for (unsigned i = 0; i < up->p.connections; i++) {
		if (up->conns[i].state == UPSTREAM_UP)
			best = UPSTREAM_UP;
		else if (best != UPSTREAM_UP && up->conns[i].state > best)
			best = up->conns[i].state;
	}
	if (state_kind(best) != state_kind(up->state)) {
		up->since_us = clock_now_us();
		if (up->state == UPSTREAM_UP)
			up->down_us = up->since_us;
	}
	up->state = best;
}

uint64_t upstream_last_rx_us(const struct upstream *up)
{
	uint64_t last_us = 0;

	for (unsigned i = 0; i < up->p.connections; i++) {
		const struct upstream_conn *c = &up->conns[i];

		if (c->xprt && xprt_last_rx_us(c->xprt) > last_us)
			last_us = xprt_last_rx_us(c->xprt);
	}
	return last_us;
}

uint64_t upstream_call_waited_us(
    const struct upstream_call *call, uint64_t now_us)
{
	const struct upstream *up = call->up;
	uint64_t from_us = call->waits_us, to_us = now_us;

	if (call->where == CALL_PINNED)
		return now_us - from_us;
	if (call->where != CALL_QUEUED)
		return 0;
	/* While any connection is up, a queue is no outage. A call that was
	 * lost with a silent connection has waited since it was sent. */
	if (call->sendings == 0 && from_us < up->down_us)
		from_us = up->down_us;
	if (up->state == UPSTREAM_UP)
		to_us = up->since_us;
	return to_us > from_us ? to_us - from_us : 0;
}

bool upstream_call_is_moving(const struct upstream_call *call, uint64_t now_us)
{
	uint64_t since_us;

	if (!call)
		return false;
	since_us = upstream_last_rx_us(call->up);
	if (call->where == CALL_SENT) {
		if (call->conn->state != UPSTREAM_UP)
			return false;
		if (call->sent_us > since_us)
			since_us = call->sent_us;
	} else if (call->where != CALL_QUEUED ||
		   call->up->state != UPSTREAM_UP) {
		return false;
	}
	return now_us < since_us + SILENT_US;
}

/* Whether bytes wait in the kernel (SIOCOUTQ, tcp(7)) or in the transport, and
 * the server has acknowledged some within the last second. */
static bool conn_is_sending(const struct upstream_conn *c)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int left = 0;

	if (!c->xprt || ioctl(xprt_fd(c->xprt), SIOCOUTQ, &left) < 0 ||
	    (left == 0 && xprt_queued_bytes(c->xprt) == 0))
		return false;
	return getsockopt(
		   xprt_fd(c->xprt), IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       info.tcpi_last_ack_recv < ACK_RECENT_MS;
}

bool upstream_is_sending(const struct upstream *up)
{
	for (unsigned i = 0; i < up->p.connections; i++)
		if (conn_is_sending(&up->conns[i]))
			return true;
	return false;
}

void upstream_get_status(const struct upstream *up, struct upstream_status *st)
{
	st->state = up->state;
	st->since_us = up->since_us;
	st->last_error = up->last_error;
	st->failed = up->failures > 0;
	st->served = up->served;
	st->least = up->least;
	st->connections = up->p.connections;
	st->queued = up->queued;
}

void upstream_get_loss(const struct upstream *up, struct tcploss *loss)
{
	*loss = up->loss;
	for (unsigned i = 0; i < up->p.connections; i++)
		if (up->conns[i].xprt)
			tcploss_add(xprt_fd(up->conns[i].xprt), loss);
}

void upstream_get_conn_status(
    const struct upstream *up, unsigned conn, struct upstream_conn_status *st)
{
	const struct upstream_conn *c = &up->conns[conn];
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(st, 0, sizeof(*st));
	st->state = c->state;
	st->in_flight = c->in_flight;
	st->waiting = c->waiting;
	if (!c->xprt)
		return;
	st->local_port = c->port;
	if (getsockopt(xprt_fd(c->xprt), IPPROTO_TCP, TCP_INFO, &info, &len) ==
	    0)
		st->srtt_us = info.tcpi_rtt;
}
