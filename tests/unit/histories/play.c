/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each event of a history does. */
#include "histories/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "histories/play_private.h"
#include "scenario/hosts.h"
#include "scenario/vclock.h"
#include "sweep/commands.h"
#include "sweep/failure.h"

#define MS UINT64_C(1000)
#define S  UINT64_C(1000000)

#define SLOW_NS UINT64_C(1000000000)

const char *const play_mode_names[] = {[JUDGE_STRICT] = "strict",
    [JUDGE_BOUNDED] = "bounded",
    [JUDGE_FROZEN] = "frozen",
    [JUDGE_OFFLINE] = "offline"};

/* ---- clients --------------------------------------------------------------
 */

static void check_reply(struct play *p, unsigned who)
{
	struct calltext_facts facts;
	struct player *c = &p->players[who];
	const char *why;

	if (!c->waits || !client_take(c->client, NULL, &facts))
		return;
	c->waits = false;
	p->out->replies++;
	c->op.away |= p->away;
	why = judge_reply(p->judge, &c->op, &facts);
	if (why)
		script_fail("client %c, %s: %s", 'A' + who, c->told, why);
}

static void check_replies(struct play *p)
{
	for (unsigned i = 0; i < PLACE_CLIENTS; i++)
		check_reply(p, i);
}

/* As the kernel's client: a lost connection is made again at once. */
static void repeat_lost(struct play *p)
{
	for (unsigned i = 0; i < PLACE_CLIENTS && p->place.daemon; i++) {
		struct player *c = &p->players[i];

		if (c->waits && !client_connected(c->client))
			(void)client_repeat(c->client);
	}
}

/*
 * With `offline = serve` the server may count as away from now on: until it has
 * answered something, requests get what is cached, or an error.
 */
static void note_away(struct play *p)
{
	if (!p->offline)
		return;
	p->away = true;
	for (unsigned i = 0; i < PLACE_CLIENTS; i++)
		p->players[i].op.away = true;
}

/* A server that leaves calls unanswered for three seconds is away; its last
 * sign of life is not known exactly here. */
static void watch_server(struct play *p)
{
	if (fakeserver_waiting(p->place.nfs) == 0)
		p->answered_ns = vclock_wall_ns();
	else if (vclock_wall_ns() - p->answered_ns > SLOW_NS)
		note_away(p);
}

static void settle(struct play *p)
{
	watch_server(p);
	vclock_settle();
	check_replies(p);
	repeat_lost(p);
}

static void do_call(struct play *p, const struct event *e)
{
	struct player *c = &p->players[e->a % p->nplayers];
	char err[CALLTEXT_MAX];

	if (c->waits || !p->place.daemon)
		return;
	play_choose_call(e, c->op.text);
	c->op.nwords = play_cut(c->op.text, c->op.words, c->told);
	if (!calltext_parse(p->place.fs, c->op.words, c->op.nwords, &c->op.proc,
		&c->op.args, err))
		return;
	c->op.uid = 1000 + e->a % p->nplayers;
	c->op.away = p->away;
	judge_sent(p->judge, &c->op);
	c->waits = true;
	p->out->calls++;
	p->out->changes += judge_is_change(c->op.proc);
	client_send(c->client, c->op.words, c->op.nwords, false);
}

static void do_close(struct play *p, const struct event *e)
{
	struct player *c = &p->players[e->a % p->nplayers];

	client_close(c->client);
	/* One in four gives up what it waits for. */
	if (e->b % 4 == 0)
		c->waits = false;
}

static void do_address(struct play *p, const struct event *e)
{
	struct player *c = &p->players[e->a % p->nplayers];

	if (c->waits)
		return;
	client_close(c->client);
	client_set_address(
	    c->client, hosts_address(HOSTS_CLIENT + 10 + e->b % 40));
}

/* ---- the server -----------------------------------------------------------
 */

static bool is_silent(const struct play *p)
{
	return vclock_wall_ns() < p->silent_ns;
}

static struct fakeserver_call *pick_call(struct play *p, const struct event *e)
{
	unsigned n = fakeserver_waiting(p->place.nfs);

	/* Most often the oldest. */
	if (n == 0 || is_silent(p))
		return NULL;
	return fakeserver_nth(p->place.nfs, e->a % 3 ? 0 : e->b % n);
}

/* True where the server's reply cache answers, as knfsd's: it knows changes,
 * but no COMMIT. */
static bool from_cache(struct play *p, struct fakeserver_call *call)
{
	return call->again && judge_is_change(call->proc) &&
	       call->proc->proc != NFSPROC3_COMMIT &&
	       fakeserver_repeat(p->place.nfs, call);
}

/* It reached the server, so the daemon knows that it is back. */
static void note_back(struct play *p)
{
	p->answered_ns = vclock_wall_ns();
	if (!p->out_of_reach)
		p->away = false;
}

static void serve(struct play *p, struct fakeserver_call *call, nfsstat3 status)
{
	judge_serve(
	    p->judge, p->place.fs, call->proc, &call->args, call->uid, status);
	note_back(p);
}

static void do_serve(struct play *p, const struct event *e)
{
	struct fakeserver_call *call = pick_call(p, e);

	if (!call)
		return;
	if (call->held) {
		fakeserver_release(p->place.nfs, call);
		return;
	}
	if (from_cache(p, call))
		return;
	serve(p, call, NFS3_OK);
	if (e->c % 8 == 0)
		fakeserver_hold(p->place.nfs, call);
	else
		fakeserver_do(p->place.nfs, call);
}

static void do_lose(struct play *p, const struct event *e)
{
	struct fakeserver_call *call = pick_call(p, e);
	unsigned conn;

	if (!call || call->held || from_cache(p, call))
		return;
	conn = call->conn;
	serve(p, call, NFS3_OK);
	fakeserver_do_silently(p->place.nfs, call);
	fakeserver_break_one(p->place.nfs, conn);
}

static void do_refuse(struct play *p, const struct event *e, bool half)
{
	static const nfsstat3 list[] = {
	    NFS3ERR_IO, NFS3ERR_NOSPC, NFS3ERR_DQUOT, NFS3ERR_SERVERFAULT};
	struct fakeserver_call *call = pick_call(p, e);
	nfsstat3 status = list[e->d % 4];

	if (!call || call->held || from_cache(p, call) ||
	    call->proc->proc == NFSPROC3_NULL)
		return;
	if (half && judge_is_change(call->proc)) {
		serve(p, call, status);
		fakeserver_do_badly(p->place.nfs, call, status);
	} else {
		judge_refuse(
		    p->judge, call->proc, &call->args, call->uid, status);
		note_back(p);
		fakeserver_answer(p->place.nfs, call, status);
	}
}

/* ---- what happens to the machines ---------------------------------------- */

static void do_start(struct play *p)
{
	char err[PLACE_ERR_MAX];

	if (!place_start(&p->place, err))
		script_fail("the daemon does not start: %s", err);
}

static void do_kill(struct play *p, const struct event *e)
{
	place_kill(&p->place);
	judge_killed(p->judge);
	if (e->a % 2)
		vclock_pass(e->b % (5 * S));
	do_start(p);
}

static void do_restart(struct play *p)
{
	place_stop(&p->place);
	check_replies(p);
	do_start(p);
}

static void do_outage(struct play *p, const struct event *e)
{
	uint64_t us = e->a % 4 ? e->b % (20 * S) : e->b % (200 * S);

	if (p->out_of_reach)
		return;
	p->out_of_reach = true;
	p->back_ns = vclock_wall_ns() + us * 1000;
	fakeserver_listen(p->place.nfs, false);
	fakeserver_break(p->place.nfs);
}

static void end_outage(struct play *p)
{
	if (!p->out_of_reach || vclock_wall_ns() < p->back_ns)
		return;
	p->out_of_reach = false;
	fakeserver_listen(p->place.nfs, true);
}

static void do_silence(struct play *p, const struct event *e)
{
	uint64_t us = e->a % 4 ? e->b % (6 * S) : e->b % (100 * S);

	p->silent_ns = vclock_wall_ns() + us * 1000;
}

static void do_reboot(struct play *p)
{
	fakeserver_reboot(p->place.nfs);
	judge_reboot(p->judge, p->place.fs);
}

static void do_stranger(struct play *p, const struct event *e)
{
	play_stranger(p->place.fs, e);
	judge_changed(p->judge, p->place.fs);
	p->out->strangers++;
}

static void do_command(struct play *p, const struct event *e)
{
	static const char *const list[] = {"flush", "warm", "trees-list",
	    "hint", "compact", "pin", "stats", "activity"};
	char err[PLACE_ERR_MAX];

	(void)commands_give(&p->place, list[e->a % 8], err);
	if (err[0])
		script_fail("%s: %s", list[e->a % 8], err);
}

static void do_pass(const struct event *e)
{
	static const uint64_t most[] = {
	    1 * MS, 1 * MS, 5 * MS, 20 * MS, 50 * MS, 200 * MS, 1 * S, 4 * S};

	vclock_pass(e->b % most[e->a % 8]);
}

/* ---- a history ------------------------------------------------------------
 */

static void do_machine(struct play *p, const struct event *e)
{
	switch (e->kind) {
	case EVENT_KILL:
		do_kill(p, e);
		break;
	case EVENT_RESTART:
		do_restart(p);
		break;
	case EVENT_OUTAGE:
		do_outage(p, e);
		break;
	case EVENT_SILENCE:
		do_silence(p, e);
		break;
	case EVENT_REBOOT:
		do_reboot(p);
		break;
	case EVENT_BREAK:
		fakeserver_break(p->place.nfs);
		break;
	case EVENT_SLEEP:
		vclock_sleep(e->a % (600 * S));
		break;
	default:
		break;
	}
}

static void do_event(struct play *p, const struct event *e)
{
	if (e->kind >= EVENT_FAULTS)
		note_away(p);
	switch (e->kind) {
	case EVENT_CALL:
		do_call(p, e);
		break;
	case EVENT_SERVE:
		do_serve(p, e);
		break;
	case EVENT_PASS:
		do_pass(e);
		break;
	case EVENT_STRANGER:
		do_stranger(p, e);
		break;
	case EVENT_COMMAND:
		do_command(p, e);
		break;
	case EVENT_LOSE:
		do_lose(p, e);
		break;
	case EVENT_REFUSE:
	case EVENT_HALF:
		do_refuse(p, e, e->kind == EVENT_HALF);
		break;
	case EVENT_CLOSE:
		do_close(p, e);
		break;
	case EVENT_ADDRESS:
		do_address(p, e);
		break;
	default:
		do_machine(p, e);
	}
}

static bool somebody_waits(const struct play *p)
{
	for (unsigned i = 0; i < PLACE_CLIENTS; i++)
		if (p->players[i].waits)
			return true;
	return false;
}

/* All is well again, so every call has to end. */
static void finish(struct play *p)
{
	static const struct event oldest = {.a = 1, .c = 1};

	p->silent_ns = p->back_ns = 0;
	for (unsigned i = 0; somebody_waits(p); i++) {
		if (i == 100000)
			script_fail("a call does not end");
		end_outage(p);
		do_serve(p, &oldest);
		settle(p);
		if (fakeserver_waiting(p->place.nfs) == 0)
			vclock_pass(100 * MS);
	}
}

static void begin(struct play *p, enum judge_mode mode, unsigned seed)
{
	char settings[100];
	bool offline = mode == JUDGE_OFFLINE;

	snprintf(settings, sizeof(settings), "consistency = %s\n%s",
	    offline ? "bounded" : play_mode_names[mode],
	    offline ? "offline = serve\n" : "");
	place_begin(&p->place, settings);
	memcpy(p->out->dir, p->place.dir, sizeof(p->out->dir));
	fakeserver_serve(p->place.nfs, false);
	play_given(p->place.fs);
	p->judge = judge_new(mode, p->place.fs);
	p->offline = offline;
	p->answered_ns = vclock_wall_ns();
	p->nplayers = seed % 2 ? 2 : PLACE_CLIENTS;
	for (unsigned i = 0; i < PLACE_CLIENTS; i++)
		p->players[i].client = p->place.clients[i];
	for (unsigned i = 0; i < PLACE_CLIENTS; i++)
		client_set_uid(p->players[i].client, 1000 + i);
	do_start(p);
}

void play(enum judge_mode mode, const struct event *list, unsigned n,
    struct play_result *out)
{
	static struct play p;

	p.out = out;
	failure_begin(out->said, sizeof(out->said));
	begin(&p, mode, list[0].d);
	for (unsigned i = 0; i < n; i++) {
		script_trace("--- %u %s", i, event_name(list[i].kind));
		end_outage(&p);
		do_event(&p, &list[i]);
		settle(&p);
		out->faults[list[i].kind]++;
		out->events = i + 1;
	}
	finish(&p);
	place_end(&p.place);
	judge_free(p.judge);
	out->dir[0] = '\0';
	out->over = true;
}
