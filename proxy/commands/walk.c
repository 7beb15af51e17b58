/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What warm, pin and hint do while the daemon works. */
#include "commands/walk.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"

/* Between two questions, growing. */
enum { ASK_MIN_MS = 20, ASK_MAX_MS = 250 };

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

void walk_put(FILE *out, const Forefetch__Warmed *w)
{
	double s = w->elapsed_us ? (double)w->elapsed_us / 1e6 : 1e-6;
	char rate[CTL_TEXT_MAX];

	ctl_put(out, w, "{directories} director");
	fputs(w->directories == 1 ? "y" : "ies", out);
	ctl_put(out, w,
	    ", {files} file{files:S} ({file_bytes:B}), {calls} "
	    "call{calls:S}, {fetched_bytes:B} fetched, ");
	fprintf(out, "%s/s",
	    ctl_text_bytes(rate, (uint64_t)((double)w->fetched_bytes / s)));
}

bool walk_stopped(void)
{
	return stopped != 0;
}

void walk_catch(void)
{
	const struct sigaction act = {.sa_handler = on_signal};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static void put_progress(const Forefetch__Warmed *w)
{
	fputs("\r", stderr);
	walk_put(stderr, w);
	fprintf(stderr, "%s\033[K",
	    w->paused  ? ", waiting for forefetch resume"
	    : w->waits ? ", waiting"
		       : "");
	fflush(stderr);
}

void walk_rest(struct walk *s)
{
	unsigned ms = s->ms ? s->ms : ASK_MIN_MS;
	const struct timespec ts = {
	    .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
	s->ms = ms * 2 > ASK_MAX_MS ? ASK_MAX_MS : ms * 2;
}

bool walk_is_shown(const struct walk *s)
{
	return !s->quiet && isatty(STDERR_FILENO);
}

void walk_warn(const char *path, const Forefetch__Warmed *w)
{
	if (w->paused)
		fprintf(stderr,
		    "forefetch: %s: fetching ahead is paused; this waits for "
		    "forefetch resume\n",
		    path);
	else if (w->metered)
		fprintf(stderr,
		    "forefetch: %s: the link is metered; this fetches over it "
		    "all the same (^C stops it)\n",
		    path);
}

void walk_show(struct walk *s, const Forefetch__Warmed *w)
{
	if (walk_is_shown(s))
		put_progress(w);
	walk_rest(s);
}

void walk_clear(const struct walk *s)
{
	if (walk_is_shown(s))
		fputs("\r\033[K", stderr);
}

void walk_put_errors(const Forefetch__Warmed *w)
{
	if (w->refused > 0)
		ctl_put(stdout, w, "  {refused} refused by the server\n");
	if (w->failed > 0)
		ctl_put(stdout, w, "  {failed} failed\n");
}

bool walk_good(const char *path, const Forefetch__Warmed *w)
{
	if (w->status > 0) {
		/* The first 30 of nfsstat3 have the numbers of errno. */
		fprintf(stderr, "forefetch: %s: the server says: %s\n", path,
		    w->status <= 30 ? strerror((int)w->status)
				    : "it cannot be read");
		return false;
	}
	return w->done && w->refused == 0 && w->failed == 0;
}

static bool walk_one(const struct ctl_options *opt, const char *path,
    struct ctl_json *j,
    bool (*one)(struct ctl_client *c, struct ctl_place *at, const char *path,
	const struct ctl_options *opt, struct ctl_json *j))
{
	struct ctl_client *c;
	struct ctl_place at;
	bool good;

	if (!ctl_place_find(path, &at))
		return false;
	c = ctl_open(opt->socket);
	good = c && one(c, &at, path, opt, j);
	ctl_close(c);
	return good;
}

bool walk_all(const struct ctl_options *opt, const char *key,
    bool (*one)(struct ctl_client *c, struct ctl_place *at, const char *path,
	const struct ctl_options *opt, struct ctl_json *j))
{
	struct ctl_json j = {.out = stdout};
	bool good = true;

	walk_catch();
	if (opt->json) {
		ctl_json_open(&j, NULL, '{');
		ctl_json_open(&j, key, '[');
	}
	for (int i = 0; i < opt->nargs && !walk_stopped(); i++)
		good = walk_one(opt, opt->args[i], &j, one) && good;
	if (opt->json) {
		ctl_json_close(&j, ']');
		ctl_json_close(&j, '}');
		putchar('\n');
	}
	return good && !walk_stopped();
}
