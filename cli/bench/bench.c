/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch bench runs a job on a direct mount and through forefetchd in turns,
 * and shows what forefetch would bring. Nothing is configured or changed for
 * it: it has a daemon and mounts of its own.
 *
 *	bench ──┬─▶ bench_target   what was typed
 *	        ├─▶ bench_stage    the daemon and the mounts
 *	        ├─▶ bench_job      one run
 *	        └─▶ bench_report   the figures
 */
#include "bench/bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bench/bench_job.h"
#include "bench/bench_report.h"
#include "bench/bench_stage.h"
#include "bench/bench_target.h"
#include "ctl/ctl_text.h"

enum { RUNS = 3, OPT_JSON = 256, OPT_RUNS };

static const struct option longs[] = {
    {"json", no_argument, NULL, OPT_JSON},
    {"runs", required_argument, NULL, OPT_RUNS},
    {NULL, 0, NULL, 0},
};

struct bench {
	struct bench_stage *stage;
	struct bench_job job;
	unsigned step, steps; /* runs so far, and in all */
	uint64_t rested_us;   /* when the next run through the daemon may be */
};

/* One line on a terminal, which is written anew; NULL takes it away. */
static void put_progress(struct bench *b, const char *what)
{
	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	if (what)
		fprintf(stderr, "run %u of %u: %s ", ++b->step, b->steps, what);
	fflush(stderr);
}

/* Waits until the daemon has had its rest, or a signal comes. */
static void rest(struct bench *b)
{
	uint64_t now = clock_read_us();

	if (now < b->rested_us && !bench_job_ended())
		usleep((useconds_t)(b->rested_us - now));
}

/* Runs the job once on a mount that is made for it. False after a message or a
 * signal. */
static bool run_once(
    struct bench *b, enum bench_side side, bool loud, struct bench_run *out)
{
	const char *dir;
	uint64_t before = 0;
	bool good;

	put_progress(b, side == BENCH_DIRECT ? "direct" : "through forefetchd");
	if (side == BENCH_THROUGH)
		rest(b);
	/* The daemon begins to fetch ahead with the mount, and that counts. */
	if (side == BENCH_THROUGH)
		before = bench_stage_calls(b->stage, side);
	dir = bench_job_ended() ? NULL : bench_stage_mount(b->stage, side);
	if (!dir)
		return false;
	good = bench_job_run(&b->job, dir, loud, out);
	if (good)
		out->calls = bench_stage_calls(b->stage, side);
	out->calls -= out->calls < before ? out->calls : before;
	bench_stage_umount(b->stage, side);
	if (side == BENCH_THROUGH)
		b->rested_us = clock_read_us() + BENCH_IDLE_S * 1000000;
	put_progress(b, NULL);
	return good;
}

/* Whether the job can be done at all: the first run, which also brings what it
 * needs into the server's memory, and counts for nothing else. Its number of
 * files and bytes is that of all that follow. */
static bool rehearse(struct bench *b)
{
	struct bench_run run;

	if (!run_once(b, BENCH_DIRECT, true, &run))
		return false;
	if (run.status >= 126 || (!b->job.argv && run.status != 0)) {
		/* The job has said why, where it could not begin. */
		if (run.status >= 128)
			ctl_complain(NULL, "the job was ended by signal %d",
			    run.status - 128);
		return false;
	}
	if (!b->job.argv) {
		b->job.files_max = run.files;
		b->job.limit_s = 0;
	}
	return true;
}

/* Runs of both sides in turns, since links and machines change with time. */
static bool measure(struct bench *b, struct bench_figures *f)
{
	if (!rehearse(b) || !run_once(b, BENCH_THROUGH, false, &f->first))
		return false;
	for (unsigned i = 0; i < f->runs; i++)
		if (!run_once(b, BENCH_DIRECT, false, &f->direct[i]) ||
		    !run_once(b, BENCH_THROUGH, false, &f->learned[i]))
			return false;
	f->round_trip_us = bench_stage_round_trip(b->stage);
	return true;
}

/* A job that does not end alike on both sides has not done the same. */
static void compare_status(const struct bench_figures *f)
{
	int direct = f->direct[0].status;
	int other = f->first.status;

	for (unsigned i = 0; i < f->runs && other == direct; i++)
		other = f->learned[i].status;
	if (other != direct)
		ctl_complain(NULL,
		    "the job ended with status %d on the direct mount, and "
		    "with %d through forefetchd: the times are not of the same "
		    "work",
		    direct, other);
}

static int run(struct bench *b, const struct bench_target *target,
    unsigned runs, bool json)
{
	struct bench_figures *f = calloc(1, sizeof(*f));
	bool good = false;

	if (!f) {
		ctl_complain(NULL, "out of memory");
		return EXIT_FAILURE;
	}
	f->target = target;
	f->job = &b->job;
	f->runs = runs;
	b->steps = 2 + 2 * runs;
	b->stage = bench_stage_new(target);
	if (b->stage)
		good = measure(b, f);
	put_progress(b, NULL);
	if (good) {
		compare_status(f);
		if (json)
			bench_report_json(f);
		else
			bench_report_text(f);
	}
	bench_stage_free(b->stage);
	free(f);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int usage(void)
{
	ctl_complain(NULL,
	    "usage: forefetch bench [--runs N] [--json] DIR|HOST:/PATH "
	    "[COMMAND [ARG...]]");
	return CTL_EXIT_USAGE;
}

/* 1 to BENCH_RUNS_MAX; 0: it is no such number. */
static unsigned parse_runs(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && n <= BENCH_RUNS_MAX
		   ? (unsigned)n
		   : 0;
}

static int bench_main(int argc, char **argv, const char *socket)
{
	struct bench b = {.job = {.files_max = BENCH_FILES_MAX,
			      .bytes_max = BENCH_BYTES_MAX,
			      .limit_s = BENCH_FIRST_S}};
	struct bench_target target;
	unsigned runs = RUNS;
	bool json = false;
	int c;

	log_set_level(LOG_LEVEL_ERROR);
	optind = 1;
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c == OPT_JSON)
			json = true;
		else if (c == OPT_RUNS)
			runs = parse_runs(optarg);
		else
			return usage();
		if (runs == 0) {
			ctl_complain(NULL, "--runs is a number from 1 to %d",
			    BENCH_RUNS_MAX);
			return CTL_EXIT_USAGE;
		}
	}
	if (optind == argc)
		return usage();
	if (geteuid() != 0) {
		ctl_complain(NULL,
		    "bench mounts, which only root may; say sudo forefetch "
		    "bench, and the job still runs as you");
		return EXIT_FAILURE;
	}
	if (!bench_target_find(argv[optind], socket, &target))
		return EXIT_FAILURE;
	b.job.argv = argv[optind + 1] ? argv + optind + 1 : NULL;
	b.job.below = target.below;
	bench_job_user(&b.job);
	bench_job_hold_signals();
	return run(&b, &target, runs, json);
}

const struct ctl_command bench_command = {
    .name = "bench",
    .usage = "[--runs N] [--json] DIR|HOST:/PATH [COMMAND [ARG...]]",
    .summary = "measure what forefetch would bring for a job",
    .help =
	"Runs COMMAND in DIR, a directory on a mount of NFS, or at HOST:/PATH, "
	"on a direct mount\nand through forefetchd in turns, and compares the "
	"times and the calls to the server.\nWithout a COMMAND the job is to "
	"list all directories, and to ask for the attributes\nof each file "
	"and read it, for up to 20,000 files, 256 MiB and a minute.\n\n"
	"It changes nothing: it has a daemon of its own, with empty caches, "
	"and mounts that\nonly it sees and that can only be read; all of it "
	"ends with it. Root alone may\nmount; the job runs as the user who "
	"called sudo(8).\n\n"
	"  --runs N  runs of each side, whose median counts (3)\n"
	"  --json    print JSON, one value a line\n",
    .options = "",
    .main = bench_main,
};
