/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A socket, a reader of libhiredis with bounds, and what waits to be sent. */
#include "farm/engine_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "farm/engine.h"
#include "upstream/dial.h"

enum {
	READ_BYTES = 64 << 10,
	/* recv() calls in one turn, so that one peer cannot hold the loop. */
	READ_TURNS = 4,
	/* Above this a command is sent from where it is, not copied. */
	COPY_BYTES = 16 << 10,
	/* A status, an error or a number; it is searched again for its end as
	 * more of it comes. */
	LINE_MAX_BYTES = 64 << 10,
	/* "$" or "*" and the digits of a length. */
	LENGTH_MAX_BYTES = 24,
	/* Of one reply, arrays within arrays included. */
	ELEMENTS_MAX = 1 << 18,
	REPLY_MAX_BYTES = ENGINE_VALUE_MAX + (8 << 20),
	/* Of all connections of an engine. */
	HELD_MAX_BYTES = 3 * REPLY_MAX_BYTES,
	/* A buffer that was larger than this goes when it is empty. */
	SPARE_BYTES = 128 << 10,
};

struct wire {
	int fd;
	const struct wire_ops *ops;
	void *ctx;
	redisReader *reader;
	redisReplyObjectFunctions makers; /* libhiredis's, behind the bounds */
	const redisReplyObjectFunctions *theirs;
	struct evbuffer *out;
	struct event *ev_read, *ev_write;
	uint64_t received_us;
	size_t *held;
	size_t counted;                     /* what this one has added to it */
	size_t peak;                        /* of the reader's buffer */
	size_t reply_bytes, reply_elements; /* of the reply that is read */
	unsigned owed;                      /* replies */
	int first_byte;
	const char *refusal; /* which bound was exceeded */
	unsigned busy;       /* depth of callbacks */
	bool open, flushing, ended, freed;
};

/* Whether one more part of a reply may be made. */
static bool wire_admit(const redisReadTask *task, size_t bytes, size_t elements)
{
	struct wire *w = task->privdata;

	if (!task->parent) {
		w->reply_bytes = 0;
		w->reply_elements = 0;
		if (w->owed == 0) {
			w->refusal = "a reply that nobody asked for";
			return false;
		}
	}
	w->reply_bytes +=
	    bytes + sizeof(redisReply) + elements * sizeof(redisReply *);
	w->reply_elements += elements;
	if (w->reply_bytes <= REPLY_MAX_BYTES &&
	    w->reply_elements <= ELEMENTS_MAX)
		return true;
	w->refusal = "a reply that is too large";
	return false;
}

static void *make_string(const redisReadTask *task, char *str, size_t len)
{
	struct wire *w = task->privdata;

	return wire_admit(task, len, 0)
		   ? w->theirs->createString(task, str, len)
		   : NULL;
}

static void *make_array(const redisReadTask *task, int elements)
{
	struct wire *w = task->privdata;

	return wire_admit(task, 0, (size_t)elements)
		   ? w->theirs->createArray(task, elements)
		   : NULL;
}

static void *make_integer(const redisReadTask *task, long long value)
{
	struct wire *w = task->privdata;

	return wire_admit(task, 0, 0) ? w->theirs->createInteger(task, value)
				      : NULL;
}

static void *make_nil(const redisReadTask *task)
{
	struct wire *w = task->privdata;

	return wire_admit(task, 0, 0) ? w->theirs->createNil(task) : NULL;
}

static redisReader *reader_new(struct wire *w)
{
	redisReader *r = redisReaderCreate();

	if (!r)
		return NULL;
	w->theirs = r->fn;
	w->makers = *r->fn;
	w->makers.createString = make_string;
	w->makers.createArray = make_array;
	w->makers.createInteger = make_integer;
	w->makers.createNil = make_nil;
	r->fn = &w->makers;
	r->privdata = w;
	r->maxbuf = 0; /* wire_trim() does that */
	return r;
}

static void wire_count(struct wire *w)
{
	size_t now = w->freed ? 0 : w->reader->len + w->reply_bytes;

	*w->held += now - w->counted;
	w->counted = now;
}

static void wire_destroy(struct wire *w)
{
	if (w->ev_read)
		event_free(w->ev_read);
	if (w->ev_write)
		event_free(w->ev_write);
	if (w->out)
		evbuffer_free(w->out);
	redisReaderFree(w->reader);
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

void wire_free(struct wire *w)
{
	if (!w)
		return;
	w->freed = true;
	wire_count(w);
	event_del(w->ev_read);
	event_del(w->ev_write);
	if (w->busy == 0)
		wire_destroy(w);
}

static void wire_leave(struct wire *w)
{
	if (--w->busy == 0 && w->freed)
		wire_destroy(w);
}

static void wire_finish(struct wire *w, enum wire_end end, const char *why)
{
	if (w->ended || w->freed)
		return;
	w->ended = true;
	event_del(w->ev_read);
	event_del(w->ev_write);
	w->ops->on_end(w->ctx, end, why);
}

/* Let go of a large buffer that is empty: a hundred nodes may each have sent a
 * large value, once. */
static void wire_trim(struct wire *w)
{
	redisReader *r = w->reader;
	redisReader *fresh;

	if (r->len > w->peak)
		w->peak = r->len;
	if (w->peak <= SPARE_BYTES || r->pos != r->len || r->ridx > 0 ||
	    (r->ridx == 0 && r->rstack[0].type >= 0))
		return;
	fresh = reader_new(w);
	if (!fresh)
		return;
	redisReaderFree(r);
	w->reader = fresh;
	w->peak = 0;
}

/* Of a part that is not complete: whether it may ever be. */
static bool wire_part_ok(const struct wire *w)
{
	const redisReader *r = w->reader;
	const char *p = r->buf + r->pos;
	size_t len = r->len - r->pos;
	int type = r->ridx >= 0 ? r->rstack[r->ridx].type : -1;

	if (type == REDIS_REPLY_STATUS || type == REDIS_REPLY_ERROR ||
	    type == REDIS_REPLY_INTEGER)
		return len <= LINE_MAX_BYTES;
	if (type < 0 || len == 0)
		return true;
	if (!memchr(p, '\n', len < LENGTH_MAX_BYTES ? len : LENGTH_MAX_BYTES))
		return len < LENGTH_MAX_BYTES;
	return type != REDIS_REPLY_STRING ||
	       strtoll(p, NULL, 10) <= ENGINE_VALUE_MAX;
}

static void wire_bound(struct wire *w)
{
	wire_trim(w);
	wire_count(w);
	if (!wire_part_ok(w))
		wire_finish(w, WIRE_END_BAD, "a reply that is too large");
	else if (*w->held > HELD_MAX_BYTES)
		wire_finish(w, WIRE_END_BAD, "more than there is room for");
}

static void wire_deliver(struct wire *w)
{
	void *reply;

	while (!w->freed && !w->ended) {
		if (redisReaderGetReply(w->reader, &reply) != REDIS_OK) {
			w->reply_bytes = 0;
			wire_count(w);
			wire_finish(w, WIRE_END_BAD,
			    w->refusal ? w->refusal : w->reader->errstr);
			return;
		}
		if (!reply)
			break;
		w->owed--;
		w->reply_bytes = 0;
		w->ops->on_reply(w->ctx, reply);
		w->theirs->freeObject(reply);
	}
	if (!w->freed && !w->ended)
		wire_bound(w);
}

/* Receive once; false where there is no more for now. */
static bool wire_receive(struct wire *w)
{
	char buf[READ_BYTES];
	ssize_t n = recv(w->fd, buf, sizeof(buf), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		wire_finish(w, WIRE_END_CLOSED,
		    n < 0 ? strerror(errno) : "it closed the connection");
		return false;
	}
	w->received_us = clock_now_us();
	if (w->first_byte < 0)
		w->first_byte = (unsigned char)buf[0];
	if (redisReaderFeed(w->reader, buf, (size_t)n) != REDIS_OK) {
		wire_finish(w, WIRE_END_BAD, "out of memory");
		return false;
	}
	wire_deliver(w);
	return (size_t)n == sizeof(buf);
}

static void wire_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct wire *w = arg;

	(void)fd;
	(void)what;
	w->busy++;
	for (int i = 0; i < READ_TURNS; i++)
		if (!wire_receive(w) || w->freed || w->ended)
			break;
	wire_leave(w);
}

/* Whether it is connected by now. */
static bool wire_opened(struct wire *w)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (w->open)
		return true;
	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err == 0 && event_add(w->ev_read, NULL) < 0)
		err = ENOMEM;
	if (err) {
		wire_finish(w, WIRE_END_CLOSED, strerror(err));
		return false;
	}
	w->open = true;
	w->ops->on_open(w->ctx);
	return !w->freed && !w->ended;
}

static void wire_write(struct wire *w)
{
	w->flushing = false;
	if (evbuffer_get_length(w->out) == 0)
		return;
	if (evbuffer_write(w->out, w->fd) < 0 && errno != EAGAIN &&
	    errno != EINTR) {
		wire_finish(w, WIRE_END_CLOSED, strerror(errno));
		return;
	}
	if (evbuffer_get_length(w->out) == 0)
		return;
	w->flushing = true;
	if (event_add(w->ev_write, NULL) < 0)
		wire_finish(w, WIRE_END_CLOSED, strerror(ENOMEM));
}

static void wire_on_write(evutil_socket_t fd, short what, void *arg)
{
	struct wire *w = arg;

	(void)fd;
	(void)what;
	w->busy++;
	if (wire_opened(w))
		wire_write(w);
	wire_leave(w);
}

/* All that is asked in one turn of the loop goes out together. */
static void wire_flush(struct wire *w)
{
	if (!w->open || w->flushing)
		return;
	w->flushing = true;
	event_active(w->ev_write, EV_WRITE, 0);
}

static void on_sent(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	redisFreeCommand(arg);
}

bool wire_send(struct wire *w, char *command, size_t len)
{
	int rc = -1;

	if (w->ended || w->freed) {
		redisFreeCommand(command);
		return false;
	}
	if (len > COPY_BYTES)
		rc = evbuffer_add_reference(
		    w->out, command, len, on_sent, command);
	else
		rc = evbuffer_add(w->out, command, len);
	if (len <= COPY_BYTES || rc < 0)
		redisFreeCommand(command);
	if (rc < 0)
		return false;
	w->owed++;
	wire_flush(w);
	return true;
}

static socklen_t addr_len(const struct sockaddr *to)
{
	return to->sa_family == AF_UNIX ? sizeof(struct sockaddr_un)
					: dial_addr_len(to);
}

static int wire_connect(struct wire *w, const struct sockaddr *to)
{
	w->fd = socket(
	    to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (w->fd < 0)
		return -errno;
	if (to->sa_family != AF_UNIX)
		dial_keep_alive(w->fd);
	if (connect(w->fd, to, addr_len(to)) < 0 && errno != EINPROGRESS)
		return -errno;
	return 0;
}

struct wire *wire_new(struct event_base *base, const struct sockaddr *to,
    const struct wire_ops *ops, void *ctx, size_t *held)
{
	struct wire *w = calloc(1, sizeof(*w));
	int rc = -ENOMEM;

	if (!w)
		return NULL;
	w->fd = -1;
	w->first_byte = -1;
	w->ops = ops;
	w->ctx = ctx;
	w->held = held;
	w->reader = reader_new(w);
	w->out = evbuffer_new();
	if (w->reader && w->out)
		rc = wire_connect(w, to);
	if (rc == 0) {
		w->ev_read = event_new(
		    base, w->fd, EV_READ | EV_PERSIST, wire_on_read, w);
		w->ev_write =
		    event_new(base, w->fd, EV_WRITE, wire_on_write, w);
		if (!w->ev_read || !w->ev_write ||
		    event_add(w->ev_write, NULL) < 0)
			rc = -ENOMEM;
	}
	if (rc == 0)
		return w;
	wire_destroy(w);
	errno = -rc;
	return NULL;
}

uint64_t wire_received_us(const struct wire *w)
{
	return w->received_us;
}

int wire_first_byte(const struct wire *w)
{
	return w->first_byte;
}
