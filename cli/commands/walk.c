/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of warm, pin and hint while the daemon works: when to ask again,
 * what to show meanwhile, and how ^C ends the waiting. The commands ask the
 * daemon themselves; warm and pin go through walk_all(), which does for each
 * path what they have in common. */
#include "commands/walk.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "commands/json_error.h"
#include "ctl/ctl_put.h"
#include "ctl/ctl_status.h"
#include "ctl/ctl_text.h"

/* Milliseconds between two questions. They begin small, so that a tree that is
 * cached already answers at once, and grow, so that a long walk is not
 * disturbed. */
enum { ASK_MIN_MS = 20, ASK_MAX_MS = 250 };

/* Microseconds that a walk may wait without an explanation; shorter waits are
 * ordinary. */
#define WHY_US UINT64_C(1000000)

/* A signal came; set by on_signal(), and never reset. */
static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/* "12 directories, 340 files (1.20 MiB), 352 calls, 1.20 MiB fetched, 5.10
 * MiB/s". The rate is that of the whole walk. */
void walk_put(FILE *out, const Forefetch__Warmed *w)
{
	double s = w->elapsed_us ? (double)w->elapsed_us / 1e6 : 1e-6;
	char rate[CTL_TEXT_MAX];

	ctl_put(out, w,
	    "{directories} director{directories:Y}, {files} file{files:S} "
	    "({file_bytes:B}), {calls} "
	    "call{calls:S}, {fetched_bytes:B} fetched, ");
	fprintf(out, "%s/s",
	    ctl_text_bytes(rate, (uint64_t)((double)w->fetched_bytes / s)));
}

bool walk_stopped(void)
{
	return stopped != 0;
}

/* Without SA_RESTART, so that a sleep or a read ends with the signal. */
static void catch_by(void (*handler)(int))
{
	const struct sigaction act = {.sa_handler = handler};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

void walk_catch(void)
{
	catch_by(on_signal);
}

void walk_init(struct walk_screen *s, const struct ctl_options *opt,
    struct ctl_client *c, const struct ctl_place *at)
{
	*s = (struct walk_screen){.c = c, .at = at, .begun_us = clock_now_us()};
	progress_init(&s->progress, opt);
}

/* Finds what keeps the server at `at` from answering, and writes that into
 * `why`, which is empty where nothing is known. The daemon may have one walk
 * waiting for a server while it is asked about it over the same connection: its
 * answers do not depend on the server. */
static void find_why(
    struct ctl_client *c, const struct ctl_place *at, char *why, size_t size)
{
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;
	Forefetch__Response *res =
	    ctl_ask(c, FOREFETCH__REQUEST__COMMAND_STATUS, &status);
	FILE *out = fmemopen(why, size, "w");
	const Forefetch__ServerStatus *srv;

	*why = '\0';
	srv = res ? ctl_server_at(res->status, at->listen) : NULL;
	if (out && srv && srv->state != FOREFETCH__STATE__UP)
		ctl_put(out, srv,
		    srv->reason.len > 0
			? "{name} is {state} for {state_age_us:A}: {reason}"
			: "{name} is {state} for {state_age_us:A}");
	if (out)
		fclose(out);
	why[size - 1] = '\0';
	ctl_free(res);
}

/* Asks now and then why a walk waits, and says it once on stderr where no line
 * of progress shows it. */
static void look_why(struct walk_screen *s, bool waits, uint64_t now_us)
{
	if (!waits || !s->c || !s->at) {
		s->why[0] = '\0';
		return;
	}
	if (now_us - (s->why_us ? s->why_us : s->begun_us) < WHY_US)
		return;
	s->why_us = now_us;
	find_why(s->c, s->at, s->why, sizeof(s->why));
	if (!s->why[0] || s->told || s->progress.screen)
		return;
	fprintf(stderr, "forefetch: this waits, since %s\n", s->why);
	s->told = true;
}

/* Puts how far the walk is, if a line is due. The time left assumes that what
 * is known and not looked at takes as long as what was; the tree may turn out
 * larger, so it is shown only after a second. */
static void put_progress(
    struct walk_screen *s, const Forefetch__Warmed *w, uint64_t now_us)
{
	uint64_t done = w->directories + w->files + w->others;
	uint64_t rate = progress_rate(&s->progress, now_us, w->fetched_bytes);
	double left_us =
	    done > 0 ? (double)w->elapsed_us * (double)w->left / (double)done
		     : 0;
	char *text = NULL;
	size_t len;
	FILE *out;

	if (!progress_due(&s->progress, now_us))
		return;
	out = open_memstream(&text, &len);
	if (!out)
		return;
	if (w->waits && s->why[0])
		fprintf(out, "waits: %s; ", s->why);
	progress_head(out, done, done + w->left, rate,
	    w->waits || w->elapsed_us < WHY_US ? 0 : (uint64_t)left_us);
	ctl_put(out, w,
	    "{directories} director{directories:Y}, {files} file{files:S} "
	    "({file_bytes:B}), {left} left");
	fputs(w->paused                ? ", waits for forefetch resume"
	      : !w->waits || s->why[0] ? ""
	      : s->why_us              ? ", waits for more urgent calls"
				       : ", waits",
	    out);
	if (fclose(out) == 0)
		progress_put(&s->progress, text);
	free(text);
}

void walk_rest(struct walk_screen *s)
{
	unsigned ms = s->ms ? s->ms : ASK_MIN_MS;
	const struct timespec ts = {
	    .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
	s->ms = ms * 2 > ASK_MAX_MS ? ASK_MAX_MS : ms * 2;
}

void walk_warn(const char *path, const Forefetch__Warmed *w)
{
	if (w->paused)
		ctl_complain(path,
		    "fetching ahead is paused; this waits for forefetch "
		    "resume");
	else if (w->metered)
		ctl_complain(path,
		    "the link is metered; this fetches over it all the same "
		    "(^C stops it)");
}

bool walk_show(struct walk_screen *s, const Forefetch__Warmed *w)
{
	uint64_t now_us = clock_now_us();

	look_why(s, w->waits, now_us);
	put_progress(s, w, now_us);
	walk_rest(s);
	return !walk_stopped();
}

void walk_clear(struct walk_screen *s)
{
	progress_clear(&s->progress);
}

void walk_put_errors(const Forefetch__Warmed *w)
{
	if (w->refused > 0)
		ctl_put(stdout, w, "  {refused} refused by the server\n");
	if (w->failed > 0)
		ctl_put(stdout, w, "  {failed} failed\n");
	if (w->loops > 0)
		ctl_put(stdout, w,
		    "  {loops} director{loops:Y} met again and left out: the "
		    "tree contains itself\n");
	if (w->endless)
		puts("  the tree has no end; not all of it was fetched");
}

/* A status of nfsstat3 up to 30 has the number of the errno of the same name
 * (RFC 1813 section 2.6). */
bool walk_good(const char *path, const Forefetch__Warmed *w)
{
	if (w->status > 0) {
		/* The first 30 of nfsstat3 have the numbers of errno. */
		ctl_complain(path, "the server says: %s",
		    w->status <= 30 ? strerror((int)w->status)
				    : "it cannot be read");
		return false;
	}
	return w->done && w->refused == 0 && w->failed == 0;
}

/* Says that the path's server is away, without a look at the path itself, which
 * might wait for that server without end. */
static void warn_away(struct ctl_client *c, const char *path)
{
	struct ctl_mounts *mounts = ctl_mounts_load();
	char *plain = ctl_path_plain(path), why[256] = "";
	struct ctl_place at;

	if (mounts && plain && ctl_mounts_place(mounts, plain, &at))
		find_why(c, &at, why, sizeof(why));
	if (why[0])
		ctl_complain(path, "this waits, since %s (^C ends it)", why);
	free(plain);
	ctl_mounts_free(mounts);
}

/* Resolves the path and calls `one`. realpath(3) may wait in the kernel for the
 * server, which ends that for no signal that is caught; so signals end the
 * program meanwhile. */
static bool walk_one(const struct ctl_options *opt, const char *path,
    struct json *j, walk_fn one)
{
	struct ctl_client *c;
	struct ctl_place at;
	bool good;

	c = ctl_open(opt->socket);
	if (!c)
		return false;
	/* The kernel may wait for the server here, and ends that for no signal
	 * that is caught. */
	warn_away(c, path);
	catch_by(SIG_DFL);
	good = ctl_place_find(path, &at);
	catch_by(on_signal);
	good = good && one(c, &at, path, opt, j);
	ctl_close(c);
	return good;
}

/* Does one argument, and writes its object with --json. One that the user
 * stopped is told of as well, and so is each that was not begun because of
 * that. */
static bool walk_part(const struct ctl_options *opt, const char *path,
    struct json *j, walk_fn one)
{
	bool good;

	json_error_part();
	if (opt->json) {
		json_open(j, NULL, '{');
		json_text(j, "path", path);
	}
	good = !walk_stopped() && walk_one(opt, path, j, one);
	if (opt->json) {
		json_error_put(j, !good,
		    walk_stopped() ? "interrupted"
				   : "not all of it was fetched");
		json_close(j, '}');
	}
	return good;
}

/* The JSON value is printed as a whole at the end: where the kernel waits for a
 * server, ^C ends the program, and half a value would be of no use. */
bool walk_all(const struct ctl_options *opt, const char *key, walk_fn one)
{
	char *text = NULL;
	size_t len;
	struct json j = {.out = open_memstream(&text, &len)};
	bool good = true;

	if (!j.out) {
		ctl_complain(opt->arg, "%s", strerror(ENOMEM));
		return false;
	}
	walk_catch();
	json_open(&j, NULL, '{');
	json_open(&j, key, '[');
	for (int i = 0; i < opt->nargs; i++)
		good = walk_part(opt, opt->args[i], &j, one) && good;
	json_close(&j, ']');
	json_close(&j, '}');
	/* It is printed as a whole: where the kernel waits for a server, ^C
	 * ends the program. */
	if (fclose(j.out) == 0 && opt->json)
		puts(text);
	free(text);
	return good;
}
