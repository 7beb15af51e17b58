/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces under way: the blocks of each wait in memory until they are taken. A
 * trace that nobody takes ends when its memory is full; its client is told why
 * with the last bytes. */
#include "explain/tracer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "config/places.h"
#include "predictor/trace/trace_writer.h"

enum { ROOM_MIN = 65536 };

/* One trace, which its client owns. */
struct tracer_trace {
	LIST_ENTRY(tracer_trace) link;
	struct tracer *tracer;
	struct trace_writer *writer;
	uid_t uid;
	bool all;
	enum tracer_state state;
	char *waits;
	size_t nwaits, room;
};

LIST_HEAD(tracer_traces, tracer_trace);

struct tracer {
	struct tracer_traces list;
	unsigned n;
};

struct tracer *tracer_new(void)
{
	struct tracer *t = calloc(1, sizeof(*t));

	if (t)
		LIST_INIT(&t->list);
	return t;
}

void tracer_free(struct tracer *t)
{
	free(t);
}

/* Where the writer puts a block: 0 or -errno, after which the trace has failed
 * or was too slow. */
static int sink(void *ctx, const void *data, size_t len)
{
	struct tracer_trace *x = ctx;
	size_t room = x->room ? x->room : ROOM_MIN;
	char *waits;

	if (x->nwaits + len > TRACER_WAITS_MAX) {
		x->state = TRACER_SLOW;
		return -ENOBUFS;
	}
	while (room < x->nwaits + len)
		room *= 2;
	if (room > x->room) {
		waits = realloc(x->waits, room);
		if (!waits)
			return -ENOMEM;
		x->waits = waits;
		x->room = room;
	}
	memcpy(x->waits + x->nwaits, data, len);
	x->nwaits += len;
	return 0;
}

/* Ends the trace after an error, or when it has its size. */
static void check(struct tracer_trace *x, int rc)
{
	if (x->state != TRACER_GOES_ON)
		return;
	if (rc < 0)
		x->state = TRACER_FAILED;
	else if (trace_writer_bytes(x->writer) >= TRACER_BYTES_MAX)
		x->state = TRACER_FULL;
}

void tracer_observe(struct tracer *t, const struct predictor_obs *obs)
{
	struct tracer_trace *x;

	LIST_FOREACH (x, &t->list, link)
		if (x->state == TRACER_GOES_ON &&
		    (x->all || obs->uid == x->uid))
			check(x, trace_writer_event(x->writer, obs));
}

/* One user is to leave some to the others. */
static bool may_begin(const struct tracer *t, uid_t uid)
{
	static const struct places let = {
	    TRACER_TRACES_MAX, TRACER_TRACES_KEPT, TRACER_UID_MAX};
	const struct tracer_trace *x;
	unsigned own = 0;

	LIST_FOREACH (x, &t->list, link)
		own += x->uid == uid;
	return places_let(&let, uid, t->n, own);
}

struct tracer_trace *tracer_begin(struct tracer *t, uid_t uid, bool all)
{
	struct tracer_trace *x;

	errno = EBUSY;
	if (!may_begin(t, uid))
		return NULL;
	x = calloc(1, sizeof(*x));
	if (x)
		x->writer = trace_writer_new(sink, x);
	if (!x || !x->writer) {
		if (x)
			free(x->waits);
		free(x);
		errno = ENOMEM;
		return NULL;
	}
	x->tracer = t;
	x->uid = uid;
	x->all = all;
	LIST_INSERT_HEAD(&t->list, x, link);
	t->n++;
	return x;
}

void tracer_end(struct tracer_trace *x)
{
	if (!x)
		return;
	LIST_REMOVE(x, link);
	x->tracer->n--;
	trace_writer_free(x->writer);
	free(x->waits);
	free(x);
}

size_t tracer_take(
    struct tracer_trace *x, void *buf, size_t max, enum tracer_state *state)
{
	size_t n;

	if (x->state == TRACER_GOES_ON)
		check(x, trace_writer_flush(x->writer));
	n = x->nwaits < max ? x->nwaits : max;
	if (n > 0) {
		memcpy(buf, x->waits, n);
		memmove(x->waits, x->waits + n, x->nwaits - n);
	}
	x->nwaits -= n;
	*state = x->state;
	return n;
}

unsigned tracer_stop(struct tracer *t, uid_t uid, bool all)
{
	struct tracer_trace *x;
	unsigned n = 0;

	LIST_FOREACH (x, &t->list, link) {
		if (!all && (x->all || x->uid != uid))
			continue;
		n++;
		if (x->state != TRACER_GOES_ON)
			continue;
		check(x, trace_writer_flush(x->writer));
		if (x->state == TRACER_GOES_ON)
			x->state = TRACER_STOPPED;
	}
	return n;
}
