/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection of libhiredis, and the bounds of what it takes from its peer:
 * see redis_conn.h.
 *
 * libhiredis calls the hook `addRead` behind each read(2), before it parses,
 * and the functions of its reader for each part of a reply. Neither may free
 * the connection; so the hook has the loop call conn_on_check(), which may.
 */
#include "engine/redis_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <event2/event.h>
#include <hiredis/adapters/libevent.h>
#include <hiredis/async.h>

#include "base/clock.h"
#include "base/uint.h"
#include "engine/engine.h"
#include "upstream/dial.h"

#define TOO_LARGE "a reply that is too large"
#define UNASKED   "a reply that nobody asked for"
#define NO_LENGTH "a length that is none"
#define NO_REPLY  "what is no reply"

enum {
	/* libhiredis reads so much at once: when a read(2) brought that much,
	 * more has come. READS of them are one turn, so that one peer cannot
	 * hold the loop. */
	READ_BYTES = 16 << 10,
	READS = 16,
	/* Bytes of a status, an error or a number; libhiredis searches it again
	 * for its end as more of it comes. */
	LINE_MAX_BYTES = 64 << 10,
	LENGTH_BYTES = 24, /* the digits of a length */
	/* Elements of one reply, arrays within arrays included. */
	ELEMENTS_MAX = 1 << 18,
	DEPTH_MAX = 7, /* what libhiredis 0.14 takes; later ones take any */
	REPLY_MAX_BYTES = ENGINE_VALUE_MAX + (8 << 20),
	/* Bytes that all connections of an engine hold together. */
	HELD_MAX_BYTES = 3 * REPLY_MAX_BYTES,
	/* A buffer that was larger than this goes when it is empty. */
	SPARE_BYTES = 128 << 10,
};

/* One connection, from the first try to its end. */
struct redis_conn {
	redisAsyncContext *ac;            /* NULL: libhiredis has ended it */
	const struct redis_conn_ops *ops; /* NULL: the owner has freed it */
	void *ctx;
	struct event *check;
	const redisReplyObjectFunctions *makers; /* libhiredis' own */
	const char *why; /* a part of a reply was refused; or NULL */
	uint64_t received_us;
	size_t owed;     /* replies that have not begun, or are under way */
	size_t made;     /* bytes of the parts of the reply under way */
	size_t elements; /* of all arrays of it */
	size_t pending;  /* bytes that are not parsed */
	size_t fresh;    /* of those, the bytes that the last read(2) brought */
	size_t peak;     /* the most that was ever pending */
	size_t *held;
	size_t counted; /* what this one has added to `held` */
	int first_byte;
	bool opening; /* libhiredis is telling that it is connected */
	bool checking;
	bool flush; /* commands wait to be written */
	bool flushing;
};

/* ---- parts of replies -------------------------------------------------- */

/* Judges one more part of a reply, a string of `bytes` or an array of
 * `elements`, before libhiredis makes it. */
static bool conn_admits(
    const redisReadTask *task, size_t bytes, size_t elements)
{
	struct redis_conn *c = task->privdata;
	unsigned depth = 0;

	if (!task->parent)
		c->made = c->elements = 0;
	for (const redisReadTask *t = task; t; t = t->parent)
		depth++;
	c->made += sizeof(redisReply) + bytes + elements * sizeof(redisReply *);
	c->elements += elements;
	/* Where the owner has freed the connection, nobody counts what
	 * libhiredis goes on to parse of what has come. */
	if (c->owed == 0 || !c->ops)
		c->why = UNASKED;
	/* The types of RESP3 come behind those of RESP2; a nil of RESP2 is a
	 * string or an array that has no length. */
	else if (task->type > REDIS_REPLY_ERROR ||
		 task->type == REDIS_REPLY_NIL)
		c->why = NO_REPLY;
	else if (elements > 0 && depth > DEPTH_MAX)
		c->why = "arrays that are too deep";
	else if (c->elements > ELEMENTS_MAX || c->made > REPLY_MAX_BYTES)
		c->why = TOO_LARGE;
	return !c->why;
}

static const redisReplyObjectFunctions *makers_of(const redisReadTask *task)
{
	return ((struct redis_conn *)task->privdata)->makers;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
	return conn_admits(task, len, 0)
		   ? makers_of(task)->createString(task, text, len)
		   : NULL;
}

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

static void *make_array(const redisReadTask *task, element_count n)
{
	return conn_admits(task, 0, (size_t)n)
		   ? makers_of(task)->createArray(task, n)
		   : NULL;
}

static void *make_integer(const redisReadTask *task, long long n)
{
	return conn_admits(task, 0, 0) ? makers_of(task)->createInteger(task, n)
				       : NULL;
}

static void *make_nil(const redisReadTask *task)
{
	return conn_admits(task, 0, 0) ? makers_of(task)->createNil(task)
				       : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *make_double(
    const redisReadTask *task, double d, char *text, size_t len)
{
	(void)d;
	(void)text;
	(void)conn_admits(task, len, 0);
	return NULL;
}

static void *make_bool(const redisReadTask *task, int b)
{
	(void)b;
	(void)conn_admits(task, 0, 0);
	return NULL;
}
#endif

static redisReplyObjectFunctions makers = {
    .createString = make_string,
    .createArray = make_array,
    .createInteger = make_integer,
    .createNil = make_nil,
#if HIREDIS_MAJOR >= 1
    .createDouble = make_double,
    .createBool = make_bool,
#endif
    .freeObject = freeReplyObject,
};

/* Gives it a reader that asks here, with an empty buffer. */
static bool conn_renew_reader(struct redis_conn *c)
{
	redisReader *fresh = redisReaderCreateWithFunctions(&makers);

	if (!fresh)
		return false;
	fresh->privdata = c;
	/* Else libhiredis would free the buffer behind each value, and have
	 * the next one grow it from nothing; conn_on_check() sees to it. */
	fresh->maxbuf = 0;
	redisReaderFree(c->ac->c.reader);
	c->ac->c.reader = fresh;
	c->peak = 0;
	return true;
}

/* ---- what has come of a part ------------------------------------------- */

static size_t unparsed(const redisReader *r)
{
	return r->len - r->pos;
}

/* The type of the part whose beginning has come. */
static int type_under_way(const redisReader *r)
{
	if (r->ridx < 0)
		return -1;
#if HIREDIS_MAJOR >= 1
	return r->task[r->ridx]->type;
#else
	return r->rstack[r->ridx].type;
#endif
}

/* Judges a string or an array of which `n` bytes have come behind its type:
 * digits or -1, CR LF, and bytes of the string. */
static const char *judge_length(const char *text, size_t n, bool string)
{
	long long len;

	if (!memchr(text, '\r', n < LENGTH_BYTES ? n : LENGTH_BYTES))
		return n < LENGTH_BYTES ? NULL : NO_LENGTH;
	len = string ? strtoll(text, NULL, 10) : 0;
	if (len > ENGINE_VALUE_MAX)
		return TOO_LARGE;
	return len < -1 || n > (size_t)(len + 1) + LENGTH_BYTES + 4 ? NO_LENGTH
								    : NULL;
}

/* Why what is under way is refused, or NULL. */
static const char *conn_judge(const struct redis_conn *c)
{
	const redisReader *r = c->ac->c.reader;
	int type = type_under_way(r);
	const char *why = NULL;

	if (c->pending > 0 && c->owed == 0)
		why = UNASKED;
	else if (c->made + c->pending > REPLY_MAX_BYTES)
		why = TOO_LARGE;
	else if (type == REDIS_REPLY_STRING || type == REDIS_REPLY_ARRAY)
		why = judge_length(
		    r->buf + r->pos, c->pending, type == REDIS_REPLY_STRING);
	else if (c->pending > LINE_MAX_BYTES)
		why = TOO_LARGE;
	if (!why && *c->held > HELD_MAX_BYTES)
		why = "more than there is room for";
	return why;
}

/* Adds what this connection holds to what all hold together. */
static void conn_count(struct redis_conn *c)
{
	size_t now = c->ops ? c->made + c->pending : 0;

	*c->held += now - c->counted;
	c->counted = now;
}

/* ---- its end ----------------------------------------------------------- */

/* Frees it; libhiredis calls nothing of it any more. */
static void conn_destroy(struct redis_conn *c)
{
	if (c->ac) {
		c->ac->data = NULL;
		redisAsyncFree(c->ac);
	}
	if (c->check)
		event_free(c->check);
	free(c);
}

void redis_conn_free(struct redis_conn *c)
{
	if (!c)
		return;
	c->ops = NULL;
	conn_count(c);
	/* libhiredis 0.14 goes on with a connection that it told to be
	 * connected, so that one must not be freed before the next turn. */
	if (c->opening)
		event_active(c->check, EV_TIMEOUT, 0);
	else if (!c->checking)
		conn_destroy(c);
}

/* libhiredis has ended the connection, or will. */
static void conn_end(
    struct redis_conn *c, enum redis_conn_end end, const char *why)
{
	c->ac = NULL;
	if (c->ops)
		c->ops->on_end(c->ctx, end, why);
}

/* Called by libhiredis at its end, with the reason in `ac`. */
static void conn_on_disconnect(const redisAsyncContext *ac, int status)
{
	struct redis_conn *c = ac->data;

	(void)status;
	if (!c)
		return;
	if (c->why)
		conn_end(c, REDIS_CONN_BAD, c->why);
	else if (ac->err == REDIS_ERR_EOF)
		conn_end(c, REDIS_CONN_CLOSED, "it closed the connection");
	else if (ac->err == REDIS_ERR_IO)
		conn_end(c, REDIS_CONN_CLOSED, ac->errstr);
	else
		conn_end(c, REDIS_CONN_BAD,
		    ac->err == REDIS_ERR_OOM ? "out of memory" : NO_REPLY);
}

/* ---- the connection ---------------------------------------------------- */

/* Called by libhiredis when it is connected, or could not. */
static void conn_on_connect(const redisAsyncContext *ac, int status)
{
	struct redis_conn *c = ac->data;

	if (!c)
		return;
	if (status != REDIS_OK) {
		conn_end(c, REDIS_CONN_CLOSED,
		    ac->c.errstr[0] ? ac->c.errstr : strerror(errno));
		return;
	}
	c->opening = true;
	c->ops->on_open(c->ctx);
	c->opening = false;
}

/* libhiredis calls this with NULL for all that is owed when it ends; the owner
 * hears of that by on_end(). */
static void conn_on_reply(redisAsyncContext *ac, void *reply, void *privdata)
{
	struct redis_conn *c = reply ? ac->data : NULL;

	(void)privdata;
	if (!c || !c->ops)
		return;
	c->owed--;
	c->made = c->elements = 0;
	c->ops->on_reply(c->ctx, reply);
}

/* The hook behind each read(2): notes what has come, and has the loop judge
 * it. */
static void conn_add_read(void *events)
{
	const redisAsyncContext *ac = ((redisLibeventEvents *)events)->context;
	const redisReader *r = ac->c.reader;
	struct redis_conn *c = ac->data;
	size_t now = unparsed(r);

	redisLibeventAddRead(events);
	if (!c)
		return;
	/* It is called behind each write(2), too. */
	c->fresh = now > c->pending ? now - c->pending : 0;
	c->pending = now;
	if (c->fresh > 0)
		c->received_us = clock_now_us();
	if (now > 0 && c->first_byte < 0)
		c->first_byte = (unsigned char)r->buf[r->pos];
	c->peak = max_u64(c->peak, now);
	event_active(c->check, EV_TIMEOUT, 0);
}

/* All that is sent in one turn of the loop goes out together, at its end;
 * libevent is asked only where the socket does not take all of it. */
static void conn_add_write(void *events)
{
	const redisAsyncContext *ac = ((redisLibeventEvents *)events)->context;
	struct redis_conn *c = ac->data;

	if (!c || c->flushing || !(ac->c.flags & REDIS_CONNECTED)) {
		redisLibeventAddWrite(events);
		return;
	}
	c->flush = true;
	event_active(c->check, EV_TIMEOUT, 0);
}

/* Writes all that was sent in this turn. */
static void conn_flush(struct redis_conn *c)
{
	c->flush = false;
	c->flushing = true;
	redisAsyncHandleWrite(c->ac);
	c->flushing = false;
}

/* Judges what has come; false where the connection is to be left alone. */
static bool conn_is_good(struct redis_conn *c)
{
	redisAsyncContext *ac = c->ac;
	const char *why;

	if (!ac || !c->ops)
		return false;
	c->pending = unparsed(ac->c.reader);
	conn_count(c);
	why = conn_judge(c);
	if (!why)
		return true;
	ac->data = NULL;
	redisAsyncFree(ac);
	conn_end(c, REDIS_CONN_BAD, why);
	return false;
}

/* Called by the loop after anything has come or was sent: the one place that
 * may end or free the connection. */
static void conn_on_check(evutil_socket_t fd, short what, void *arg)
{
	struct redis_conn *c = arg;
	bool good;

	(void)fd;
	(void)what;
	c->checking = true;
	good = conn_is_good(c);
	for (int i = 1; good && i < READS && c->fresh >= READ_BYTES; i++) {
		c->fresh = 0;
		redisAsyncHandleRead(c->ac);
		good = conn_is_good(c);
	}
	/* Each read(2) has libevent call this again within the same turn, which
	 * must not read on: the socket stays readable for the next turn. */
	c->fresh = 0;
	/* A hundred nodes may each have sent a large value, once. The byte that
	 * is a reply's type may be parsed already, and only the reader has it.
	 */
	if (good && c->peak > SPARE_BYTES && c->pending == 0 && c->made == 0 &&
	    type_under_way(c->ac->c.reader) < 0)
		(void)conn_renew_reader(c);
	if (good && c->flush)
		conn_flush(c);
	c->checking = false;
	if (!c->ops)
		conn_destroy(c);
}

/* The peer owes a reply to a command that was sent. */
static bool conn_sent(struct redis_conn *c, int rc)
{
	c->owed += rc == REDIS_OK;
	return rc == REDIS_OK;
}

bool redis_conn_send(
    struct redis_conn *c, int argc, const char *const *argv, const size_t *lens)
{
	/* libhiredis only reads the words. */
	return c->ac && c->ops &&
	       conn_sent(c, redisAsyncCommandArgv(c->ac, conn_on_reply, NULL,
				argc, (const char **)(uintptr_t)argv, lens));
}

bool redis_conn_send_formatted(
    struct redis_conn *c, const char *command, size_t len)
{
	return c->ac && c->ops &&
	       conn_sent(c, redisAsyncFormattedCommand(
				c->ac, conn_on_reply, NULL, command, len));
}

/* ---- its begin --------------------------------------------------------- */

/* An address as a number, which libhiredis has no resolver look up. */
static redisAsyncContext *conn_dial(const struct sockaddr *to)
{
	char host[NI_MAXHOST];

	if (to->sa_family == AF_UNIX)
		return redisAsyncConnectUnix(
		    ((const struct sockaddr_un *)to)->sun_path);
	if (getnameinfo(to, dial_addr_len(to), host, sizeof(host), NULL, 0,
		NI_NUMERICHOST) != 0)
		return NULL;
	return redisAsyncConnect(host, dial_addr_port(to));
}

/* Sets libhiredis up: the reader that asks here, and the hooks. False without
 * memory. */
static bool conn_attach(struct redis_conn *c, struct event_base *base, bool tcp)
{
	redisAsyncContext *ac = c->ac;

	c->makers = ac->c.reader->fn;
	if (!conn_renew_reader(c) || redisLibeventAttach(ac, base) != REDIS_OK)
		return false;
	ac->data = c;
	ac->ev.addRead = conn_add_read;
	ac->ev.addWrite = conn_add_write;
	(void)fcntl(ac->c.fd, F_SETFD, FD_CLOEXEC);
	if (tcp)
		dial_keep_alive(ac->c.fd);
	(void)redisAsyncSetConnectCallback(ac, conn_on_connect);
	(void)redisAsyncSetDisconnectCallback(ac, conn_on_disconnect);
	return true;
}

struct redis_conn *redis_conn_new(struct event_base *base,
    const struct sockaddr *to, const struct redis_conn_ops *ops, void *ctx,
    size_t *held)
{
	struct redis_conn *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return NULL;
	c->ops = ops;
	c->ctx = ctx;
	c->held = held;
	c->first_byte = -1;
	c->check = event_new(base, -1, 0, conn_on_check, c);
	errno = 0;
	c->ac = conn_dial(to);
	err = errno ? errno : ENOMEM;
	if (c->check && c->ac && !c->ac->err &&
	    conn_attach(c, base, to->sa_family != AF_UNIX))
		return c;
	conn_destroy(c);
	errno = err;
	return NULL;
}

uint64_t redis_conn_received_us(const struct redis_conn *c)
{
	return c->received_us;
}

int redis_conn_first_byte(const struct redis_conn *c)
{
	return c->first_byte;
}
