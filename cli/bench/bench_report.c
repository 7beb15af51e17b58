/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Medians, and how they compare with the direct mount. */
#include "bench/bench_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_text.h"
#include "text/json.h"

static int compare(const void *a, const void *b)
{
	const struct bench_run *x = a, *y = b;

	return (x->elapsed_us > y->elapsed_us) -
	       (x->elapsed_us < y->elapsed_us);
}

/* Sorts the runs, and returns the one in the middle: the slower of two. */
static const struct bench_run *median(struct bench_run *list, unsigned n)
{
	qsort(list, n, sizeof(*list), compare);
	return &list[n / 2];
}

/* Writes how much faster it was; less than a twentieth is no difference. */
static void put_ratio(uint64_t direct_us, uint64_t us)
{
	double ratio = (double)direct_us / (double)(us ? us : 1);

	if (ratio >= 9.95)
		printf("   %.0f times as fast", ratio);
	else if (ratio >= 1.05)
		printf("   %.1f times as fast", ratio);
	else if (ratio > 0.95)
		printf("   as fast");
	else
		printf("   %.1f times as long", 1 / ratio);
}

static void put_row(
    const char *what, const struct bench_run *run, uint64_t direct_us)
{
	char buf[CTL_TEXT_MAX];

	printf("%-24s%10s%10" PRIu64, what, ctl_text_us(buf, run->elapsed_us),
	    run->calls);
	if (direct_us)
		put_ratio(direct_us, run->elapsed_us);
	putchar('\n');
}

static void put_text(const char *text)
{
	ctl_put_bytes(stdout, (const uint8_t *)text, strlen(text));
}

/* The job, and where it ran. */
static void put_job(const struct bench_figures *f)
{
	const struct bench_run *walked = &f->direct[0];
	char buf[CTL_TEXT_MAX];

	put_text(f->target->source.text);
	if (*f->target->below) {
		fputs(", in ", stdout);
		put_text(f->target->below);
	}
	fputs(", as ", stdout);
	put_text(f->job->user);
	if (f->round_trip_us)
		printf(", round trip %s", ctl_text_us(buf, f->round_trip_us));
	fputs("\njob:", stdout);
	for (char **word = f->job->argv; word && *word; word++) {
		putchar(' ');
		put_text(*word);
	}
	if (!f->job->argv)
		printf(" list all directories, and look at and read %" PRIu64
		       " files and directories (%s)",
		    walked->files, ctl_text_bytes(buf, walked->bytes));
	putchar('\n');
}

void bench_report_text(struct bench_figures *f)
{
	const struct bench_run *direct = median(f->direct, f->runs);
	const struct bench_run *learned = median(f->learned, f->runs);

	put_job(f);
	printf("\n%-24s%10s%10s\n", "", "time", "calls");
	put_row("direct mount", direct, 0);
	put_row("forefetch, first run", &f->first, direct->elapsed_us);
	put_row("forefetch, trained", learned, direct->elapsed_us);
	if (f->runs > 1)
		printf("\nMedians of %u runs. ", f->runs);
	else
		fputs("\nOne run of each. ", stdout);
	printf("The kernel had nothing cached before any of them,\nand those "
	       "of forefetch began %d s or more after the one before.\n",
	    BENCH_IDLE_S);
	if (!f->target->through) {
		fputs("To have it so: forefetch mount ", stdout);
		put_text(f->target->source.text);
		puts(" DIR");
	}
}

/* ---- JSON ------------------------------------------------------------- */

static void json_run(
    struct json *j, const char *key, const struct bench_run *run)
{
	json_open(j, key, '{');
	json_number(j, "elapsed_us", run->elapsed_us);
	json_number(j, "calls", run->calls);
	json_number(j, "status", (uint64_t)run->status);
	json_close(j, '}');
}

static void json_runs(
    struct json *j, const char *key, struct bench_run *list, unsigned n)
{
	const struct bench_run *middle = median(list, n);

	json_open(j, key, '{');
	json_number(j, "median_us", middle->elapsed_us);
	json_number(j, "calls", middle->calls);
	json_open(j, "runs", '[');
	for (unsigned i = 0; i < n; i++)
		json_run(j, NULL, &list[i]);
	json_close(j, ']');
	json_close(j, '}');
}

void bench_report_json(struct bench_figures *f)
{
	struct json j = {.out = stdout};

	json_open(&j, NULL, '{');
	json_text(&j, "source", f->target->source.text);
	if (*f->target->below)
		json_text(&j, "below", f->target->below);
	else
		json_null(&j, "below");
	json_text(&j, "user", f->job->user);
	if (f->round_trip_us)
		json_number(&j, "round_trip_us", f->round_trip_us);
	else
		json_null(&j, "round_trip_us");
	if (f->job->argv) {
		json_open(&j, "command", '[');
		for (char **word = f->job->argv; *word; word++)
			json_text(&j, NULL, *word);
		json_close(&j, ']');
	} else {
		json_null(&j, "command");
	}
	if (f->job->argv) {
		json_null(&j, "files");
		json_null(&j, "bytes");
	} else {
		json_number(&j, "files", f->direct[0].files);
		json_number(&j, "bytes", f->direct[0].bytes);
	}
	json_runs(&j, "direct", f->direct, f->runs);
	json_run(&j, "first", &f->first);
	json_runs(&j, "learned", f->learned, f->runs);
	json_close(&j, '}');
	putchar('\n');
}
