/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nfsload: a load generator for NFSv3 servers.
 *
 *   main -> options, usage        what is wanted
 *        -> target                a server, mounted
 *        -> workset               files on it, and their handles
 *        -> turn                  the closed loop that is measured
 *        -> report -> histogram   what came of it
 *   target, workset -> batch -> connection -> call -> libnfs
 *   turn -> connection
 *
 * Targets take turns, A B A B, with the same seed in a round, so that what
 * drifts with time weighs on all of them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "options.h"
#include "report.h"
#include "target.h"
#include "workset.h"

static volatile sig_atomic_t stop;

struct session {
	struct options o;
	struct target *target[TARGETS_MAX];
	struct view *view[TARGETS_MAX];
	struct workset *ws;
	struct report *report;
	uint64_t unique;
	bool failed;
	char why[512];
};

static void main_on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = main_on_signal};

	/* A second one kills. */
	sa.sa_flags = (int)SA_RESETHAND;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static bool complain(struct session *s, const char *who, const char *doing)
{
	fprintf(stderr, "nfsload: %s: %s%s\n", who, doing, s->why);
	s->failed = true;
	return false;
}

static bool open_targets(struct session *s)
{
	for (uint32_t i = 0; i < s->o.targets; i++) {
		s->target[i] =
		    target_open(&s->o.target[i], &s->o, s->why, sizeof(s->why));
		if (!s->target[i])
			return complain(s, s->o.target[i].name, "");
	}
	return true;
}

static bool make_workset(struct session *s)
{
	uint64_t unique = prng_next(&s->unique);
	size_t len;

	if (!workset_make(s->ws, s->target[0], unique, s->why, sizeof(s->why)))
		return true;
	len = strlen(s->why);
	if (strstr(s->why, "ACCES") || strstr(s->why, "ROFS"))
		snprintf(s->why + len, sizeof(s->why) - len,
		    "; the user must be allowed to write there: see --uids, "
		    "--dir, and root squashing in exports(5)");
	return complain(
	    s, target_name(s->target[0]), "cannot make the working set: ");
}

static bool open_views(struct session *s)
{
	for (uint32_t i = 0; i < s->o.targets; i++) {
		s->view[i] =
		    view_open(s->ws, s->target[i], s->why, sizeof(s->why));
		if (!s->view[i])
			return complain(s, target_name(s->target[i]),
			    "cannot look up the working set: ");
	}
	return true;
}

static void close_views(struct session *s)
{
	for (uint32_t i = 0; i < s->o.targets; i++) {
		view_close(s->view[i]);
		s->view[i] = NULL;
	}
}

/* Its connections may have failed while the server lives. */
static bool remove_afresh(struct session *s, uint32_t i)
{
	char ignored[512];
	struct target *t =
	    target_open(&s->o.target[i], &s->o, ignored, sizeof(ignored));
	int err;

	if (!t)
		return false;
	err = workset_remove(s->ws, t, ignored, sizeof(ignored));
	target_close(t);
	return err == 0;
}

/* Through any that answers; if none does, the first one's reason is told. */
static void remove_workset(struct session *s)
{
	if (s->o.keep) {
		fprintf(stderr, "nfsload: left on the server: %s\n",
		    workset_name(s->ws));
		return;
	}
	for (uint32_t i = s->o.targets; i-- > 0;) {
		struct target *t = s->target[i];

		if (t && !workset_remove(s->ws, t, s->why, sizeof(s->why)))
			return;
	}
	for (uint32_t i = 0; i < s->o.targets; i++)
		if (s->target[i] && remove_afresh(s, i))
			return;
	fprintf(stderr, "nfsload: left on the server: %s: %s\n",
	    workset_name(s->ws), s->why);
	s->failed = true;
}

/* Once over the whole working set, for the caches; nothing is recorded. */
static bool prime(struct session *s, uint32_t i)
{
	struct options once = s->o;
	struct turn t;
	struct turn_plan plan = {
	    .o = &once,
	    .target = s->target[i],
	    .spec = &s->o.target[i],
	    .view = s->view[i],
	    .items = workset_items(s->ws),
	    .seed = s->o.seed,
	    .stop = &stop,
	};
	bool ok;

	once.once = true;
	once.count = 0;
	once.warmup_ns = 0;
	ok = !turn_run(&plan, &t) && !t.broken[0];
	for (enum call_op op = 0; op < CALL_MEASURED; op++)
		ok = ok && !t.tally[op].errors;
	if (!ok)
		snprintf(s->why, sizeof(s->why), "%s", t.broken);
	turn_clear(&t);
	return ok || complain(s, target_name(s->target[i]), "--prime failed ");
}

static bool run_turn(struct session *s, uint32_t round, uint32_t i)
{
	struct turn *t = report_turn(s->report, round, i);
	char label[128];
	struct turn_plan plan = {
	    .o = &s->o,
	    .target = s->target[i],
	    .spec = &s->o.target[i],
	    .view = s->view[i],
	    .items = workset_items(s->ws),
	    .seed = s->o.seed + round,
	    .stop = &stop,
	};

	snprintf(label, sizeof(label), "round %u of %u, %s", round + 1,
	    s->o.rounds, target_name(s->target[i]));
	if (!s->o.quiet && isatty(STDERR_FILENO))
		plan.label = label;
	if (turn_run(&plan, t)) {
		snprintf(s->why, sizeof(s->why), "out of memory");
		return complain(s, "turn", "");
	}
	if (t->broken[0]) {
		snprintf(s->why, sizeof(s->why), "%s", t->broken);
		return complain(s, target_name(s->target[i]), "");
	}
	if (view_sweep(s->view[i], s->why, sizeof(s->why)))
		return complain(s, target_name(s->target[i]),
		    "cannot remove what CREATE made: ");
	return true;
}

static bool run_round(struct session *s, uint32_t round)
{
	bool ok = true;

	if (round == 0 || s->o.fresh)
		ok = make_workset(s) && open_views(s);
	for (uint32_t i = 0; ok && s->o.prime && !round && i < s->o.targets;
	     i++)
		ok = prime(s, i);
	for (uint32_t i = 0; ok && !stop && i < s->o.targets; i++)
		ok = run_turn(s, round, i);
	if (s->o.fresh && ok && !stop && round + 1 < s->o.rounds) {
		close_views(s);
		remove_workset(s);
	}
	return ok;
}

static void run(struct session *s)
{
	s->ws = workset_new(&s->o);
	s->report = report_new(&s->o);
	if (!s->ws || !s->report) {
		snprintf(s->why, sizeof(s->why), "out of memory");
		complain(s, "start", "");
		return;
	}
	if (!open_targets(s))
		return;
	for (uint32_t round = 0; round < s->o.rounds && !stop; round++)
		if (!run_round(s, round))
			break;
	close_views(s);
	remove_workset(s);
	if (stop) {
		fprintf(stderr, "nfsload: interrupted\n");
		s->failed = true;
	}
}

static void finish(struct session *s)
{
	int err = 0;

	if (s->report && (report_ops(s->report) || report_errors(s->report))) {
		err = s->o.json ? report_print_json(s->report)
				: report_print_table(s->report);
		if (report_errors(s->report) || err || fflush(stdout))
			s->failed = true;
	} else {
		s->failed = true;
	}
	for (uint32_t i = 0; i < s->o.targets; i++)
		target_close(s->target[i]);
	report_free(s->report);
	workset_free(s->ws);
}

int main(int argc, char **argv)
{
	struct session *s = calloc(1, sizeof(*s));
	int code;

	if (!s)
		return 1;
	switch (options_parse(&s->o, argc, argv)) {
	case OPTIONS_HELP:
		free(s);
		return 0;
	case OPTIONS_USAGE:
		free(s);
		return 2;
	default:
		break;
	}
	s->unique = clock_now_ns() ^ ((uint64_t)getpid() << 40);
	catch_signals();
	run(s);
	finish(s);
	code = s->failed ? 1 : 0;
	free(s);
	return code;
}
