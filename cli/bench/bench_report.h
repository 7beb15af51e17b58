/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures of `forefetch bench`, for people and as JSON. */
#ifndef FOREFETCH_BENCH_REPORT_H
#define FOREFETCH_BENCH_REPORT_H

#include "bench/bench_job.h"
#include "bench/bench_stage.h"

/* Runs of a side, and the seconds of rest before each run through the daemon:
 * what that has confirmed with the server is old again then, as it is for a
 * user who comes back to it. */
enum { BENCH_RUNS_MAX = 99, BENCH_IDLE_S = 10 };

struct bench_figures {
	const struct bench_target *target;
	const struct bench_job *job;
	unsigned runs; /* of `direct`, and of `learned` */
	uint64_t round_trip_us;
	struct bench_run direct[BENCH_RUNS_MAX];
	struct bench_run first; /* through the daemon, with nothing cached */
	struct bench_run learned[BENCH_RUNS_MAX];
};

/* Print them on stdout. The arrays are sorted by time. */
void bench_report_text(struct bench_figures *f);
void bench_report_json(struct bench_figures *f);

#endif
