/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces of what clients do, for forefetch-sim, as long as somebody takes them.
 * Blocks wait in memory until they are taken; nothing is written to a file
 * here. A user's trace has only what the same uid did.
 */
#ifndef FOREFETCH_TRACER_H
#define FOREFETCH_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct predictor_obs;
struct tracer;
struct tracer_trace;

enum {
	TRACER_TRACES_MAX = 16,
	TRACER_TRACES_KEPT = 2, /* for root and the daemon's user (places.h) */
	TRACER_UID_MAX = 4,     /* of a uid other than these */
	TRACER_WAITS_MAX = 1 << 20,   /* bytes of one that wait to be taken */
	TRACER_BYTES_MAX = 256 << 20, /* of a whole trace */
};

/* NULL and errno without memory. */
struct tracer *tracer_new(void);
/* Traces must have ended before. */
void tracer_free(struct tracer *t);

/* A call was answered: traces that it is for get an event. Called for each
 * call, and cheap without a trace. */
void tracer_observe(struct tracer *t, const struct predictor_obs *obs);

/* Begins to trace one uid, or with `all` every one. NULL and errno: EBUSY where
 * there are too many, ENOMEM. */
struct tracer_trace *tracer_begin(struct tracer *t, uid_t uid, bool all);
/* Ends and frees a trace. NULL is allowed. */
void tracer_end(struct tracer_trace *x); /* NULL is allowed */

/* How a trace does, or why it has ended. */
enum tracer_state {
	TRACER_GOES_ON,
	TRACER_STOPPED, /* by tracer_stop() */
	TRACER_SLOW,    /* it was not taken fast enough */
	TRACER_FULL,    /* it has reached its size */
	TRACER_FAILED,  /* without memory */
};

/* Moves up to `max` bytes to `buf`; returns how many there were. Once the state
 * is another than GOES_ON and nothing comes any more, the trace is over. */
size_t tracer_take(
    struct tracer_trace *x, void *buf, size_t max, enum tracer_state *state);
/* Traces that `uid` began (or where `all`, of all) get nothing more. How many
 * have not ended yet. */
unsigned tracer_stop(struct tracer *t, uid_t uid, bool all);

#endif
