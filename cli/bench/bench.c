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
	unsigned step, steps; /* the number of this run, and of all */
	/* Of the last run through the daemon: it, when the next one may be, and
	 * how many calls there were before it. */
	struct bench_run *last;
	uint64_t rested_us, before;
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

/* Waits until the daemon has had its rest. The calls that it made until then
 * are the last run's, since it goes on to fetch ahead when the job has ended.
 * False after a message or a signal. */
static bool rest(struct bench *b)
{
	uint64_t now = clock_read_us(), calls;

	if (now < b->rested_us && !bench_job_sleep(b->rested_us - now))
		return false;
	if (!bench_stage_calls(b->stage, BENCH_THROUGH, &calls))
		return false;
	if (b->last)
		b->last->calls = calls - b->before;
	b->before = calls;
	return true;
}

/* Runs the job on a mount that is there. */
static bool run_there(struct bench *b, enum bench_side side, const char *dir,
    bool loud, struct bench_run *out)
{
	pid_t daemon = bench_stage_daemon(b->stage);
	uint64_t before, after;

	/* The kernel may count calls of the user's own mount, too. */
	if (side == BENCH_DIRECT && !bench_stage_calls(b->stage, side, &before))
		return false;
	if (!bench_job_run(&b->job, dir, loud, daemon, out))
		return false;
	if (side == BENCH_THROUGH) {
		b->last = out;
		b->rested_us = clock_read_us() + BENCH_IDLE_S * 1000000;
		return true;
	}
	if (!bench_stage_calls(b->stage, side, &after))
		return false;
	out->calls = after - before;
	return true;
}

/* Runs the job once on a mount that is made for it. False after a message or a
 * signal. */
static bool run_once(
    struct bench *b, enum bench_side side, bool loud, struct bench_run *out)
{
	const char *dir;
	bool good = false;

	put_progress(b, side == BENCH_DIRECT ? "direct" : "through forefetchd");
	if (side == BENCH_THROUGH && !rest(b))
		return false;
	dir = bench_job_ended() ? NULL : bench_stage_mount(b->stage, side);
	/* The job has the line. */
	if (loud)
		put_progress(b, NULL);
	if (dir)
		good = run_there(b, side, dir, loud, out);
	bench_stage_umount(b->stage, side);
	put_progress(b, NULL);
	return good;
}

/* Finds whether the job can be done at all, by a first run, which also brings
 * what it needs into the server's memory, and counts for nothing else. Its
 * number of files is that of all that follow. */
static bool rehearse(struct bench *b)
{
	struct bench_run run;

	if (!run_once(b, BENCH_DIRECT, true, &run))
		return false;
	if (run.signalled) {
		ctl_complain(
		    NULL, "the job was ended by signal %d", run.status - 128);
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
	return rest(b);
}

/* A job that does not end alike in all runs has not done the same, and one that
 * fails in all of them has perhaps not done what was meant. */
static void tell_status(const struct bench_figures *f)
{
	int first = f->first.status;
	bool same = true;

	for (unsigned i = 0; i < f->runs; i++)
		same = same && f->direct[i].status == first &&
		       f->learned[i].status == first;
	if (!same)
		ctl_complain(NULL,
		    "the job did not end with the same status each time (%d on "
		    "the direct mount, then %d): the times are not of the same "
		    "work",
		    f->direct[0].status, first);
	else if (first != 0)
		ctl_complain(NULL,
		    "the job ended with status %d each time; both mounts can "
		    "only be read",
		    first);
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
	bench_stage_free(b->stage);
	if (good) {
		tell_status(f);
		if (json)
			bench_report_json(f);
		else
			bench_report_text(f);
	}
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

/* Parses the options. 0, or an exit code after a message; `optind` is at what
 * follows them. */
static int parse_options(int argc, char **argv, unsigned *runs, bool *json)
{
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c == OPT_JSON)
			*json = true;
		else if (c == OPT_RUNS)
			*runs = parse_runs(optarg);
		else
			return usage();
	}
	if (*runs == 0) {
		ctl_complain(
		    NULL, "--runs is a number from 1 to %d", BENCH_RUNS_MAX);
		return CTL_EXIT_USAGE;
	}
	return optind == argc ? usage() : 0;
}

static int bench_main(int argc, char **argv, const char *socket)
{
	struct bench b = {.job = {.files_max = BENCH_FILES_MAX,
			      .bytes_max = BENCH_BYTES_MAX,
			      .limit_s = BENCH_FIRST_S}};
	struct bench_target target;
	unsigned runs = RUNS;
	bool json = false;
	int code = parse_options(argc, argv, &runs, &json);

	if (code)
		return code;
	log_set_level(LOG_LEVEL_ERROR);
	if (geteuid() != 0) {
		ctl_complain(NULL,
		    "bench mounts, which only root may; say sudo forefetch "
		    "bench, and the job still runs as you");
		return EXIT_FAILURE;
	}
	if (!bench_target_find(argv[optind], socket, &target) ||
	    !bench_job_user(&b.job))
		return EXIT_FAILURE;
	b.job.argv = argv[optind + 1] ? argv + optind + 1 : NULL;
	b.job.below = target.below;
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
	"It does not touch the daemon and the mounts of this machine: it has "
	"a daemon of its\nown, with empty caches, and mounts that only the job "
	"sees, at the place of DIR's,\nand that can only be read; all of it "
	"ends with it. Root alone may mount; the job\nruns as the user who "
	"called sudo(8).\n\n"
	"  --runs N  runs of each side, whose median counts (3)\n"
	"  --json    print JSON, one value a line\n",
    .options = "",
    .main = bench_main,
};
