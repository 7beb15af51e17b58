/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a conversation:
 *
 *	client LETTER …     client_step.h
 *	server N …          answer.h, for the N-th call that waits
 *	mood …              … and for each that comes; `mood` alone: it waits
 *	mount KIND          what calls of MOUNT are answered with
 *	mute KIND           whether replies have attributes
 *	pass MS, sleep S
 *	break, break N      connections of the server are reset
 *	away, back          the server does not listen
 *	reboot              of the server
 *	restart, kill       of the daemon
 *	command NAME        commands.c
 *	control BYTES       a request at the control socket
 *	control-raw BYTES   … without its length
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conversation/client_step.h"
#include "conversation/answer.h"
#include "conversation/stranger.h"
#include "conversation/talk.h"
#include "ctl/ctl_wire.h"
#include "scenario/script.h"
#include "scenario/vclock.h"
#include "sweep/commands.h"

enum {
	STARTS = 3,
	MOODY_MAX = 1000,
	LENGTH_BYTES = 4,
};

#define S           UINT64_C(1000000)
#define PASS_MAX_US (100 * S)

/* ---- the daemon -------------------------------------------------------- */

void talk_start(struct talk *t)
{
	char err[PLACE_ERR_MAX];

	if (!place_start(&t->place, err))
		script_fail("the daemon does not start: %s", err);
}

static void step_restart(struct talk *t, const struct line *l)
{
	(void)l;
	if (++t->starts > STARTS)
		return;
	place_stop(&t->place);
	talk_start(t);
}

static void step_kill(struct talk *t, const struct line *l)
{
	(void)l;
	if (++t->starts > STARTS)
		return;
	place_kill(&t->place);
	talk_start(t);
}

static void step_command(struct talk *t, const struct line *l)
{
	static const char *const list[] = {"status", "stats", "flush", "warm",
	    "explain", "trees-list", "trees-export", "pin", "hint", "compact",
	    "reload", "activity", "pause", "resume"};
	const char *name = line_word(l->words, l->n, 1);
	char err[PLACE_ERR_MAX] = "";

	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(list[i], name) == 0)
			(void)commands_give(&t->place, name, err);
	if (err[0])
		script_fail("command %s: %s", name, err);
}

/* Nobody looks at the daemon's reply, and nobody waits for it. */
static void send_control(struct talk *t, const unsigned char *bytes, size_t len)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/control.sock", t->place.dir);
	fd = ctl_wire_connect(path);
	if (fd < 0)
		script_fail("the control socket is not there");
	(void)send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	vclock_settle();
	close(fd);
}

static void step_control(struct talk *t, const struct line *l)
{
	unsigned char bytes[LENGTH_BYTES + LINE_BYTES] = {0};
	size_t len = line_bytes(l->words, l->n, 1, bytes + LENGTH_BYTES);

	bytes[2] = (unsigned char)(len >> 8);
	bytes[3] = (unsigned char)len;
	send_control(t, bytes, LENGTH_BYTES + len);
}

static void step_control_raw(struct talk *t, const struct line *l)
{
	unsigned char bytes[LINE_BYTES];

	send_control(t, bytes, line_bytes(l->words, l->n, 1, bytes));
}

/* ---- clients and the server -------------------------------------------- */

static void step_client(struct talk *t, const struct line *l)
{
	unsigned who = (unsigned char)(line_word(l->words, l->n, 1)[0] - 'A') %
		       TALK_STRANGERS;

	if (l->n > 2)
		client_step(
		    t->strangers[who], t->place.fs, l->words + 2, l->n - 2);
}

static void step_server(struct talk *t, const struct line *l)
{
	unsigned n = fakeserver_waiting(t->place.nfs);
	uint64_t which = line_number(l->words, l->n, 1);

	if (n > 0 && l->n > 2)
		(void)answer_call(&t->place,
		    fakeserver_nth(t->place.nfs, (unsigned)(which % n)),
		    l->words + 2, l->n - 2, &t->lied);
}

static void on_call(void *arg, struct fakeserver_call *call)
{
	struct talk *t = arg;

	/* A tree without an end would be walked through for too long. */
	if (t->moody++ >= MOODY_MAX ||
	    !answer_call(
		&t->place, call, t->mood.words + 1, t->mood.n - 1, &t->lied))
		fakeserver_do(t->place.nfs, call);
}

static void step_mood(struct talk *t, const struct line *l)
{
	struct fakeserver_call *call;

	t->mood = *l;
	for (unsigned i = 0; i < l->n; i++)
		t->mood.words[i] = t->mood.text + (l->words[i] - l->text);
	fakeserver_answer_by(t->place.nfs, l->n > 1 ? on_call : NULL, t);
	while (l->n > 1 && (call = fakeserver_nth(t->place.nfs, 0)) != NULL)
		on_call(t, call);
}

/* As MNT3res: a status, a handle and flavors. */
static void step_mount(struct talk *t, const struct line *l)
{
	static const struct {
		size_t len;
		const char *bytes;
	} kinds[] = {
	    {0, NULL},
	    {4, "\0\0\0\15"},
	    {4, "\0\0\47\26"},
	    {4, "\0\0\0\0"},
	    {12, "\0\0\0\0\0\0\0\0\0\0\0\0"},
	    {12, "\0\0\0\0\377\377\377\377\0\0\0\0"},
	    {16, "\0\0\0\0\0\0\0\1x\0\0\0\0\0\0\0"},
	    {24, "\0\0\0\0\0\0\0\10anything\0\0\0\1\0\0\0\6"},
	    {16, "\0\0\0\0\0\0\0\1x\0\0\0\177\377\377\377"},
	    {24, "\0\0\0\0\0\0\0\10object-7\377\377\377\377\0\0\0\1"},
	    {1, ""},
	};
	uint64_t kind =
	    line_number(l->words, l->n, 1) % (sizeof(kinds) / sizeof(kinds[0]));

	t->lied |= kind > 0;
	fakeserver_set_mount(t->place.nfs, kinds[kind].bytes, kinds[kind].len);
}

static void step_mute(struct talk *t, const struct line *l)
{
	t->place.fs->mute = line_number(l->words, l->n, 1) & 1;
}

static void step_break(struct talk *t, const struct line *l)
{
	unsigned n = fakeserver_conns(t->place.nfs);

	if (l->n == 1)
		fakeserver_break(t->place.nfs);
	else if (n > 0)
		fakeserver_break_one(t->place.nfs,
		    (unsigned)(line_number(l->words, l->n, 1) % n));
}

static void step_away(struct talk *t, const struct line *l)
{
	(void)l;
	fakeserver_listen(t->place.nfs, false);
	fakeserver_break(t->place.nfs);
}

static void step_back(struct talk *t, const struct line *l)
{
	(void)l;
	fakeserver_listen(t->place.nfs, true);
}

static void step_reboot(struct talk *t, const struct line *l)
{
	(void)l;
	fakeserver_reboot(t->place.nfs);
}

/* ---- time -------------------------------------------------------------- */

static void step_pass(struct talk *t, const struct line *l)
{
	uint64_t us = line_number(l->words, l->n, 1) * 1000;

	if (us > PASS_MAX_US - t->passed_us)
		us = PASS_MAX_US - t->passed_us;
	t->passed_us += us;
	vclock_pass(us);
}

static void step_sleep(struct talk *t, const struct line *l)
{
	(void)t;
	vclock_sleep(line_number(l->words, l->n, 1) % 100000 * S);
}

static const struct {
	const char *verb;
	void (*run)(struct talk *t, const struct line *l);
} verbs[] = {
    {"client", step_client},
    {"server", step_server},
    {"mood", step_mood},
    {"mount", step_mount},
    {"mute", step_mute},
    {"break", step_break},
    {"away", step_away},
    {"back", step_back},
    {"reboot", step_reboot},
    {"pass", step_pass},
    {"sleep", step_sleep},
    {"restart", step_restart},
    {"kill", step_kill},
    {"command", step_command},
    {"control", step_control},
    {"control-raw", step_control_raw},
};

void talk_step(struct talk *t, struct line *l)
{
	char told[LINE_MAX_BYTES];

	calltext_join(l->words, l->n, told, sizeof(told));
	script_trace("--- %.150s", told);
	for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (l->n > 0 && strcmp(verbs[i].verb, l->words[0]) == 0)
			verbs[i].run(t, l);
	vclock_settle();
}
