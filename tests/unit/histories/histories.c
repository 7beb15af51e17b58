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
    "  --mode MODE        strict, bounded, frozen or offline (default: all)\n"
    "  --operations N     so many in each mode (default: 4000)\n"
    "  --seed N           of the first history (default: 1)\n"
    "  --one N            this history alone; with SCENARIO_TRACE=1 and\n"
    "                     --shorten 0 it prints all that happens, once\n"
    "  --jobs N           histories at once (default: one a processor)\n"
    "  --shorten SECONDS  for the shortest history that fails (default: 60)\n"
    "  --defect NAME      the daemon or its server has a defect that the "
    "judge\n"
    "                     has to find\n"
    "  --farm             the daemon shares what it has with machines that "
    "come\n"
    "                     after it, by an engine that fails and lies\n"
    "  --parts LIST       what histories have, with commas between them\n"
    "                     (default: all)\n"
    "  --prove            find each defect in each mode that it shows in, "
    "within\n"
    "                     the operations; with --farm those of a farm\n"
    "  --json             print JSON\n"
    "  --help\n"
    "\n"
    "exit status: 0; 1 something was wrong; 2 usage\n";

static void print_help(void)
{
	fputs(help, stdout);
	printf("\ndefects:\n");
	for (unsigned i = 0; i < PLAY_DEFECTS; i++)
		printf("  %-12s%s%s\n", play_defects[i].name,
		    play_defects[i].what,
		    play_defects[i].farm ? " (with --farm)" : "");
	printf("\nparts:\n");
	for (unsigned i = 0; i < EVENT_PARTS; i++)
		printf("  %-12s%s\n", event_parts[i].name, event_parts[i].what);
}

enum {
	JOBS_MAX = 64,
	HANG_S = 120,
	LAST_BYTES = 300, /* of stderr that are shown of a bad end */
};

static struct {
	bool modes[PLAY_MODES];
	enum play_defect defect;
	uint64_t operations, seed, one;
	unsigned jobs, shorten;
	unsigned parts; /* a bit each */
	bool json, prove, farm;
} opt = {.modes = {true, true, true, true},
    .parts = (1 << EVENT_PARTS) - 1,
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
	uint64_t histories, calls, changes, strangers, replies, looks, hits,
	    wrong;
	uint64_t farm_data, farm_listings;
	uint64_t faults[EVENT_KINDS];
};

/* ---- a history in a process -------------------------------------------- */

static pid_t begin(
    enum judge_mode mode, const struct history *h, struct play_result *result)
{
	pid_t pid;

	memset(result, 0, sizeof(*result));
	result->complaints = memfd_create("complaints", MFD_CLOEXEC);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(HANG_S);
		if (!getenv("SCENARIO_TRACE") &&
		    dup2(result->complaints, STDERR_FILENO) < 0)
			_exit(1);
		play(mode, opt.defect, h, result);
		_exit(0);
	}
	if (pid < 0) {
		perror("histories: fork");
		exit(1);
	}
	return pid;
}

/* Adds the end of what the process wrote to stderr: an assertion that failed
 * stands there. */
static void add_complaint(struct play_result *r)
{
	char last[LAST_BYTES + 1] = "";
	off_t size = lseek(r->complaints, 0, SEEK_END);
	off_t from = size > LAST_BYTES ? size - LAST_BYTES : 0;
	size_t len = strlen(r->said);

	if (pread(r->complaints, last, LAST_BYTES, from) > 0)
		snprintf(r->said + len, sizeof(r->said) - len, "\n%s", last);
}

/* Whether it went well; else there is a sentence in `said`. */
static bool end(struct play_result *r, int status)
{
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && r->over;

	if (r->dir[0])
		files_remove(r->dir);
	if (!good && !r->said[0]) {
		if (WIFSIGNALED(status))
			snprintf(r->said, sizeof(r->said),
			    "it ended by signal %d%s", WTERMSIG(status),
			    WTERMSIG(status) == SIGALRM ? ": it hangs" : "");
		else
			snprintf(r->said, sizeof(r->said),
			    "it ended with status %d", status);
		add_complaint(r);
	}
	close(r->complaints);
	return good;
}

static bool is_wrong(
    enum judge_mode mode, const struct history *h, struct play_result *r)
{
	int status;
	pid_t pid = begin(mode, h, r);

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return !end(r, status);
}

/* ---- the shortest that fails ------------------------------------------- */

/* `h` without its events `at` to `at` + `len`. */
static void without(
    const struct history *h, unsigned at, unsigned len, struct history *to)
{
	if (len > h->n - at)
		len = h->n - at;
	to->clients = h->clients;
	to->farm = h->farm;
	to->parts = h->parts;
	to->n = h->n - len;
	memcpy(to->list, h->list, at * sizeof(h->list[0]));
	memcpy(to->list + at, h->list + at + len,
	    (to->n - at) * sizeof(h->list[0]));
}

/* Takes out parts, first long ones, as long as the rest fails. */
static void shorten(
    enum judge_mode mode, struct history *h, struct play_result *r)
{
	static struct history less;
	time_t until = time(NULL) + (time_t)opt.shorten;

	for (unsigned len = h->n / 2; len > 0; len /= 2) {
		for (unsigned at = 0; at < h->n && time(NULL) < until;) {
			without(h, at, len, &less);
			if (is_wrong(mode, &less, r))
				*h = less;
			else
				at += len;
		}
	}
}

static void report_wrong(
    enum judge_mode mode, uint64_t seed, struct play_result *r)
{
	static struct history h;

	history_make(seed, opt.farm, opt.parts, &h);
	printf("%s, seed %ju, after %u events:\n  %s\n", play_mode_names[mode],
	    (uintmax_t)seed, r->events, r->said);
	if (opt.shorten == 0)
		return;
	if (r->events < h.n)
		h.n = r->events + 1;
	if (!is_wrong(mode, &h, r)) {
		printf("  it does not fail again\n");
		return;
	}
	shorten(mode, &h, r);
	if (is_wrong(mode, &h, r))
		printf("  the shortest history found, %u events:\n  %s\n", h.n,
		    r->said);
	fflush(stdout);
}

/* ---- many -------------------------------------------------------------- */

static void add_up(struct totals *t, const struct play_result *r)
{
	t->histories++;
	t->calls += r->calls;
	t->changes += r->changes;
	t->strangers += r->strangers;
	t->replies += r->replies;
	t->looks += r->looks;
	t->hits += r->hits;
	t->farm_data += r->farm_data;
	t->farm_listings += r->farm_listings;
	for (unsigned i = 0; i < EVENT_KINDS; i++)
		t->faults[i] += r->faults[i];
}

static bool reap(enum judge_mode mode, struct totals *t)
{
	int status;
	pid_t pid = wait(&status);
	bool ok;

	for (unsigned i = 0; pid > 0 && i < opt.jobs; i++) {
		struct job *j = &jobs[i];

		if (j->pid != pid)
			continue;
		j->pid = 0;
		ok = end(j->result, status);
		add_up(t, j->result);
		if (ok)
			continue;
		t->wrong++;
		if (!opt.prove)
			report_wrong(mode, j->seed, j->result);
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
	static struct history h;
	uint64_t seed = opt.one ? opt.one : opt.seed;

	while (t->calls + t->strangers < opt.operations) {
		struct job *j = free_job(mode, t);

		if (opt.prove && t->wrong > 0)
			break;
		j->seed = seed++;
		history_make(j->seed, opt.farm, opt.parts, &h);
		j->pid = begin(mode, &h, j->result);
		progress(mode, t);
		if (opt.one)
			break;
	}
	while (reap(mode, t))
		continue;
}

/* ---- the report -------------------------------------------------------- */

/* Kinds of faults end here. */
static unsigned faults_end(void)
{
	return opt.farm ? EVENT_KINDS : EVENT_FARM;
}

static uint64_t faults_of(const struct totals *t)
{
	uint64_t n = 0;

	for (unsigned i = EVENT_FAULTS; i < faults_end(); i++)
		n += t->faults[i];
	return n;
}

static void report_faults(const struct totals *t)
{
	for (unsigned i = EVENT_FAULTS; i < faults_end(); i++)
		printf(opt.json ? "%s\"%s\": %ju" : "%s%s %ju",
		    i > EVENT_FAULTS ? ", " : "",
		    event_name((enum event_kind)i), (uintmax_t)t->faults[i]);
}

static void report_farm(const struct totals *t)
{
	printf(opt.json ? ", \"farm_data\": %ju, \"farm_listings\": %ju"
			: "; from the farm: %ju pieces of files, %ju listings",
	    (uintmax_t)t->farm_data, (uintmax_t)t->farm_listings);
}

static void report(enum judge_mode mode, const struct totals *t)
{
	const char *form =
	    opt.json
		? "{\"mode\": \"%s\", \"histories\": %ju, \"operations\": %ju, "
		  "\"changes\": %ju, \"strangers\": %ju, \"replies\": %ju, "
		  "\"looks\": %ju, \"hits\": %ju, \"violations\": %ju, "
		  "\"faults\": %ju, \"fault\": {"
		: "%s: %ju histories, %ju operations (%ju changes, %ju by "
		  "strangers), %ju replies judged, %ju looks of which %ju "
		  "were answered by caches, %ju violations; %ju faults: ";

	printf(form, play_mode_names[mode], (uintmax_t)t->histories,
	    (uintmax_t)(t->calls + t->strangers), (uintmax_t)t->changes,
	    (uintmax_t)t->strangers, (uintmax_t)t->replies, (uintmax_t)t->looks,
	    (uintmax_t)t->hits, (uintmax_t)t->wrong, (uintmax_t)faults_of(t));
	report_faults(t);
	fputs(opt.json ? "}" : "", stdout);
	if (opt.farm)
		report_farm(t);
	puts(opt.json ? "}" : "");
	fflush(stdout);
}

/* ---- the command line -------------------------------------------------- */

static void choose_defect(const char *name)
{
	const char *names[PLAY_DEFECTS];
	bool set[PLAY_DEFECTS];

	for (unsigned i = 0; i < PLAY_DEFECTS; i++)
		names[i] = play_defects[i].name;
	cli_choose(
	    name, names, set, PLAY_DEFECTS, "--defect: there is none such");
	while (!set[opt.defect])
		opt.defect++;
}

static void choose_parts(char *list)
{
	const char *names[EVENT_PARTS];
	bool set[EVENT_PARTS];
	char *save;

	for (unsigned i = 0; i < EVENT_PARTS; i++)
		names[i] = event_parts[i].name;
	opt.parts = 1u << PART_BASE;
	for (const char *name = strtok_r(list, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		cli_choose(name, names, set, EVENT_PARTS,
		    "--parts: there is none such");
		for (unsigned i = 0; i < EVENT_PARTS; i++)
			opt.parts |= (unsigned)set[i] << i;
	}
}

static void set_flag(int c)
{
	if (c == 'p')
		opt.prove = true;
	else if (c == 'f')
		opt.farm = true;
	else if (c == 'J')
		opt.json = true;
	else
		exit(2);
}

static void set_option(int c, char *value)
{
	switch (c) {
	case 'm':
		cli_choose(value, play_mode_names, opt.modes, PLAY_MODES,
		    "--mode is strict, bounded, frozen or offline");
		break;
	case 'n':
		opt.operations = cli_number(value, 1, UINT64_MAX);
		break;
	case 's':
		opt.seed = cli_number(value, 1, UINT64_MAX);
		break;
	case 'o':
		opt.one = cli_number(value, 1, UINT64_MAX);
		break;
	case 'j':
		opt.jobs = (unsigned)cli_number(value, 1, JOBS_MAX);
		break;
	case 'S':
		opt.shorten = (unsigned)cli_number(value, 0, 86400);
		break;
	case 'd':
		choose_defect(value);
		break;
	case 'P':
		choose_parts(value);
		break;
	case 'h':
		print_help();
		exit(0);
	default:
		set_flag(c);
	}
}

static void read_options(int argc, char **argv)
{
	static const struct option list[] = {{"mode", 1, NULL, 'm'},
	    {"operations", 1, NULL, 'n'}, {"seed", 1, NULL, 's'},
	    {"one", 1, NULL, 'o'}, {"jobs", 1, NULL, 'j'},
	    {"shorten", 1, NULL, 'S'}, {"defect", 1, NULL, 'd'},
	    {"farm", 0, NULL, 'f'}, {"parts", 1, NULL, 'P'},
	    {"prove", 0, NULL, 'p'}, {"json", 0, NULL, 'J'},
	    {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	opt.jobs = cli_processors(JOBS_MAX);
	while ((c = getopt_long(argc, argv, "", list, NULL)) >= 0)
		set_option(c, optarg);
	opt.parts |= 1u << play_defects[opt.defect].part;
	if (optind < argc)
		cli_bad_usage("no words are wanted");
	if (opt.prove && (opt.json || opt.defect || opt.one))
		cli_bad_usage("--prove goes with no --json, --defect or --one");
}

/* Whether all defects of the mode were found. */
static bool prove(enum judge_mode mode)
{
	unsigned parts = opt.parts;
	bool all = true;

	for (unsigned i = DEFECT_NONE + 1; i < PLAY_DEFECTS; i++) {
		struct totals t = {0};

		if (!(play_defects[i].modes & 1u << mode) ||
		    play_defects[i].farm != opt.farm)
			continue;
		opt.defect = (enum play_defect)i;
		/* A farm's come rarely enough without other scripts. */
		opt.parts = play_defects[i].farm ? 1u << PART_BASE : parts;
		opt.parts |= 1u << play_defects[i].part;
		play_many(mode, &t);
		printf("%s: defect %s: %s within %ju operations\n",
		    play_mode_names[mode], play_defects[i].name,
		    t.wrong ? "found" : "NOT FOUND",
		    (uintmax_t)(t.calls + t.strangers));
		fflush(stdout);
		all &= t.wrong > 0;
	}
	return all;
}

/* Plays the histories of a mode, or proves its judge; false where it failed. */
static bool run(enum judge_mode mode)
{
	struct totals t = {0};

	if (opt.prove)
		return prove(mode);
	play_many(mode, &t);
	report(mode, &t);
	if (opt.farm && !opt.one && t.farm_data == 0) {
		printf("nothing came from the farm: that proves nothing\n");
		return false;
	}
	return t.wrong == 0;
}

int main(int argc, char **argv)
{
	bool ok = true;

	read_options(argc, argv);
	files_scratch_begin();
	for (unsigned i = 0; i < opt.jobs; i++) {
		jobs[i].result = mmap(NULL, sizeof(*jobs[i].result),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (jobs[i].result == MAP_FAILED) {
			perror("histories");
			return 1;
		}
	}
	for (unsigned m = 0; m < PLAY_MODES; m++)
		if (opt.modes[m])
			ok &= run((enum judge_mode)m);
	return ok ? 0 : 1;
}
