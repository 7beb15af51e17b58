/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two halves of the simulator share: sim.c plays the trace, sim_ask.c
 * shows a predictor what happens. */
#ifndef FOREFETCH_SIM_PRIVATE_H
#define FOREFETCH_SIM_PRIVATE_H

#include "predictor/sim/sim.h"
#include "predictor/sim/simcache.h"
#include "predictor/store/keymap.h"

enum {
	/* The judge's cost model: a file's bytes, prefetches an event. */
	BLOCK_BYTES = 65536,
	AHEAD_MAX = 64,
	/* The finer model: prefetches an event, and bytes of a reply with
	 * attributes and of an entry of a listing; forefetch-sim(1). */
	AHEAD_CALLS = 256,
	META_BYTES = 256,
	DIRENT_BYTES = 192,
	PROGRESS_EVERY = 4096, /* events */
};

/* What the cache may have of a file; in the judge's model only data. */
enum part { PART_DATA, PART_META, PART_LISTING, PARTS };

/* A stream that plays its runs, one after another. */
struct player {
	uint32_t run; /* nruns at the end */
	uint32_t event;
	double next_s; /* when its next event comes */
};

/* A directory whose listing is on its way to the predictor. */
struct listing {
	double arrival_s;
	uint32_t dir;
};

struct sim {
	const struct trace *t;
	const struct sim_options *opt;
	const struct model_ops *ops;
	void *model;
	struct sim_result *res;
	struct simcache *cache;
	struct keymap *files, *dirs; /* key → number */
	uint32_t *met; /* by file: the last run that got its attributes, plus
			* 1 */
	struct player *players;
	bool *seen, *listed; /* files, directories */
	bool *placed;        /* directories */
	struct listing *listings;
	size_t nlistings, listings_done;
	double link_free_s, now_s;
	uint64_t rng, spent_ns;
	size_t done;
	struct model_future future;
	uint64_t future_objects[AHEAD_MAX];
	bool future_seen[AHEAD_MAX], future_listed[AHEAD_MAX];
};

/* sim_ask.c */
/* The predictor observes the event and says what comes next; returns how many
 * predictions. */
size_t sim_ask(struct sim *s, const struct trace_event *ev, double latency_s,
    struct prediction *preds);
/* The predictor will be shown the directory's listing at that time. */
void sim_want_listing(struct sim *s, uint32_t dir, double arrival_s);
/* Shows the predictor the listings that have arrived by now. */
void sim_deliver_listings(struct sim *s);

#endif
