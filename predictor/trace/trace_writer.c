/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing traces: events are collected, and packed a block at a time. */
#include "predictor/trace/trace_writer.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "predictor/trace/trace.pb-c.h"
#include "predictor/trace/trace_format.h"

/* Events wait here until a block of them is full. */
struct trace_writer {
	trace_sink sink;
	void *ctx;
	Forefetch__TraceEvent events[TRACE_BLOCK_EVENTS];
	Forefetch__TraceEvent *refs[TRACE_BLOCK_EVENTS];
	size_t n;
	char label[TRACE_LABEL_MAX + 1];
	uint64_t bytes;
	int failed; /* -errno */
};

/* The first error ends the trace: it is kept, and nothing more is passed on. */
static int writer_put(struct trace_writer *w, const void *data, size_t len)
{
	w->failed = w->sink(w->ctx, data, len);
	if (!w->failed)
		w->bytes += len;
	return w->failed;
}

struct trace_writer *trace_writer_new(trace_sink sink, void *ctx)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	unsigned char head[TRACE_HEAD_BYTES];

	if (!w)
		return NULL;
	w->sink = sink;
	w->ctx = ctx;
	for (size_t i = 0; i < TRACE_BLOCK_EVENTS; i++)
		w->refs[i] = &w->events[i];
	memcpy(head, TRACE_MAGIC, TRACE_MAGIC_BYTES);
	head[TRACE_MAGIC_BYTES] = TRACE_VERSION;
	if (writer_put(w, head, sizeof(head))) {
		errno = -w->failed;
		free(w);
		return NULL;
	}
	return w;
}

void trace_writer_free(struct trace_writer *w)
{
	free(w);
}

int trace_writer_flush(struct trace_writer *w)
{
	Forefetch__TraceBlock block = FOREFETCH__TRACE_BLOCK__INIT;
	unsigned char *data;
	size_t len;

	if (w->failed || w->n == 0)
		return w->failed;
	block.n_event = w->n;
	block.event = w->refs;
	len = forefetch__trace_block__get_packed_size(&block);
	data = malloc(TRACE_FRAME_BYTES + len);
	w->n = 0;
	if (!data)
		return w->failed = -ENOMEM;
	forefetch__trace_block__pack(&block, data + TRACE_FRAME_BYTES);
	memcpy(data,
	    &(struct trace_frame){htole32((uint32_t)len),
		htole32((uint32_t)XXH3_64bits(data + TRACE_FRAME_BYTES, len))},
	    TRACE_FRAME_BYTES);
	writer_put(w, data, TRACE_FRAME_BYTES + len);
	free(data);
	return w->failed;
}

/* As much as fits: such sizes and times are nonsense anyway. */
static uint32_t clip32(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* The block's next event, of which only the time is set. */
static Forefetch__TraceEvent *writer_next(
    struct trace_writer *w, uint64_t now_ns)
{
	Forefetch__TraceEvent *e = &w->events[w->n++];

	forefetch__trace_event__init(e);
	e->time_us = now_ns / 1000;
	return e;
}

int trace_writer_event(struct trace_writer *w, const struct predictor_obs *o)
{
	Forefetch__TraceEvent *e;

	if (w->failed)
		return w->failed;
	e = writer_next(w, o->now_ns);
	e->kind = (uint32_t)o->kind;
	e->flags = (o->exec ? TRACE_FLAG_EXEC : 0u) |
		   (o->directory ? TRACE_FLAG_DIRECTORY : 0u);
	e->latency_us = clip32(o->latency_ns / 1000);
	e->actor = o->actor;
	e->uid = o->uid;
	e->connection = o->connection;
	e->pid = o->pid;
	e->object = o->object;
	e->parent = o->parent;
	e->name_hash = o->name_hash;
	e->type_hash = o->type_hash;
	e->size = o->size_bytes;
	e->offset = o->offset_bytes;
	e->count = o->count_bytes;
	return w->n == TRACE_BLOCK_EVENTS ? trace_writer_flush(w) : 0;
}

int trace_writer_mark(
    struct trace_writer *w, uint64_t now_ns, const char *label)
{
	Forefetch__TraceEvent *e;

	if (w->failed)
		return w->failed;
	strncpy(w->label, label, TRACE_LABEL_MAX);
	e = writer_next(w, now_ns);
	e->kind = TRACE_KIND_MARK;
	e->label = w->label;
	/* `w->label` has room for one label, so the block ends here. */
	return trace_writer_flush(w);
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return w->bytes;
}
