/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The predictors that forefetch-sim compares: published ones, limits, and ours.
 * Each is a struct model_ops, so that one issue policy, queue and cache serve
 * them all. This folder may use store/ and predictor.h; it is no part of what
 * the daemon links.
 *
 *	           observe         predict            what is fetched
 *	sim_ask.c ────────▶ model ────────▶ sim.c ──────────────▶ cache
 *	                      ▲                       feedback      │
 *	                      └─────────────────────────────────────┘
 *
 * A new baseline is one new file and one line in models.c.
 */
#ifndef FOREFETCH_MODEL_H
#define FOREFETCH_MODEL_H

#include "predictor/predictor.h"

struct model_options {
	size_t budget_bytes;
	bool use_pids;
	uint32_t without; /* bits of enum predictor_part, for ours */
};

/* The objects that come next in the stream of an event, for oracles. */
struct model_future {
	const uint64_t *objects; /* in the order of their use */
	const bool *seen;        /* it was used before in this simulation */
	const bool *listed;      /* its directory was listed */
	size_t n;
};

struct model_ops {
	const char *name;
	const char *what; /* for --list */
	/* All that it predicts is fetched, as the judge's cost model has it
	 * for its own rows; else simpolicy.h decides. */
	bool ungated;
	/* Bytes of its state, which begins as zero; or `create`, which returns
	 * NULL and sets errno without memory. */
	size_t size;
	void *(*create)(const struct model_options *opt);
	void (*destroy)(void *m); /* free() if NULL */
	void (*observe)(void *m, const struct predictor_obs *o);
	/* Called after each observe. Returns how many, `max` at most. */
	size_t (*predict)(void *m, struct prediction *out, size_t max);
	/* The rest may be NULL. */
	void (*feedback)(void *m, uint64_t object, enum predictor_outcome what);
	void (*list)(void *m, uint64_t uid, uint64_t dir,
	    const struct predictor_dirent *ents, size_t n);
	void (*place_dir)(void *m, uint64_t uid, uint64_t dir, uint64_t parent,
	    uint64_t name_hash);
	void (*future)(void *m, const struct model_future *f);
	size_t (*memory_bytes)(const void *m);
	bool (*reliability)(const void *m, struct predictor_reliability *r);
};

/* Where a baseline has no estimate below it, it is never surer than this. */
#define P_MOST 0.99f

/* Prediction number `n`, counted from 0, is the object. */
static inline void model_predict(
    struct prediction *out, size_t n, uint64_t object, float p)
{
	out[n] = (struct prediction){
	    .object = object, .p = p, .lead = (uint32_t)n + 1};
}

/* All of them, NULL at the end; the judge's rows come first. */
extern const struct model_ops *const models[];
const struct model_ops *model_find(const char *name);
/* The predictor's state, to be freed by model_free(); NULL and errno without
 * memory. */
void *model_new(const struct model_ops *ops, const struct model_options *opt);
void model_free(const struct model_ops *ops, void *m); /* NULL is allowed */

#endif
