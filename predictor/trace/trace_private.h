/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the readers of the two formats share. */
#ifndef FOREFETCH_TRACE_PRIVATE_H
#define FOREFETCH_TRACE_PRIVATE_H

#include "predictor/store/keymap.h"
#include "predictor/trace/trace.h"

struct reader {
	struct trace *t;
	struct keymap *runs, *labels, *files, *dirs;
	uint64_t *run_time_us; /* of each run's last line */
	size_t cap_events, cap_files, cap_dirs, cap_runs, cap_labels;
};

/* Room for one more than `n`; what is new is zero. */
bool trace_vec_grow(void **vec, size_t n, size_t *cap, size_t each);

#define VEC_GROW(vec, n, cap)                                                  \
	trace_vec_grow((void **)&(vec), n, &(cap), sizeof(*(vec)))

/* UINT32_MAX without memory. */
uint32_t trace_label_get(struct reader *r, const char *name);
/* Time since the last event, as it is played. */
uint32_t trace_think_us(uint64_t *last_us, uint64_t now_us);
/* Sets the message and returns -EINVAL. */
int trace_fail(char *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* trace_blocks.c: trace.proto. 0, or -EINVAL and the message. */
int trace_read_blocks(struct reader *r, FILE *in, const char *name, char *err);

#endif
