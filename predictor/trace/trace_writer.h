/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a trace of observations (trace.proto), for forefetch-sim. Nothing
 * here waits or touches a file: blocks go to a function of the caller.
 */
#ifndef FOREFETCH_TRACE_WRITER_H
#define FOREFETCH_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/predictor.h"

/* To be written whole, in this order. 0, or -errno, which ends the trace:
 * it is returned to whoever called, and by every call from then on. */
typedef int (*trace_sink)(void *ctx, const void *data, size_t len);

struct trace_writer;

/* NULL and errno: ENOMEM, or what the sink said of the file's head. */
struct trace_writer *trace_writer_new(trace_sink sink, void *ctx);
/* What was not flushed is lost. */
void trace_writer_free(struct trace_writer *w);

/* 0 or -errno. Every 256 events a block is flushed. */
int trace_writer_event(struct trace_writer *w, const struct predictor_obs *obs);
/* From here on the trace shows `label`, another run of it if it did before:
 * without marks, pauses divide it. */
int trace_writer_mark(
    struct trace_writer *w, uint64_t now_ns, const char *label);
int trace_writer_flush(struct trace_writer *w);

uint64_t trace_writer_bytes(const struct trace_writer *w);

#endif
