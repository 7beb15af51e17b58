/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The judge: a closed-loop simulation of a trace. A hit brings the later
 * events of its stream forward, prefetches share the link with demand, and
 * predictors are tested before they are trained. The cost model stands in
 * sim.c. The folder may use trace/, baselines/ and store/; the daemon does not
 * link it.
 *
 *	sim_run.c: the whole trace, then first runs on their own
 *	trace ──▶ sim.c ── observe, listings (sim_ask.c) ──▶ model
 *	            │ ◀──────────── predictions ───────────────┘
 *	            ├─ is it worth it? (simpolicy.c)
 *	            ├─ fetch ──▶ simcache.c
 *	            └─ result ──▶ sim_report.c
 */
#ifndef FOREFETCH_SIM_H
#define FOREFETCH_SIM_H

#include "predictor/baselines/model.h"
#include "predictor/trace/trace.h"

/* The world that is played, and how. Times in seconds, rates in bytes a second.
 */
struct sim_options {
	unsigned streams; /* that each client plays at a time */
	unsigned clients;
	double rtt_s, bytes_per_s;
	size_t cache_bytes;
	/* Weight of waste against saving in the issue policy (simpolicy.h):
	 * more is more careful. */
	double price;
	double noise; /* share of events that nobody waits for */
	bool use_pids;
	bool evict; /* a run begins with none of its files in the cache */
	bool calls; /* the finer model: names, attributes, listings too */
	/* Plays each label's first run after all other workloads as well;
	 * takes as many times as long as there are labels. */
	bool others;
	uint64_t seed;
	size_t budget_bytes;
	uint32_t without; /* parts of our predictor: predictor.h */
	/* Called every few thousand events; may be NULL. */
	void (*on_progress)(void *ctx, size_t done, size_t of);
	void *progress_ctx;
};

/* Sums over the events of a class: what was demanded, how long it took, and
 * what became of prefetches. `base_s` is the time without any cache. */
struct sim_class {
	uint64_t events, hits, issued, used, late, unused;
	uint64_t demand_bytes, waste_bytes;
	double stall_s, base_s;
};

/* A label is a workload, or its second checkout. */
struct sim_label {
	struct sim_class all; /* cold and warm together */
	/* Its first run: where it stands in the trace; with an empty predictor
	 * and cache; with an empty cache and a predictor that has learned all
	 * other workloads. */
	struct sim_class cold, first, others;
};

struct sim_result {
	const char *predictor;
	unsigned streams, clients;
	double price;
	/* Cold are the first runs of the labels where they stand in the trace,
	 * warm all other runs. The last two are those of the labels, added up:
	 * each first run is played on its own, in one stream. */
	struct sim_class cold, warm, first, others;
	bool has_others;
	struct sim_label *labels;
	size_t nlabels;
	double ns_per_event; /* of observe and predict, by the host's clock */
	double bytes_per_event; /* the predictor's memory at the end */
	uint64_t seen;          /* events that the predictor observed */
	bool has_reliability;
	struct predictor_reliability reliability;
};

/* Plays the trace for that predictor; `res` is filled, and sim_result_done()
 * frees what it has. 0 or -errno, and then there is nothing to free. Time is
 * linear in the events, times the labels with `others`. */
int sim_run(const struct trace *t, const struct model_ops *ops,
    const struct sim_options *opt, struct sim_result *res);
void sim_result_done(struct sim_result *res);

/* Time with the predictor over the time without any cache: the judge's stall
 * ratio. */
double sim_stall(const struct sim_class *c);
double sim_precision(const struct sim_class *c); /* used ÷ issued */
/* Bytes prefetched in vain over bytes demanded. */
double sim_waste(const struct sim_class *c);
double sim_late(const struct sim_class *c); /* late ÷ used */
/* How many labels' first runs stall more, by over a hundredth, after the other
 * workloads than with nothing learned; needs `others`. */
size_t sim_hindered(const struct sim_result *res);

#endif
