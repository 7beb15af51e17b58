/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A predictor in virtual time, and processes that read one file after another.
 */
#ifndef FOREFETCH_TEST_PREDICTOR_LEARN_FIXTURE_H
#define FOREFETCH_TEST_PREDICTOR_LEARN_FIXTURE_H

#include "unittest.h"
#include "predictor/predictor.h"

#define MS 1000000ull

struct world {
	struct predictor *p;
	uint64_t now_ns;
	struct prediction out[512];
	size_t n;
};

static inline void world_begin(struct world *w, size_t budget_bytes)
{
	struct predictor_options opt = {.budget_bytes = budget_bytes};

	*w = (struct world){.p = predictor_new(&opt), .now_ns = 1000 * MS};
	assert_non_null(w->p);
}

static inline void world_end(struct world *w)
{
	predictor_free(w->p);
}

static inline void world_open(struct world *w)
{
	world_begin(w, 0);
}

/* One read of `latency` at the present time, in directory `dir`. */
static inline void see_at(struct world *w, uint64_t object, uint64_t dir,
    uint64_t latency_ns, bool exec)
{
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .exec = exec,
	    .now_ns = w->now_ns,
	    .latency_ns = latency_ns,
	    .actor = 7,
	    .object = object,
	    .parent = dir,
	    .name_hash = object * 31 + 5,
	    .size_bytes = 1000};

	predictor_observe(w->p, &o);
	w->n = predictor_predict(w->p, w->out, 256);
}

/* A process that waits for its reply, then thinks for 0.2 ms. */
static inline void see(struct world *w, uint64_t object)
{
	see_at(w, object, 0, 10 * MS, false);
	w->now_ns += 10 * MS + MS / 5;
}

static inline void pause_run(struct world *w)
{
	w->now_ns += 2000 * MS;
}

static inline struct predictor_stats stats(const struct world *w)
{
	struct predictor_stats st;

	predictor_get_stats(w->p, &st);
	return st;
}

#endif
