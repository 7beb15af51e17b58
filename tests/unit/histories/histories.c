/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * histories - random histories of clients, faults and strangers, judged.
 *
 * Each history is played in a process of its own, in virtual time, so a seed
 * repeats it. One that fails is played again with fewer and fewer events.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "histories/play.h"
#include "scenario/files.h"
#include "sweep/cli.h"

static const char help[] =
    "usage: histories [options]\n"
    "\n"
    "Plays random histories in virtual time: two or four clients, a stranger\n"
    "at the server, and faults (kill -9, outages, lost replies, a server that\n"
    "reboots, refuses, or does a change and says that it failed, ...). Each\n"
    "reply is judged by the states that the server was in.\n"
    "\n"
    "  --mode MODE        strict, bounded or frozen (default: all three), or\n"
    "                     offline, whose judge does not know yet when a "
    "server\n"
    "                     counts as away, and finds errors that are none\n"
    "  --operations N     so many in each mode (default: 4000)\n"
    "  --seed N           of the first history (default: 1)\n"
    "  --one N            this history alone; SCENARIO_TRACE=1 shows all that\n"
    "                     happens\n"
    "  --jobs N           histories at once (default: one a processor)\n"
    "  --shorten SECONDS  for the shortest history that fails (default: 60)\n"
    "  --json             print JSON\n"
    "  --help\n"
    "\n"
    "exit status: 0; 1 something was wrong; 2 usage\n";

enum { MODES = 4, JOBS_MAX = 64, HANG_S = 120 };

static struct {
	bool modes[MODES];
	uint64_t operations, seed, one;
	unsigned jobs, shorten;
	bool json;
} opt = {.modes = {true, true, true, false},
    .operations = 4000,
    .seed = 1,
    .shorten = 60};

struct job {
	pid_t pid; /* 0: free */
	uint64_t seed;
	struct play_result *result; /* shared */
};

static struct job jobs[JOBS_MAX];

struct totals {
	uint64_t histories, calls, changes, strangers, replies, wrong;
	uint64_t faults[EVENT_KINDS];
};

/* ---- a history in a process -----------------------------------------------
 */

static pid_t begin(enum judge_mode mode, const struct event *list, unsigned n,
    struct play_result *result)
{
	pid_t pid;

	memset(result, 0, sizeof(*result));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(HANG_S);
		if (!getenv("SCENARIO_TRACE") &&
		    !freopen("/dev/null", "w", stderr))
			_exit(1);
		play(mode, list, n, result);
		_exit(0);
	}
	return pid;
}

/* Whether it went well; else there is a sentence in `said`. */
static bool end(struct play_result *r, int status)
{
	if (r->dir[0])
		files_remove(r->dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && r->over)
		return true;
	if (!r->said[0] && WIFSIGNALED(status))
		snprintf(r->said, sizeof(r->said), "it ended by signal %d%s",
		    WTERMSIG(status),
		    WTERMSIG(status) == SIGALRM ? ": it hangs" : "");
	else if (!r->said[0])
		snprintf(r->said, sizeof(r->said), "it ended with status %d",
		    status);
	return false;
}

static bool is_wrong(enum judge_mode mode, const struct event *list, unsigned n,
    struct play_result *r)
{
	int status;
	pid_t pid = begin(mode, list, n, r);

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return !end(r, status);
}

/* ---- the shortest that fails ----------------------------------------------
 */

/* Without `len` events from `at` on. */
static unsigned without(const struct event *list, unsigned n, unsigned at,
    unsigned len, struct event *to)
{
	if (len > n - at)
		len = n - at;
	memcpy(to, list, at * sizeof(*list));
	memcpy(to + at, list + at + len, (n - at - len) * sizeof(*list));
	return n - len;
}

/* Takes out parts, first long ones, as long as the rest fails. */
static unsigned shorten(
    enum judge_mode mode, struct event *list, unsigned n, struct play_result *r)
{
	static struct event less[EVENT_MAX];
	time_t until = time(NULL) + (time_t)opt.shorten;

	for (unsigned len = n / 2; len > 0; len /= 2) {
		for (unsigned at = 0; at < n && time(NULL) < until;) {
			unsigned k = without(list, n, at, len, less);

			if (k > 0 && is_wrong(mode, less, k, r)) {
				memcpy(list, less, k * sizeof(*list));
				n = k;
			} else {
				at += len;
			}
		}
	}
	return n;
}

static void report_wrong(
    enum judge_mode mode, uint64_t seed, struct play_result *r)
{
	static struct event list[EVENT_MAX];
	unsigned n = event_list(seed, list);

	printf("%s, seed %ju, after %u events:\n  %s\n", play_mode_names[mode],
	    (uintmax_t)seed, r->events, r->said);
	if (opt.shorten == 0)
		return;
	if (r->events < n)
		n = r->events + 1;
	if (!is_wrong(mode, list, n, r)) {
		printf("  it does not fail again\n");
		return;
	}
	n = shorten(mode, list, n, r);
	if (is_wrong(mode, list, n, r))
		printf("  the shortest history found, %u events:\n  %s\n", n,
		    r->said);
	fflush(stdout);
}

/* ---- many -----------------------------------------------------------------
 */

static void add_up(struct totals *t, const struct play_result *r)
{
	t->histories++;
	t->calls += r->calls;
	t->changes += r->changes;
	t->strangers += r->strangers;
	t->replies += r->replies;
	for (unsigned i = 0; i < EVENT_KINDS; i++)
		t->faults[i] += r->faults[i];
}

static bool reap(enum judge_mode mode, struct totals *t)
{
	int status;
	pid_t pid = wait(&status);

	for (unsigned i = 0; pid > 0 && i < opt.jobs; i++) {
		struct job *j = &jobs[i];

		if (j->pid != pid)
			continue;
		j->pid = 0;
		if (!end(j->result, status)) {
			t->wrong++;
			report_wrong(mode, j->seed, j->result);
		}
		add_up(t, j->result);
	}
	return pid > 0;
}

static struct job *free_job(enum judge_mode mode, struct totals *t)
{
	for (;;) {
		for (unsigned i = 0; i < opt.jobs; i++)
			if (jobs[i].pid == 0)
				return &jobs[i];
		reap(mode, t);
	}
}

static void progress(enum judge_mode mode, const struct totals *t)
{
	static time_t said;
	time_t now = time(NULL);

	if (!said)
		said = now;
	if (now - said < 5)
		return;
	said = now;
	fprintf(stderr, "histories: %s: %ju of %ju operations, %ju wrong\n",
	    play_mode_names[mode], (uintmax_t)(t->calls + t->strangers),
	    (uintmax_t)opt.operations, (uintmax_t)t->wrong);
}

static void play_many(enum judge_mode mode, struct totals *t)
{
	static struct event list[EVENT_MAX];
	uint64_t seed = opt.one ? opt.one : opt.seed;

	while (t->calls + t->strangers < opt.operations) {
		struct job *j = free_job(mode, t);

		j->seed = seed++;
		j->pid =
		    begin(mode, list, event_list(j->seed, list), j->result);
		progress(mode, t);
		if (opt.one)
			break;
	}
	while (reap(mode, t))
		continue;
}

/* ---- the report -----------------------------------------------------------
 */

static uint64_t faults_of(const struct totals *t)
{
	uint64_t n = 0;

	for (unsigned i = EVENT_FAULTS; i < EVENT_KINDS; i++)
		n += t->faults[i];
	return n;
}

static void report_faults(const struct totals *t)
{
	for (unsigned i = EVENT_FAULTS; i < EVENT_KINDS; i++)
		printf(opt.json ? "%s\"%s\": %ju" : "%s%s %ju",
		    i > EVENT_FAULTS ? ", " : "",
		    event_name((enum event_kind)i), (uintmax_t)t->faults[i]);
}

static void report(enum judge_mode mode, const struct totals *t)
{
	const char *form =
	    opt.json
		? "{\"mode\": \"%s\", \"histories\": %ju, \"operations\": %ju, "
		  "\"changes\": %ju, \"strangers\": %ju, \"replies\": %ju, "
		  "\"violations\": %ju, \"faults\": %ju, \"fault\": {"
		: "%s: %ju histories, %ju operations (%ju changes, %ju by "
		  "strangers), %ju replies judged, %ju violations; %ju "
		  "faults: ";

	printf(form, play_mode_names[mode], (uintmax_t)t->histories,
	    (uintmax_t)(t->calls + t->strangers), (uintmax_t)t->changes,
	    (uintmax_t)t->strangers, (uintmax_t)t->replies, (uintmax_t)t->wrong,
	    (uintmax_t)faults_of(t));
	report_faults(t);
	puts(opt.json ? "}}" : "");
	fflush(stdout);
}

/* ---- the command line -----------------------------------------------------
 */

static void set_option(int c, const char *value)
{
	switch (c) {
	case 'm':
		cli_choose(value, play_mode_names, opt.modes, MODES,
		    "--mode is strict, bounded, frozen or offline");
		break;
	case 'n':
		opt.operations = cli_number(value, 1);
		break;
	case 's':
		opt.seed = cli_number(value, 1);
		break;
	case 'o':
		opt.one = cli_number(value, 1);
		break;
	case 'j':
		opt.jobs = (unsigned)cli_number(value, 1);
		break;
	case 'S':
		opt.shorten = (unsigned)cli_number(value, 0);
		break;
	case 'J':
		opt.json = true;
		break;
	case 'h':
		fputs(help, stdout);
		exit(0);
	default:
		exit(2);
	}
}

static void read_options(int argc, char **argv)
{
	static const struct option list[] = {{"mode", 1, NULL, 'm'},
	    {"operations", 1, NULL, 'n'}, {"seed", 1, NULL, 's'},
	    {"one", 1, NULL, 'o'}, {"jobs", 1, NULL, 'j'},
	    {"shorten", 1, NULL, 'S'}, {"json", 0, NULL, 'J'},
	    {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	opt.jobs = cli_processors(JOBS_MAX);
	while ((c = getopt_long(argc, argv, "", list, NULL)) >= 0)
		set_option(c, optarg);
	if (optind < argc)
		cli_bad_usage("no words are wanted");
	if (opt.jobs > JOBS_MAX)
		opt.jobs = JOBS_MAX;
}

int main(int argc, char **argv)
{
	uint64_t wrong = 0;

	read_options(argc, argv);
	for (unsigned i = 0; i < opt.jobs; i++) {
		jobs[i].result = mmap(NULL, sizeof(*jobs[i].result),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (jobs[i].result == MAP_FAILED) {
			perror("histories");
			return 1;
		}
	}
	for (unsigned m = 0; m < MODES; m++) {
		struct totals t = {0};

		if (!opt.modes[m])
			continue;
		play_many((enum judge_mode)m, &t);
		report((enum judge_mode)m, &t);
		wrong += t.wrong;
	}
	return wrong > 0;
}
