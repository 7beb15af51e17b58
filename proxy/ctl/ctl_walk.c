/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What warm, pin and hint do while the daemon works. */
#include "ctl/ctl_walk.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_text.h"

/* Between two questions, growing. */
enum { ASK_MIN_MS = 20, ASK_MAX_MS = 250 };

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

void ctl_walk_put(FILE *out, const Forefetch__Warmed *w)
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

bool ctl_walk_stopped(void)
{
	return stopped != 0;
}

void ctl_walk_catch(void)
{
	const struct sigaction act = {.sa_handler = on_signal};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static void put_progress(const Forefetch__Warmed *w)
{
	fputs("\r", stderr);
	ctl_walk_put(stderr, w);
	fprintf(stderr, "%s\033[K", w->waits ? ", waiting" : "");
	fflush(stderr);
}

void ctl_walk_rest(struct ctl_walk *s)
{
	unsigned ms = s->ms ? s->ms : ASK_MIN_MS;
	const struct timespec ts = {
	    .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
	s->ms = ms * 2 > ASK_MAX_MS ? ASK_MAX_MS : ms * 2;
}

bool ctl_walk_is_shown(const struct ctl_walk *s)
{
	return !s->quiet && isatty(STDERR_FILENO);
}

void ctl_walk_show(struct ctl_walk *s, const Forefetch__Warmed *w)
{
	if (ctl_walk_is_shown(s))
		put_progress(w);
	ctl_walk_rest(s);
}

void ctl_walk_clear(const struct ctl_walk *s)
{
	if (ctl_walk_is_shown(s))
		fputs("\r\033[K", stderr);
}

void ctl_walk_put_errors(const Forefetch__Warmed *w)
{
	if (w->refused > 0)
		printf("  %" PRIu64 " refused by the server\n", w->refused);
	if (w->failed > 0)
		printf("  %" PRIu64 " failed\n", w->failed);
}

bool ctl_walk_good(const char *path, const Forefetch__Warmed *w)
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
