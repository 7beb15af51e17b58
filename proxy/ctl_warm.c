/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch warm: the daemon walks while this asks how far it is. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl_client.h"
#include "ctl_command.h"
#include "ctl_json.h"
#include "ctl_mount.h"
#include "ctl_text.h"

/* Between two questions, growing. */
enum { ASK_MIN_MS = 20, ASK_MAX_MS = 250 };

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void put_counts(FILE *out, const Forefetch__Warmed *w)
{
	char size[CTL_TEXT_MAX], got[CTL_TEXT_MAX], rate[CTL_TEXT_MAX];
	uint64_t us = w->elapsed_us ? w->elapsed_us : 1;

	fprintf(out,
	    "%" PRIu64 " directories, %" PRIu64 " files (%s), %" PRIu64
	    " calls, %s fetched, %s/s",
	    w->directories, w->files, ctl_text_bytes(size, w->file_bytes),
	    w->calls, ctl_text_bytes(got, w->fetched_bytes),
	    ctl_text_bytes(
		rate, (uint64_t)((double)w->fetched_bytes / (double)us * 1e6)));
}

static void put_progress(const Forefetch__Warmed *w)
{
	fputs("\r", stderr);
	put_counts(stderr, w);
	fprintf(stderr, "%s\033[K", w->waits ? ", waiting" : "");
	fflush(stderr);
}

static void put_result(const char *path, const Forefetch__Warmed *w)
{
	char time[CTL_TEXT_MAX];

	ctl_put_bytes(stdout, (const uint8_t *)path, strlen(path));
	fputs(": ", stdout);
	put_counts(stdout, w);
	printf(", %s%s\n", ctl_text_us(time, w->elapsed_us),
	    w->done ? "" : ", stopped");
	if (w->refused > 0)
		printf("  %" PRIu64 " refused by the server\n", w->refused);
	if (w->failed > 0)
		printf("  %" PRIu64 " failed\n", w->failed);
	if (w->full)
		puts("  more than the cache can hold (cache_size); the data "
		     "of the rest was left out");
}

static void put_json(
    struct ctl_json *j, const char *path, const Forefetch__Warmed *w)
{
	ctl_json_open(j, NULL, '{');
	ctl_json_bytes(j, "path", (const uint8_t *)path, strlen(path));
	ctl_json_bool(j, "done", w->done);
	ctl_json_number(j, "status", w->status);
	ctl_json_bool(j, "full", w->full);
	ctl_json_number(j, "directories", w->directories);
	ctl_json_number(j, "files", w->files);
	ctl_json_number(j, "others", w->others);
	ctl_json_number(j, "file_bytes", w->file_bytes);
	ctl_json_number(j, "fetched_bytes", w->fetched_bytes);
	ctl_json_number(j, "calls", w->calls);
	ctl_json_number(j, "refused", w->refused);
	ctl_json_number(j, "failed", w->failed);
	ctl_json_number(j, "elapsed_us", w->elapsed_us);
	ctl_json_close(j, '}');
}

static Forefetch__Response *ask(
    struct ctl_client *c, struct ctl_place *at, const struct ctl_options *opt)
{
	Forefetch__WarmRequest warm = FOREFETCH__WARM_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__Place place;

	if (at) {
		ctl_place_fill(at, &place);
		warm.place = &place;
		warm.metadata_only = opt->metadata;
	}
	request.command_case = FOREFETCH__REQUEST__COMMAND_WARM;
	request.warm = &warm;
	return ctl_ask(c, &request, FOREFETCH__RESPONSE__RESULT_WARM);
}

static void rest(unsigned *ms)
{
	const struct timespec ts = {
	    .tv_sec = *ms / 1000, .tv_nsec = *ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
	*ms = *ms * 2 > ASK_MAX_MS ? ASK_MAX_MS : *ms * 2;
}

/* The last answer; NULL after a message. */
static Forefetch__Response *walk(
    struct ctl_client *c, struct ctl_place *at, const struct ctl_options *opt)
{
	bool screen = !opt->json && isatty(STDERR_FILENO);
	Forefetch__Response *res = ask(c, at, opt);
	unsigned ms = ASK_MIN_MS;

	while (res && !res->warm->done && !stopped) {
		if (screen)
			put_progress(res->warm);
		rest(&ms);
		forefetch__response__free_unpacked(res, NULL);
		res = ask(c, NULL, opt);
	}
	if (screen)
		fputs("\r\033[K", stderr);
	return res;
}

static bool is_good(const char *path, const Forefetch__Warmed *w)
{
	if (w->status > 0) {
		/* These are the same in both worlds. */
		fprintf(stderr, "forefetch: %s: the server says: %s\n", path,
		    w->status <= 30 ? strerror((int)w->status)
				    : "it cannot be had");
		return false;
	}
	return w->done && w->refused == 0 && w->failed == 0;
}

static bool warm_one(
    const struct ctl_options *opt, const char *path, struct ctl_json *j)
{
	struct ctl_place at;
	struct ctl_client *c;
	Forefetch__Response *res = NULL;
	bool good = false;

	if (!ctl_place_find(path, &at))
		return false;
	c = ctl_open(opt->socket);
	if (c)
		res = walk(c, &at, opt);
	if (res) {
		good = is_good(path, res->warm);
		if (opt->json)
			put_json(j, path, res->warm);
		else if (!res->warm->status)
			put_result(path, res->warm);
		forefetch__response__free_unpacked(res, NULL);
	}
	/* Which ends a walk that goes on. */
	ctl_close(c);
	return good;
}

int ctl_warm(const struct ctl_options *opt)
{
	const struct sigaction act = {.sa_handler = on_signal};
	struct ctl_json j = {.out = stdout};
	bool good = true;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (opt->json) {
		ctl_json_open(&j, NULL, '{');
		ctl_json_open(&j, "trees", '[');
	}
	for (int i = 0; i < opt->nargs && !stopped; i++)
		good = warm_one(opt, opt->args[i], &j) && good;
	if (opt->json) {
		ctl_json_close(&j, ']');
		ctl_json_close(&j, '}');
		putchar('\n');
	}
	return good && !stopped ? EXIT_SUCCESS : EXIT_FAILURE;
}
