/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records in and out over a socket.
 *
 * evbuffer_read() takes 4 KiB a system call whatever it is told, so bytes are
 * received by recv() into large buffers; an evbuffer serves the way out.
 *
 * A callback may free the transport. So whoever calls one counts it in `busy`,
 * and looks at `freed` and `ended` afterwards; the struct goes with the last of
 * them.
 */
#include "upstream/xprt.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "base/clock.h"
#include "nfsproto/xdr_view.h"

enum {
	/* recv() calls in one turn, so that one peer cannot hold the loop. */
	RECV_TURNS = 4,
	/* Bytes written in one system call. */
	WRITE_MAX = 4 << 20,
};

struct xprt {
	int fd;
	const struct xprt_ops *ops;
	void *ctx;
	struct record_reader *reader;
	struct evbuffer *out;
	struct event *ev_read;
	struct event *ev_write;
	uint64_t received_bytes;
	uint64_t sent_bytes;
	uint64_t last_rx_us;
	uint64_t partial_since_us;
	unsigned busy; /* depth of callbacks into the owner */
	bool paused;
	bool flushing; /* ev_write is active or pending */
	bool freed;    /* by its owner, inside a callback */
	bool ended;
};

static void xprt_on_read(evutil_socket_t fd, short what, void *arg);
static void xprt_on_write(evutil_socket_t fd, short what, void *arg);

static void xprt_destroy(struct xprt *x)
{
	if (x->ev_read)
		event_free(x->ev_read);
	if (x->ev_write)
		event_free(x->ev_write);
	if (x->out)
		evbuffer_free(x->out);
	record_reader_free(x->reader);
	free(x);
}

struct xprt *xprt_new(struct event_base *base, int fd, struct rbuf_pool *pool,
    const struct xprt_ops *ops, void *ctx)
{
	struct xprt *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->fd = fd;
	x->ops = ops;
	x->ctx = ctx;
	x->reader = record_reader_new(pool);
	x->out = evbuffer_new();
	x->ev_read = event_new(base, fd, EV_READ | EV_PERSIST, xprt_on_read, x);
	x->ev_write = event_new(base, fd, EV_WRITE, xprt_on_write, x);
	if (!x->reader || !x->out || !x->ev_read || !x->ev_write ||
	    event_add(x->ev_read, NULL) < 0) {
		xprt_destroy(x);
		errno = ENOMEM;
		return NULL;
	}
	return x;
}

void xprt_free(struct xprt *x)
{
	if (!x)
		return;
	event_del(x->ev_read);
	event_del(x->ev_write);
	if (x->fd >= 0)
		close(x->fd);
	x->fd = -1;
	x->freed = true;
	if (x->busy == 0)
		xprt_destroy(x);
}

/* Tells the owner, once, that the transport is over. */
static void xprt_end(struct xprt *x, enum xprt_end end, const char *why)
{
	if (x->ended || x->freed)
		return;
	x->ended = true;
	event_del(x->ev_read);
	event_del(x->ev_write);
	x->ops->on_end(x->ctx, end, why);
}

static const char *record_error(enum record_status st)
{
	switch (st) {
	case RECORD_TOO_LONG:
		return "record too long";
	case RECORD_FRAGMENTS:
		return "record in too many fragments";
	case RECORD_ODD:
		return "record whose length is not a multiple of four";
	default:
		return "out of memory";
	}
}

/* Hands out the records that are there; false where the owner has paused or
 * freed the transport, or it is over. */
static bool xprt_deliver(struct xprt *x, uint64_t now_us)
{
	struct record rec;
	enum record_status st;

	while (!x->paused) {
		st = record_reader_next(x->reader, &rec);
		if (st == RECORD_MORE) {
			if (record_reader_partial_bytes(x->reader) == 0)
				x->partial_since_us = 0;
			else if (x->partial_since_us == 0)
				x->partial_since_us = now_us;
			return true;
		}
		if (st != RECORD_READY) {
			xprt_end(x, XPRT_END_RECORD, record_error(st));
			return false;
		}
		x->partial_since_us = 0;
		rec.received_us = x->last_rx_us;
		x->ops->on_record(x->ctx, &rec);
		if (x->freed || x->ended)
			return false;
	}
	x->partial_since_us = 0;
	return false;
}

/* Receives once; false where there is no more for now. */
static bool xprt_receive(struct xprt *x)
{
	size_t space;
	ssize_t n;
	void *to = record_reader_space(x->reader, &space);

	if (!to) {
		xprt_end(x, XPRT_END_ERROR, "out of memory");
		return false;
	}
	n = recv(x->fd, to, space, 0);
	if (n == 0) {
		xprt_end(x, XPRT_END_EOF, "closed by the peer");
		return false;
	}
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			xprt_end(x, XPRT_END_ERROR, strerror(errno));
		return false;
	}
	record_reader_filled(x->reader, (size_t)n);
	x->received_bytes += (uint64_t)n;
	if (x->ops->on_received)
		x->ops->on_received(
		    x->ctx, (size_t)n, x->partial_since_us != 0, x->last_rx_us);
	return (size_t)n == space;
}

static void xprt_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct xprt *x = arg;
	bool more = true;

	(void)fd;
	(void)what;
	x->busy++;
	x->last_rx_us = clock_now_us();
	/* Records may be left over from before a pause. */
	if (xprt_deliver(x, x->last_rx_us)) {
		for (int i = 0; more && i < RECV_TURNS; i++) {
			/* The records before may have had their owner send
			 * calls. The time is read after that, right before
			 * receiving, so that no reply seems to come before its
			 * call was sent. */
			if (i > 0)
				x->last_rx_us = clock_now_us();
			more = xprt_receive(x);
			if (x->ended || !xprt_deliver(x, x->last_rx_us))
				break;
		}
	}
	if (!x->freed && !x->ended && x->ops->on_read)
		x->ops->on_read(x->ctx);
	if (--x->busy == 0 && x->freed)
		xprt_destroy(x);
}

/* Sends what the socket takes. The event goes on when it takes more. */
static void xprt_flush(struct xprt *x)
{
	int n;

	while (evbuffer_get_length(x->out) > 0) {
		n = evbuffer_write_atmost(x->out, x->fd, WRITE_MAX);
		if (n < 0) {
			if (errno == EAGAIN || errno == EINTR)
				break;
			xprt_end(x,
			    errno == EFAULT ? XPRT_END_FAULT : XPRT_END_ERROR,
			    strerror(errno));
			return;
		}
		x->sent_bytes += (uint64_t)n;
		clock_forget();
		x->ops->on_sent(x->ctx, (size_t)n);
		if (x->freed || x->ended)
			return;
	}
	x->flushing = evbuffer_get_length(x->out) > 0;
	if (x->flushing)
		event_add(x->ev_write, NULL);
}

static void xprt_on_write(evutil_socket_t fd, short what, void *arg)
{
	struct xprt *x = arg;

	(void)fd;
	(void)what;
	x->busy++;
	xprt_flush(x);
	if (--x->busy == 0 && x->freed)
		xprt_destroy(x);
}

void xprt_pause(struct xprt *x, bool pause)
{
	if (x->paused == pause || x->freed || x->ended)
		return;
	x->paused = pause;
	if (pause) {
		event_del(x->ev_read);
	} else {
		event_add(x->ev_read, NULL);
		event_active(x->ev_read, EV_READ, 1);
	}
}

static void unref_hold(const void *data, size_t len, void *hold)
{
	(void)data;
	(void)len;
	rbuf_unref(hold);
}

/* Queues a piece: by reference, and then `hold` keeps its bytes until they are
 * sent, or as a copy. */
static bool queue_piece(struct xprt *x, const struct rbuf_piece *p)
{
	if (!p->hold)
		return evbuffer_add(x->out, p->data, p->len) == 0;
	if (evbuffer_add_reference(
		x->out, p->data, p->len, unref_hold, rbuf_ref(p->hold)) == 0)
		return true;
	rbuf_unref(p->hold);
	return false;
}

bool xprt_queue(struct xprt *x, const void *head, size_t head_len,
    const struct rbuf_piece *pieces, unsigned n)
{
	static const char zeros[4];
	size_t len = 0;
	uint32_t pad, mark;

	if (x->ended || x->freed)
		return true;
	for (unsigned i = 0; i < n; i++)
		len += pieces[i].len;
	pad = xdr_pad((uint32_t)len);
	mark = htonl((uint32_t)(head_len + len + pad) | RECORD_LAST_FRAGMENT);
	if (evbuffer_add(x->out, &mark, sizeof(mark)) < 0 ||
	    evbuffer_add(x->out, head, head_len) < 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (pieces[i].len > 0 && !queue_piece(x, &pieces[i]))
			return false;
	if (pad > 0 && evbuffer_add(x->out, zeros, pad) < 0)
		return false;
	if (!x->flushing) {
		x->flushing = true;
		event_active(x->ev_write, EV_WRITE, 1);
	}
	return true;
}

int xprt_fd(const struct xprt *x)
{
	return x->fd;
}

bool xprt_peer_closed(const struct xprt *x)
{
	struct pollfd p = {.fd = x->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

unsigned xprt_unsent(const struct xprt *x, struct iovec *pieces, unsigned n)
{
	struct evbuffer_iovec v[n];
	int found = evbuffer_peek(x->out, -1, NULL, v, (int)n);

	if (found < (int)n)
		n = found < 0 ? 0 : (unsigned)found;
	for (unsigned i = 0; i < n; i++)
		pieces[i] = (struct iovec){v[i].iov_base, v[i].iov_len};
	return n;
}

size_t xprt_queued_bytes(const struct xprt *x)
{
	return evbuffer_get_length(x->out);
}

size_t xprt_partial_bytes(const struct xprt *x)
{
	return record_reader_partial_bytes(x->reader);
}

uint64_t xprt_received_bytes(const struct xprt *x)
{
	return x->received_bytes;
}

uint64_t xprt_sent_bytes(const struct xprt *x)
{
	return x->sent_bytes;
}

uint64_t xprt_last_rx_us(const struct xprt *x)
{
	return x->last_rx_us;
}

uint64_t xprt_partial_since_us(const struct xprt *x)
{
	return x->partial_since_us;
}
