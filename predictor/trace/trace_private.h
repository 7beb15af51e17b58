/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds a trace while it is read, for the readers of both formats. */
#ifndef FOREFETCH_TRACE_PRIVATE_H
#define FOREFETCH_TRACE_PRIVATE_H

#include "predictor/store/keymap.h"
#include "predictor/store/vec.h"
#include "predictor/trace/trace.h"

struct reader {
	struct trace *t;
	struct keymap *runs, *labels, *files, *dirs;
	uint64_t *run_time_us; /* of each run's last line */
	uint32_t cap_events, cap_files, cap_dirs, cap_runs, cap_labels;
	uint32_t cap_times;
};

/* These return a number, or UINT32_MAX without memory: the trace is of no use
 * then. A directory and a file are new; nothing but path and key is set. */
uint32_t trace_dir_new(
    struct reader *r, uint64_t key, const char *path, size_t len);
uint32_t trace_file_new(struct reader *r, uint64_t key, const char *path);
/* The run is made if the key is new; it began at that time then. */
uint32_t trace_run_get(struct reader *r, uint64_t key, const char *name,
    const char *label, uint64_t time_us);
/* Appends an event of that run and file, with its think time; the rest of it is
 * zero. NULL without memory. */
struct trace_event *trace_event_new(
    struct reader *r, uint32_t run, uint32_t file, uint64_t time_us);
/* Writes the message to `err` and returns -EINVAL. */
int trace_fail(char *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The number of the file with that path, made if it is new. */
uint32_t trace_path_get(struct reader *r, const char *path);
/* Keys of text; never zero. */
uint64_t trace_hash(const char *s, size_t len, uint64_t seed);
/* Calls `take` for each line that is neither empty nor a comment; it returns
 * what is wrong with the line, or NULL. 0, or -EINVAL and the message. */
int trace_lines(FILE *in, const char *name,
    const char *(*take)(void *ctx, char *line), void *ctx, char *err);

/* trace_names.c: the names of all files, after the trace itself. 0, or -EINVAL
 * and the message. */
int trace_read_names(struct reader *r, FILE *in, const char *name, char *err);

/* trace_blocks.c: the format of trace.proto. 0, or -EINVAL and the message. */
int trace_read_blocks(struct reader *r, FILE *in, const char *name, char *err);

#endif
