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

#define TOO_LARGE "a reply that is too large"

enum {
	READ_BYTES = 64 << 10,
	/* recv() calls in one turn, so that one peer cannot hold the loop. */
	READ_TURNS = 4,
	/* Above this a command is sent from where it is, not copied. */
	COPY_BYTES = 16 << 10,
	/* Of a status, an error or a number; libhiredis searches it again for
	 * its end as more of it comes. */
	LINE_MAX_BYTES = 64 << 10,
	LENGTH_BYTES = 24, /* the digits of a length */
	/* Of one reply, arrays within arrays included. */
	ELEMENTS_MAX = 1 << 18,
	DEPTH_MAX = 7, /* what every libhiredis takes */
	REPLY_MAX_BYTES = ENGINE_VALUE_MAX + (8 << 20),
	/* Of all connections of an engine. */
	HELD_MAX_BYTES = 3 * REPLY_MAX_BYTES,
	/* A buffer that was larger than this goes when it is empty. */
	SPARE_BYTES = 128 << 10,
};

/*
 * How far the bytes of a reply have come. The wire reads each byte here before
 * it hands it to libhiredis, and hands on none that is out of bounds:
 * libhiredis makes arrays of any length, and since its version 1.0 of any
 * depth, which freeReplyObject() then visits by recursion.
 */
struct resp {
	enum { AT_TYPE, IN_LINE, IN_LENGTH, IN_STRING } at;
	char type, last;             /* bytes of the line */
	char length[LENGTH_BYTES];   /* of a string or an array: digits */
	size_t line_bytes;           /* behind the type */
	size_t string_bytes;         /* that are missing, CR LF included */
	unsigned missing[DEPTH_MAX]; /* elements of each array that is open */
	unsigned depth;              /* how many are open */
	unsigned owed;               /* replies that have not begun */
	/* Of the reply that is under way: */
	size_t received_bytes, made_bytes, elements;
};

struct wire {
	int fd;
	const struct wire_ops *ops;
	void *ctx;
	redisReader *reader;
	struct resp resp;
	struct evbuffer *out;
	struct event *ev_read, *ev_write;
	uint64_t received_us;
	size_t *held;
	size_t counted; /* what this one has added to it */
	size_t peak;    /* of the reader's buffer */
	int first_byte;
	unsigned busy; /* depth of callbacks */
	bool open, flushing, ended, freed;
};

/* ---- bounds ------------------------------------------------------------- */

/* Each of these returns NULL, or the reason why the reply is refused. */

/* Judges one more part: a string of `bytes` that will come, or an array. */
static const char *resp_admit(struct resp *s, size_t bytes, size_t elements)
{
	s->made_bytes += sizeof(redisReply) + elements * sizeof(redisReply *);
	s->elements += elements;
	return s->elements <= ELEMENTS_MAX &&
		       s->made_bytes + s->received_bytes + bytes <=
			   REPLY_MAX_BYTES
		   ? NULL
		   : TOO_LARGE;
}

/* Closes a part, and the arrays whose last element it is. */
static const char *resp_end_part(struct resp *s)
{
	s->at = AT_TYPE;
	while (s->depth > 0 && --s->missing[s->depth - 1] == 0)
		s->depth--;
	return NULL;
}

static const char *resp_open_array(struct resp *s, unsigned elements)
{
	if (s->depth == DEPTH_MAX)
		return "arrays that are too deep";
	s->at = AT_TYPE;
	s->missing[s->depth++] = elements;
	return resp_admit(s, 0, elements);
}

static const char *resp_end_length(struct resp *s)
{
	bool string = s->type == '$', absent = strcmp(s->length, "-1") == 0;
	long long n = absent ? 0 : strtoll(s->length, NULL, 10);
	const char *why;

	if (!absent && (s->line_bytes == 0 || strchr(s->length, '-')))
		return "a length that is none";
	if (n > (string ? (long long)ENGINE_VALUE_MAX : ELEMENTS_MAX))
		return TOO_LARGE;
	if (!string && n > 0)
		return resp_open_array(s, (unsigned)n);
	why = resp_admit(s, (size_t)n, 0);
	if (why || absent || !string)
		return why ? why : resp_end_part(s);
	s->at = IN_STRING;
	s->string_bytes = (size_t)n + 2;
	return NULL;
}

static const char *resp_end_line(struct resp *s)
{
	const char *why;

	if (s->at == IN_LENGTH)
		return resp_end_length(s);
	why = resp_admit(s, 0, 0);
	return why ? why : resp_end_part(s);
}

static const char *resp_begin(struct resp *s, char type)
{
	if (s->depth == 0) {
		if (s->owed == 0)
			return "a reply that nobody asked for";
		s->owed--;
		s->received_bytes = s->made_bytes = s->elements = 0;
	}
	s->type = type;
	s->last = type;
	s->line_bytes = 0;
	s->at = type == '$' || type == '*' ? IN_LENGTH : IN_LINE;
	return s->at == IN_LENGTH || type == '+' || type == '-' || type == ':'
		   ? NULL
		   : "what is no reply";
}

static const char *resp_take_line(struct resp *s, char c)
{
	bool digit = (c >= '0' && c <= '9') || c == '-';

	if (s->last == '\r')
		return c == '\n' ? resp_end_line(s) : "a line that is none";
	s->last = c;
	if (c == '\r') {
		if (s->at == IN_LENGTH)
			s->length[s->line_bytes] = '\0';
		return NULL;
	}
	if (c == '\n' || (s->at == IN_LENGTH && !digit))
		return "a line that is none";
	if (s->line_bytes ==
	    (s->at == IN_LENGTH ? LENGTH_BYTES - 1 : LINE_MAX_BYTES))
		return TOO_LARGE;
	if (s->at == IN_LENGTH)
		s->length[s->line_bytes] = c;
	s->line_bytes++;
	return NULL;
}

/* Reads `len` bytes; lowers it to those that are within bounds. */
static const char *resp_take(struct resp *s, const char *p, size_t *len)
{
	const char *why = NULL;
	size_t i = 0, n;

	while (i < *len && !why) {
		n = 1;
		if (s->at == AT_TYPE)
			why = resp_begin(s, p[i]);
		else if (s->at != IN_STRING)
			why = resp_take_line(s, p[i]);
		else {
			n = *len - i < s->string_bytes ? *len - i
						       : s->string_bytes;
			s->string_bytes -= n;
			if (s->string_bytes == 0)
				(void)resp_end_part(s);
		}
		s->received_bytes += n;
		i += why ? 0 : n;
	}
	*len = i;
	return why;
}

/* ---- the connection ----------------------------------------------------- */

static void wire_count(struct wire *w)
{
	const struct resp *s = &w->resp;
	size_t now = 0;

	if (!w->freed && (s->at != AT_TYPE || s->depth > 0))
		now = s->received_bytes + s->made_bytes;

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

/* Replaces a reader whose buffer is large once it is empty: a hundred nodes may
 * each have sent a large value, once. */
static void wire_trim(struct wire *w)
{
	redisReader *fresh;

	if (w->resp.received_bytes > w->peak)
		w->peak = w->resp.received_bytes;
	if (w->peak <= SPARE_BYTES || w->resp.at != AT_TYPE ||
	    w->resp.depth > 0)
		return;
	fresh = redisReaderCreate();
	if (!fresh)
		return;
	redisReaderFree(w->reader);
	w->reader = fresh;
	w->peak = 0;
}

static void wire_deliver(struct wire *w)
{
	void *reply;

	while (!w->freed && !w->ended) {
		if (redisReaderGetReply(w->reader, &reply) != REDIS_OK) {
			wire_finish(
			    w, WIRE_END_BAD, redisReaderGetError(w->reader));
			return;
		}
		if (!reply)
			break;
		w->ops->on_reply(w->ctx, reply);
		freeReplyObject(reply);
	}
	if (w->freed || w->ended)
		return;
	wire_trim(w);
	wire_count(w);
	if (*w->held > HELD_MAX_BYTES)
		wire_finish(w, WIRE_END_BAD, "more than there is room for");
}

/* Receive once; false where there is no more for now. */
static bool wire_receive(struct wire *w)
{
	char buf[READ_BYTES];
	ssize_t n = recv(w->fd, buf, sizeof(buf), 0);
	const char *why;
	size_t good;

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
	good = (size_t)n;
	why = resp_take(&w->resp, buf, &good);
	if (redisReaderFeed(w->reader, buf, good) != REDIS_OK) {
		wire_finish(w, WIRE_END_BAD, "out of memory");
		return false;
	}
	wire_deliver(w);
	if (why)
		wire_finish(w, WIRE_END_BAD, why);
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
	w->resp.owed++;
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
	w->reader = redisReaderCreate();
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
