/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch top: live on a terminal, or in blocks of text or JSON. It asks once
 * by itself, so that an error is told like that of any other command, and then
 * either lets a thread ask (top_feed) and shows pages while keys are read, or
 * asks and prints in turns until enough was printed. */
#include "top/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_text.h"
#include "top/top_json.h"
#include "top/top_live.h"
#include "top/top_page.h"
#include "top/top_view.h"

#define INTERVAL_S 1.0

/* PLAIN_COLUMNS and PLAIN_ROWS are the size of a page that goes to no terminal;
 * most of its rows stay empty, and are not printed. */
enum {
	/* Columns of text that is no terminal's. */
	PLAIN_COLUMNS = 132,
	PLAIN_ROWS = 500,
	/* The greatest number of blocks that --number takes. */
	COUNT_MAX = 1000000000,
};

/* Prints a message on stderr; an exit code. */
static int complain(const char *what)
{
	fprintf(stderr, "forefetch: %s\n", what);
	return EXIT_FAILURE;
}

/* Prints why the daemon does not say what it does; an exit code. */
static int complain_of(const char *why)
{
	fprintf(
	    stderr, "forefetch: forefetchd: %s; see forefetch status\n", why);
	return EXIT_FAILURE;
}

/* ---- in blocks -------------------------------------------------------- */

/* Prints the rows of a page without the empty ones at its end; an empty line
 * separates it from the one before. */
static void print_page(const struct top_page *p, bool first)
{
	int end = top_page_rows(p);
	char *row;

	if (!first)
		putchar('\n');
	while (end > 0 && (row = top_page_row(p, end - 1)) != NULL) {
		bool empty = !*row;

		free(row);
		if (!empty)
			break;
		end--;
	}
	for (int i = 0; i < end; i++) {
		row = top_page_row(p, i);
		puts(row ? row : "");
		free(row);
	}
}

/* COLUMNS, as other programs take it, if it is set to a width of any use. */
static int plain_columns(void)
{
	const char *text = getenv("COLUMNS");
	int columns = text ? atoi(text) : 0;

	return columns >= 20 ? columns : PLAIN_COLUMNS;
}

static void pause_for(double seconds)
{
	double whole = (double)(time_t)seconds;
	const struct timespec ts = {.tv_sec = (time_t)whole,
	    .tv_nsec = (long)((seconds - whole) * 1e9)};

	(void)nanosleep(&ts, NULL);
}

/* Prints one block; false where nobody reads it any more. */
static bool print_block(const struct ctl_options *opt,
    const struct top_model *m, double interval_s, bool first)
{
	struct top_look look = {
	    .server = -1, .block = true, .interval_s = interval_s};
	struct top_page *p;

	if (opt->json) {
		top_json_print(stdout, m);
	} else {
		p = top_view_page(m, &look, plain_columns(), PLAIN_ROWS);
		if (p)
			print_page(p, first);
		top_page_free(p);
	}
	return fflush(stdout) == 0;
}

/* Prints `count` blocks, or for 0 as many as are read. A block tells what
 * happened since the sample before it, so each comes after an interval. With an
 * end, the first answer that fails ends it; without one, the daemon may come
 * back. */
static int run_blocks(const struct ctl_options *opt, struct top_asker *asker,
    struct top_model *m, double interval_s, long count)
{
	for (long i = 0; count == 0 || i < count; i++) {
		pause_for(interval_s);
		top_model_update(m, top_ask(asker));
		if (!print_block(opt, m, interval_s, i == 0))
			return EXIT_SUCCESS;
		if (m->away && (count > 0 || m->fatal))
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

/* ---- the command ------------------------------------------------------ */

/* How many blocks were asked for; 0: without an end; -1 after a message. */
static long count_of(const struct ctl_options *opt)
{
	char *end;
	long n;

	if (opt->once && opt->number) {
		(void)complain("--once and --number exclude each other");
		return -1;
	}
	if (opt->once)
		return 1;
	if (!opt->number)
		return 0;
	errno = 0;
	n = strtol(opt->number, &end, 10);
	if (!errno && end != opt->number && !*end && n > 0 && n <= COUNT_MAX)
		return n;
	fprintf(stderr,
	    "forefetch: --number takes how many blocks to print, from 1 on, "
	    "not %s\n",
	    opt->number);
	return -1;
}

/* Whether the display is live: a terminal at both ends that can move its
 * cursor, and nobody asked for blocks or JSON. */
static bool is_live(const struct ctl_options *opt, long count)
{
	const char *term = getenv("TERM");

	/* One that cannot move its cursor gets blocks of text, too. */
	return count == 0 && !opt->json && isatty(STDOUT_FILENO) &&
	       isatty(STDIN_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/* Whether the daemon answers and has the server that was named. If not, the
 * user is told what to do, as by other commands. */
static bool is_there(const struct ctl_options *opt)
{
	Forefetch__Response *res = ctl_status(opt->socket, opt->server);

	ctl_free(res);
	return res != NULL;
}

/* The first sample, or NULL after a message. */
static struct top_sample *first_sample(
    const struct ctl_options *opt, struct top_asker *asker)
{
	struct top_sample *s;

	if (!is_there(opt))
		return NULL;
	s = asker ? top_ask(asker) : NULL;
	if (s && s->status)
		return s;
	(void)complain_of(s ? s->error : "out of memory");
	top_sample_free(s);
	return NULL;
}

static int top_run(const struct ctl_options *opt)
{
	double interval_s = opt->interval_s > 0 ? opt->interval_s : INTERVAL_S;
	long count = count_of(opt);
	struct top_model model = {0};
	struct top_asker *asker;
	struct top_sample *first;
	char why[TOP_LIVE_WHY];
	int code = EXIT_FAILURE;

	if (count < 0)
		return CTL_EXIT_USAGE;
	asker = top_asker_new(opt->socket, opt->server);
	if (asker && !opt->json)
		top_asker_past(asker, TOP_PAST);
	first = first_sample(opt, asker);
	if (first && is_live(opt, count)) {
		code = top_live_run(opt, first, interval_s, why)
			   ? EXIT_SUCCESS
			   : complain(why);
	} else if (first) {
		top_model_update(&model, first);
		code = run_blocks(opt, asker, &model, interval_s, count);
		top_model_clear(&model);
	}
	top_asker_free(asker);
	return code;
}

const struct ctl_command top_command = {
    .name = "top",
    .usage = "[--interval SECONDS] [--once | -n N] [--json]\n"
	     "       [--server SERVER | SERVER]",
    .summary = "show current activity, live",
    .help = "Shows rates, not totals, of each server and mount, updated every "
	    "second: calls, bytes, the share that the caches answer, and the "
	    "waiting that was saved; also who waits and why, which calls wait "
	    "for the server, what is fetched ahead, and how the last "
	    "predictions turned out. You see your own calls; root sees those "
	    "of all users. Keys: q quits, h explains, s sorts, p pauses the "
	    "display, the arrows choose a server, w makes room for long names; "
	    "Tab shows one section alone, where the arrows choose a row and "
	    "Enter shows all of it; / leaves only rows with a text. "
	    "If the output is not a terminal, it prints blocks of text.\n",
    .options = "interval once number server json",
    .run = top_run,
};
