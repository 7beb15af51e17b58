/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clients of a history: the calls that each waits for, and their ends. */
#include <stdio.h>
#include <string.h>

#include "histories/play_private.h"
#include "scenario/vclock.h"

/* Two seconds, and what it takes to read the clock. */
#define SILENT_NS UINT64_C(1990000000)

/* ---- replies ------------------------------------------------------------- */

static void count_hit(struct play *p, const struct play_call *c)
{
	if (calltext_is_change(c->op.proc))
		return;
	p->out->looks++;
	p->out->hits += c->served == p->served;
}

/* Before a server that is silent the caches may answer, however the calls of a
 * client follow one another. */
static bool is_silent(const struct play *p)
{
	return vclock_wall_ns() > p->answered_ns + SILENT_NS;
}

static void check_reply(struct play *p, unsigned who, struct play_call *c)
{
	struct calltext_facts facts;
	const char *why;

	if (!c->waits ||
	    !client_take_one(p->place.clients[who], c->xid, &facts))
		return;
	c->waits = false;
	c->op.behind.sure &=
	    c->disturbed == p->disturbed && !c->op.away && !is_silent(p);
	p->out->replies++;
	count_hit(p, c);
	play_lose_held(p);
	why = judge_reply(p->judge, &c->op, &facts);
	if (why)
		script_fail("client %c, %s: %s", 'A' + who, c->told, why);
	play_turns_told(p, who);
	play_turns_reply(who, c->xid, &facts);
}

void play_check_replies(struct play *p)
{
	for (unsigned i = 0; i < p->nplayers; i++)
		for (unsigned k = 0; k < PLAYER_CALLS; k++)
			check_reply(p, i, &p->players[i].calls[k]);
}

/* ---- connections --------------------------------------------------------- */

static struct play_call *first_after(struct player *c, uint32_t xid)
{
	struct play_call *found = NULL;

	for (unsigned k = 0; k < PLAYER_CALLS; k++)
		if (c->calls[k].waits && c->calls[k].xid > xid &&
		    (!found || c->calls[k].xid < found->xid))
			found = &c->calls[k];
	return found;
}

/* Sends what the client waits for over a new connection, the oldest first, and
 * nothing else. */
static void repeat_all(struct play *p, unsigned who)
{
	struct play_call *c = NULL;

	while ((c = first_after(&p->players[who], c ? c->xid : 0)) != NULL) {
		c->asked_ns = vclock_wall_ns();
		(void)client_repeat_one(p->place.clients[who], c->xid);
	}
}

void play_repeat_lost(struct play *p)
{
	for (unsigned i = 0; i < p->nplayers && p->place.daemon; i++)
		if (!client_connected(p->place.clients[i]))
			repeat_all(p, i);
}

bool play_client_waits(const struct player *c)
{
	for (unsigned k = 0; k < PLAYER_CALLS; k++)
		if (c->calls[k].waits)
			return true;
	return false;
}

bool play_anybody_waits(const struct play *p)
{
	for (unsigned i = 0; i < p->nplayers; i++)
		if (play_client_waits(&p->players[i]))
			return true;
	return false;
}

/* ---- calls --------------------------------------------------------------- */

struct play_call *play_call_with(struct play *p, uint64_t key)
{
	for (unsigned i = 0; i < p->nplayers; i++)
		for (unsigned k = 0; k < PLAYER_CALLS; k++) {
			struct play_call *c = &p->players[i].calls[k];

			if (c->waits && c->op.key == key)
				return c;
		}
	return NULL;
}

bool play_send(struct play *p, unsigned who, unsigned slot, const char *text)
{
	struct player *player = &p->players[who];
	struct play_call *c = &player->calls[slot];
	struct client *client = p->place.clients[who];
	char err[CALLTEXT_MAX];

	strcpy(c->op.text, text);
	c->op.nwords = play_cut(c->op.text, c->op.words, c->told);
	if (!calltext_parse(p->place.fs, c->op.words, c->op.nwords, &c->op.proc,
		&c->op.args, err))
		return false;
	c->op.uid = 1000 + who;
	c->op.address = client_address(client);
	if (play_gave_up(player, judge_key(c->op.proc, &c->op.args, c->op.uid)))
		return false;
	c->op.away = p->away;
	c->op.doubtful = c->op.noted = false;
	c->op.behind.key = 0;
	c->asked_ns = vclock_wall_ns();
	c->arrived = 0;
	c->arrived_ns = 0;
	play_look_begin(c);
	c->disturbed = p->disturbed;
	c->served = p->served;
	judge_sent(p->judge, &c->op);
	c->waits = true;
	p->out->calls++;
	p->out->changes += calltext_is_change(c->op.proc);
	client_send(client, c->op.words, c->op.nwords, false);
	c->xid = client_newest(client);
	return true;
}

static bool is_at_server(const struct play *p, uint64_t key)
{
	struct fakeserver *nfs = p->place.nfs;

	for (unsigned i = 0; i < fakeserver_waiting(nfs); i++) {
		const struct fakeserver_call *call = fakeserver_nth(nfs, i);

		if (judge_key(call->proc, &call->args, call->uid) == key)
			return true;
	}
	return false;
}

static bool changes_name(const struct play_call *c)
{
	return c->waits && c->op.proc->proc >= NFSPROC3_CREATE &&
	       c->op.proc->proc <= NFSPROC3_LINK;
}

/* A look at the directory of the name that the change is about, or at that
 * name. */
static void choose_behind(
    const struct play_call *c, const struct event *e, char *text)
{
	const char *path =
	    c->op
		.words[c->op.proc->proc == NFSPROC3_LINK ||
			       (c->op.proc->proc == NFSPROC3_RENAME && e->b % 2)
			   ? 2
			   : 1];
	int dir = (int)(strrchr(path, '/') - path);

	if (e->detail % 4 == 0)
		snprintf(text, CALLTEXT_MAX, "LOOKUP %s", path);
	else
		snprintf(text, CALLTEXT_MAX, "%s %.*s",
		    e->detail % 4 > 1 ? "READDIR" : "READDIRPLUS",
		    dir ? dir : 1, path);
}

bool play_behind(struct play *p, const struct event *e)
{
	for (unsigned i = 0; i < p->nplayers; i++) {
		unsigned who = (e->a + i) % p->nplayers;
		struct play_call *calls = p->players[who].calls;
		char text[CALLTEXT_MAX];

		if (!changes_name(&calls[0]) || calls[1].waits ||
		    !client_connected(p->place.clients[who]) ||
		    !is_at_server(p, calls[0].op.key))
			continue;
		choose_behind(&calls[0], e, text);
		if (!play_send(p, who, 1, text))
			return false;
		calls[1].op.behind.key = calls[0].op.key;
		calls[1].op.behind.seq = calls[0].op.sent_seq;
		calls[1].op.behind.sure = calls[0].disturbed == p->disturbed;
		return true;
	}
	return false;
}
