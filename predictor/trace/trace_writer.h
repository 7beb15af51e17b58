/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a trace of observations (trace.proto), for forefetch-sim. Nothing here
 * waits or touches a file: blocks are passed to a function of the caller.
 */
#ifndef FOREFETCH_TRACE_WRITER_H
#define FOREFETCH_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/predictor.h"

/* Gets bytes to be written as a whole, in this order. It returns 0, or -errno,
 * which ends the trace: the caller gets it, and so does every later call. */
typedef int (*trace_sink)(void *ctx, const void *data, size_t len);

struct trace_writer;

/* NULL and errno: ENOMEM, or what the sink returned for the file's head. */
struct trace_writer *trace_writer_new(trace_sink sink, void *ctx);
/* Events that were not flushed are lost. */
void trace_writer_free(struct trace_writer *w);

/* 0 or -errno. A block is flushed every 256 events. */
int trace_writer_event(struct trace_writer *w, const struct predictor_obs *obs);
/* From here on the trace shows a run of `label`. Without marks, pauses divide
 * a trace into runs. */
int trace_writer_mark(
    struct trace_writer *w, uint64_t now_ns, const char *label);
int trace_writer_flush(struct trace_writer *w);

uint64_t trace_writer_bytes(const struct trace_writer *w);

#endif
