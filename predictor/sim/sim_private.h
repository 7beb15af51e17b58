/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structs and functions that the parts of the simulator share: sim_run.c says
 * what is played and in how many passes, sim.c plays it, sim_ask.c shows a
 * predictor what happens. */
#ifndef FOREFETCH_SIM_PRIVATE_H
#define FOREFETCH_SIM_PRIVATE_H

#include "predictor/sim/sim.h"
#include "predictor/sim/simcache.h"
#include "predictor/store/keymap.h"

/* From the end of a stream's run to the beginning of its next one. */
#define RUN_GAP_S 1.0

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
	/* An event is counted in that many places at most. */
	TALLIES = 3,
};

/* The pass that is being played, by which results are counted. */
enum pass {
	PASS_ALL,    /* the whole trace, in its order */
	PASS_FIRST,  /* one label's first run, with nothing learned */
	PASS_LEARN,  /* the other workloads, of which nothing is counted */
	PASS_OTHERS, /* one label's first run, after these */
};

/* The parts of a file that the cache may have; in the judge's model only data.
 */
enum part { PART_DATA, PART_META, PART_LISTING, PARTS };

/* A stream that plays its runs, one after another. */
struct player {
	size_t at;  /* in the pass's runs; nruns at the end */
	bool begun; /* the run has had an event */
	uint32_t event;
	double next_s; /* when its next event comes */
};

/* A directory whose listing is on its way to the predictor. */
struct sim_listing {
	double arrival_s;
	uint32_t dir;
	uint32_t run; /* its names are those of that time */
};

struct sim {
	const struct trace *t;
	const struct sim_options *opt;
	const struct model_ops *ops;
	void *model;
	struct sim_result *res;
	enum pass pass;
	struct sim_class nowhere; /* for what is not counted */
	const uint32_t *runs;     /* what is played, by number */
	size_t nruns;
	struct simcache *cache;
	struct keymap *files, *dirs; /* key → number */
	uint32_t *met; /* by file: the last run that got its attributes, plus
			* 1 */
	struct player *players;
	unsigned nplayers;   /* the streams of all clients */
	unsigned client;     /* whose event it is, from 0 on */
	unsigned *client_of; /* labels */
	unsigned *player_of; /* the pass's runs */
	bool *seen;          /* files */
	uint32_t *listed;    /* directories: in which run, plus 1 */
	bool *placed;        /* directories */
	struct sim_listing *listings;
	uint32_t cap_listings;
	size_t nlistings, listings_done;
	double link_free_s, now_s;
	uint64_t rng;
	uint64_t spent_ns, observed; /* over all passes */
	size_t done;
	struct model_future future;
	uint64_t future_objects[AHEAD_MAX];
	bool future_seen[AHEAD_MAX], future_listed[AHEAD_MAX];
};

/* sim.c */
/* Plays these runs, dealt to the streams of all clients, from the present on.
 */
void sim_play(struct sim *s, const uint32_t *runs, size_t n);
/* The cache calls this when it evicts a unit. */
void sim_on_evict(void *ctx, uint32_t unit, const struct simcache_entry *e);

/* sim_ask.c */
/* The predictor observes the event and says what comes next; returns how many
 * predictions. */
size_t sim_ask(struct sim *s, const struct trace_event *ev, double latency_s,
    struct prediction *preds);
/* The predictor will be shown the directory's listing a round trip later, if
 * there are names in it, in that run, that it was not shown. */
void sim_want_listing(struct sim *s, uint32_t dir, uint32_t run);
/* Whether the predictor was shown the file in a listing, or will be. */
bool sim_is_listed(const struct sim *s, uint32_t file);
/* Shows the predictor the listings that have arrived by now. */
void sim_deliver_listings(struct sim *s);

#endif
