/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Observations as a trace for forefetch-sim, while somebody takes it: blocks
 * wait here for a moment, and nothing touches a file. A user's trace has but
 * what its own uid did.
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
	TRACER_UID_MAX = 4,           /* of them, of a uid other than 0 */
	TRACER_WAITS_MAX = 1 << 20,   /* bytes that nobody took yet */
	TRACER_BYTES_MAX = 256 << 20, /* of a trace */
};

/* NULL and errno without memory. */
struct tracer *tracer_new(void);
/* Traces must have ended before. */
void tracer_free(struct tracer *t);

void tracer_observe(struct tracer *t, const struct predictor_obs *obs);

/* Of one uid, or where `all`, of all. NULL and errno: EBUSY, ENOMEM. */
struct tracer_trace *tracer_begin(struct tracer *t, uid_t uid, bool all);
void tracer_end(struct tracer_trace *x); /* NULL is allowed */

enum tracer_state {
	TRACER_GOES_ON,
	TRACER_STOPPED, /* as below */
	TRACER_SLOW,    /* it was not taken fast enough */
	TRACER_FULL,    /* it has reached its size */
	TRACER_FAILED,  /* without memory */
};

/* Move up to `max` bytes to `buf`; how many there were. Once the state is
 * another than GOES_ON and nothing comes any more, the trace is over. */
size_t tracer_take(
    struct tracer_trace *x, void *buf, size_t max, enum tracer_state *state);
/* Traces that `uid` began (or where `all`, of all) get nothing more. How many
 * have not ended yet. */
unsigned tracer_stop(struct tracer *t, uid_t uid, bool all);

#endif
