/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the simulator asks of a predictor, ours or another: the same three
 * verbs for all, so that one issue policy, queue and cache serve them.
 */
#ifndef FOREFETCH_MODEL_H
#define FOREFETCH_MODEL_H

#include "predictor/predictor.h"

struct model_options {
	size_t budget_bytes;
	bool use_pids;
	size_t ahead; /* oracles: how many */
};

/* What is to come in the stream that an event belongs to: oracles only. */
struct model_future {
	const uint64_t *objects; /* behind the event, first comes first */
	const bool *seen;        /* was used before in this simulation */
	const bool *listed;      /* or lies in a directory that was listed */
	size_t n;
};

struct model_ops {
	const char *name;
	const char *what;
	/* A row of the judge: all that it says is fetched, no gate. */
	bool ungated;
	bool wants_listings;
	bool wants_future;
	void *(*create)(const struct model_options *opt); /* NULL, errno */
	void (*destroy)(void *m);
	void (*observe)(void *m, const struct predictor_obs *o);
	/* After each observe. */
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

extern const struct model_ops model_none, model_last_successor,
    model_last_successor_8, model_graph, model_ppm, model_epcm, model_nexus,
    model_mithril, model_atree, model_oracle_64, model_oracle_history,
    model_oracle_listed, model_forefetch;

/* All of them, NULL at the end; the judge's rows come first. */
extern const struct model_ops *const models[];
const struct model_ops *model_find(const char *name);

#endif
