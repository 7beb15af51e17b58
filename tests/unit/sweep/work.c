/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sweep does its work here, line by line, and judges whether it went well. */
#include "sweep/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsproto/nfs_proc.h"
#include "scenario/script.h"
#include "scenario/vclock.h"
#include "sweep/commands.h"
#include "sweep/failure.h"
#include "sweep/memfs_copy.h"
#include "sweep/place.h"

enum {
	WORDS = 8,
	LINE_MAX_BYTES = 200,
	STARTS = 200, /* tries, while there is no memory */
};

#define SECOND_US UINT64_C(1000000)
/* The kernel's client repeats a call after a minute, and for ever; within this
 * many seconds each call has to end here. */
#define REPEAT_S  UINT64_C(60)
#define END_S     UINT64_C(300)
#define DELAY_S   UINT64_C(5) /* before a call that was answered JUKEBOX */

/* `given` is done at the server before the daemon starts; A and B call. */
static const char *const lines[] = {
    "given MKDIR /d",
    "given CREATE /d/a",
    "given WRITE /d/a 0 the-first-file-of-all",
    "given CREATE /d/b",
    "given WRITE /d/b 0 see-./a-and-../big",
    "given CREATE /big",
    "given SETATTR /big size 60000",
    "given WRITE /big 59000 near-the-end",
    "given MKDIR /e",
    "given SYMLINK /e/link ../d/a",
    "start",
    "A FSINFO /",
    "A GETATTR /",
    "A ACCESS /",
    "A READDIRPLUS /",
    "A LOOKUP /d",
    "A ACCESS /d",
    "A READDIRPLUS /d",
    "A LOOKUP /d/a",
    "A ACCESS /d/a",
    "A READ /d/a 0 4096",
    "A READ /d/b 0 4096",
    "A LOOKUP /d/absent",
    "A READ /big 0 32768",
    "A READ /big 32768 32768",
    "B ACCESS /d/a",
    "B READ /d/a 0 4096",
    "B READDIR /e",
    "B READLINK /e/link",
    "command status",
    "command activity",
    "A CREATE /d/new guarded",
    "A SETATTR /d/new mode 600",
    "A WRITE /d/new 0 what-is-new unstable",
    "A WRITE /d/new 11 and-more unstable",
    "A COMMIT /d/new",
    "A READ /d/new 0 4096",
    "A MKDIR /f",
    "A RENAME /d/new /f/new",
    "A LOOKUP /d/new",
    "A LOOKUP /f/new",
    "A LINK /f/new /f/twice",
    "A SYMLINK /f/soft new",
    "A READDIRPLUS /f",
    "A WRITE /f/new 0 otherwise",
    "A READ /f/new 0 4096",
    "B READ /f/new 0 4096",
    "command pin",
    "command warm",
    "pass 5",
    "command stats",
    "command trees-list",
    "command hint",
    "A SETATTR /big size 100",
    "A READ /big 0 4096",
    "pass 40",
    "restart",
    "A GETATTR /",
    "A ACCESS /",
    "A LOOKUP /d",
    "A ACCESS /d",
    "A LOOKUP /d/a",
    "A READ /d/a 0 4096",
    "A LOOKUP /d/b",
    "A READ /d/b 0 4096",
    "A READ /big 0 4096",
    "outage 8",
    "A CREATE /f/late guarded",
    "A WRITE /f/late 0 written-behind-an-outage",
    "outage 100",
    "A REMOVE /f/late",
    "A READ /f/new 0 4096",
    "A REMOVE /f/twice",
    "A REMOVE /f/soft",
    "A RMDIR /e",
    "A REMOVE /e/link",
    "A RMDIR /e",
    "command trees-export",
    "command explain",
    "command compact",
    "command flush",
    "A READ /d/a 0 4096",
    "command pause",
    "A READ /f/new 0 4096",
    "command resume",
    "command reload",
    "B LOOKUP /d/b",
    "B READ /d/b 0 4096",
    "A WRITE /d/b 0 some-more unstable",
    "reboot",
    "A WRITE /d/b 9 and-again unstable",
    "A COMMIT /d/b",
    "pass 70",
    "restart",
    "A READDIRPLUS /",
    "A READDIRPLUS /d",
    "A READDIRPLUS /f",
    "A READ /d/a 0 4096",
    "A READ /d/b 0 4096",
    "A READ /f/new 0 4096",
    "A READ /big 0 4096",
    "B READ /d/a 0 4096",
    "A WRITE /d/a 4 last",
    "A READ /d/a 0 4096",
    "pass 5",
};

enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static struct work {
	struct place place;
	struct memfs *mirror; /* the judge's */
	struct work_result *out;
} work;

/* ---- the judge --------------------------------------------------------- */

static bool is_change(uint32_t proc)
{
	return proc == NFSPROC3_SETATTR ||
	       (proc >= NFSPROC3_WRITE && proc <= NFSPROC3_LINK);
}

/* Errors that somebody whose disk or server fails may get. */
static bool is_excused(const char *status)
{
	static const char *const list[] = {"IO", "SERVERFAULT", "SYSTEM_ERR"};

	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(status, list[i]) == 0)
			return !work.out->spotless &&
			       work.out->point.call[0] != '\0';
	return false;
}

/* Does the call to `fs`, and writes the facts of its reply; whether it may have
 * changed something. */
static bool execute(struct memfs *fs, char *const *words, unsigned n,
    unsigned uid, struct calltext_facts *facts)
{
	const struct nfs_proc *proc;
	char err[CALLTEXT_MAX];
	union nfs_args args;
	union nfs_res res;

	if (!calltext_parse(fs, words, n, &proc, &args, err))
		script_fail("%s", err);
	fs->now_ns = vclock_wall_ns();
	memset(&res, 0, sizeof(res));
	memfs_execute(fs, proc->proc, &args, uid, &res);
	calltext_facts(proc, &res, facts);
	return is_change(proc->proc);
}

static void compare(
    const struct calltext_facts *got, const struct calltext_facts *expected)
{
	char a[LINE_MAX_BYTES], b[LINE_MAX_BYTES];

	if (calltext_same_facts(got, expected))
		return;
	calltext_say_facts(got, a, sizeof(a));
	calltext_say_facts(expected, b, sizeof(b));
	script_fail("got %.90s; right is %.90s", a, b);
}

static void compare_files(void)
{
	char why[MEMFS_WHY_MAX];

	if (!memfs_same(work.place.fs, work.mirror, why))
		script_fail("%.150s of the server", why);
}

static void judge(char *const *words, unsigned n, unsigned uid,
    const struct calltext_facts *got)
{
	struct calltext_facts expected;

	if (is_excused(got->list[0])) {
		/* It may have been done, or not. */
		work.out->errors++;
		memfs_free(work.mirror);
		work.mirror = memfs_copy(work.place.fs);
		return;
	}
	execute(work.mirror, words, n, uid, &expected);
	compare(got, &expected);
	compare_files();
}

/* ---- lines ------------------------------------------------------------- */

/* Until there is a reply; as the kernel's client. */
static void await(struct client *c, struct calltext_facts *facts)
{
	for (uint64_t s = 0; s < END_S; s++) {
		if (client_take(c, NULL, facts))
			return;
		if (!client_connected(c) || s % REPEAT_S == REPEAT_S - 1)
			(void)client_repeat(c);
		vclock_settle();
		if (client_take(c, NULL, facts))
			return;
		vclock_pass(SECOND_US);
	}
	script_fail("no reply within %u s", (unsigned)END_S);
}

/* After an error there may be no such file. */
static bool is_possible(char *const *words, unsigned n)
{
	const struct nfs_proc *proc;
	char err[CALLTEXT_MAX];
	union nfs_args args;

	return work.out->errors == 0 ||
	       calltext_parse(work.place.fs, words, n, &proc, &args, err);
}

static void call(unsigned who, char **words, unsigned n)
{
	struct client *c = work.place.clients[who];
	struct calltext_facts facts;

	if (!is_possible(words, n))
		return;
	for (int tries = 0;; tries++) {
		client_send(c, words, n, false);
		vclock_settle();
		await(c, &facts);
		if (strcmp(facts.list[0], "JUKEBOX") != 0)
			break;
		if (tries == 20)
			script_fail("JUKEBOX for ever");
		vclock_pass(DELAY_S * SECOND_US);
	}
	judge(words, n, 1000 + who, &facts);
}

/* Systemd starts it again and again. */
static void start(void)
{
	char err[PLACE_ERR_MAX];

	for (int tries = 0; tries < STARTS; tries++) {
		if (place_start(&work.place, err))
			return;
		script_trace("the daemon did not start: %s", err);
		if (!work.out->point.call[0] || !err[0])
			break;
	}
	script_fail("it does not start: %s", err);
}

static void reboot(void)
{
	fakeserver_reboot(work.place.nfs);
	work.mirror->verifier = work.place.fs->verifier;
	vclock_settle();
}

static void given(char **words, unsigned n)
{
	struct calltext_facts facts;

	execute(work.place.fs, words, n, 1000, &facts);
	if (strcmp(facts.list[0], "OK") != 0)
		script_fail("%s", facts.list[0]);
}

static void command(const char *name)
{
	char err[PLACE_ERR_MAX];

	if (!commands_give(&work.place, name, err) && !work.out->point.call[0])
		script_fail("%s", err[0] ? err : "it was not answered");
	if (err[0])
		script_fail("%s", err);
}

static void run_line(char *line)
{
	char *words[WORDS], *save;
	unsigned n = 0;

	for (char *w = strtok_r(line, " ", &save); w && n < WORDS;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	if (strcmp(words[0], "given") == 0) {
		given(words + 1, n - 1);
		return;
	}
	if (!work.mirror)
		work.mirror = memfs_copy(work.place.fs);
	if (strcmp(words[0], "restart") == 0)
		place_stop(&work.place);
	if (strstr(words[0], "start"))
		start();
	else if (strcmp(words[0], "pass") == 0)
		vclock_pass(strtoul(words[1], NULL, 10) * SECOND_US);
	else if (strcmp(words[0], "outage") == 0)
		place_outage(
		    &work.place, strtoul(words[1], NULL, 10) * SECOND_US);
	else if (strcmp(words[0], "reboot") == 0)
		reboot();
	else if (strcmp(words[0], "command") == 0)
		command(words[1]);
	else
		call((unsigned)(words[0][0] - 'A'), words + 1, n - 1);
}

void work_run(const char *consistency, struct work_result *out)
{
	char copy[LINE_MAX_BYTES];

	work.out = out;
	failure_begin(out->said, sizeof(out->said), NULL);
	snprintf(copy, sizeof(copy), "consistency = %s\n", consistency);
	place_begin(&work.place, copy);
	faults_set_disk(work.place.cache);
	memcpy(out->dir, work.place.dir, sizeof(out->dir));
	for (unsigned i = 0; i < LINES; i++) {
		failure_set_task(lines[i]);
		script_trace("--- %s", lines[i]);
		snprintf(copy, sizeof(copy), "%s", lines[i]);
		run_line(copy);
		out->lines = i + 1;
	}
	failure_set_task("the end");
	compare_files();
	place_end(&work.place);
	out->dir[0] = '\0';
	memfs_free(work.mirror);
}
