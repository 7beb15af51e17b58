/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that clients gave up: a program was killed, or a soft mount's time was
 * over. The client forgets the call, and tells nobody.
 *
 * A change that was given up may still be done if it was on its way. It must
 * not be sent for the first time where the daemon could know that nobody may
 * wait for it any more: when its connection was closed, or when it had waited
 * so long that its client has to be asked. Nor may it then be sent again in
 * doubt. But a server that takes its time to answer the look before that, or
 * the GETATTR that confirms the file of a WRITE, is only slow, and is waited
 * for: on a direct mount the change itself would wait there. A COMMIT does no
 * harm at any time, nor does a WRITE that a silent server has got since
 * connections were lost.
 */
#include "histories/play_private.h"
#include "scenario/vclock.h"

/* The daemon asks after a client whose change has waited for two seconds, and
 * some time passes until it does. */
#define ASKED_NS UINT64_C(2100000000)

static struct gave_up *gave_up(struct player *player, uint64_t key)
{
	for (unsigned i = 0; i < player->ngiven_up && i < GIVEN_UP_MAX; i++)
		if (player->given_up[i].key == key)
			return &player->given_up[i];
	return NULL;
}

/* ---- looks --------------------------------------------------------------- */

void play_look_begin(struct play_call *c)
{
	const union nfs_args *args = &c->op.args;
	union nfs_args look = {.dirop = args->dirop};
	uint32_t proc = NFSPROC3_LOOKUP;

	c->look = (struct play_look){0};
	switch (c->op.proc->proc) {
	case NFSPROC3_WRITE:
		look.object = args->write.file;
		proc = NFSPROC3_GETATTR;
		c->look.confirms = true;
		break;
	case NFSPROC3_SETATTR:
		look.object = args->setattr.object;
		proc = NFSPROC3_GETATTR;
		break;
	case NFSPROC3_LINK:
		look.dirop = args->link.link;
		break;
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
	case NFSPROC3_RENAME:
		break;
	default:
		return;
	}
	c->look.key = judge_key(
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, proc), &look, c->op.uid);
}

/* Whether the server has had it since the client asked, and since connections
 * were lost. */
static bool is_looked_at(
    const struct play *p, const struct play_look *look, uint64_t asked_ns)
{
	return look->ns > asked_ns && look->ns > p->lost_ns;
}

static void note_look(
    struct play *p, struct play_look *look, uint64_t key, uint64_t asked_ns)
{
	if (look->key == key && !is_looked_at(p, look, asked_ns))
		look->ns = vclock_wall_ns();
}

void play_take_look(struct play *p, uint64_t key)
{
	for (unsigned i = 0; i < p->nplayers; i++) {
		struct player *player = &p->players[i];

		for (unsigned k = 0; k < PLAYER_CALLS; k++)
			note_look(p, &player->calls[k].look, key,
			    player->calls[k].asked_ns);
		for (unsigned k = 0; k < GIVEN_UP_MAX; k++)
			note_look(p, &player->given_up[k].look, key,
			    player->given_up[k].asked_ns);
	}
}

void play_confirm_over(struct play *p, uint64_t key)
{
	struct play_call *c = play_call_with(p, key);

	if (c)
		c->look.over_ns = vclock_wall_ns();
	for (unsigned i = 0; i < p->nplayers; i++) {
		struct gave_up *g = gave_up(&p->players[i], key);

		if (g)
			g->look.over_ns = vclock_wall_ns();
	}
}

/* ---- calls that are given up --------------------------------------------- */

static void give_up(struct player *player, struct play_call *c, bool closed)
{
	struct gave_up *g =
	    &player->given_up[player->ngiven_up++ % GIVEN_UP_MAX];

	*g = (struct gave_up){.key = c->op.key,
	    .asked_ns = c->asked_ns,
	    .arrived = c->arrived,
	    .arrived_ns = c->arrived_ns,
	    .look = c->look,
	    .doubtful = c->op.doubtful,
	    .closed = closed};
	c->waits = false;
}

void play_give_up(struct player *player)
{
	for (unsigned k = 0; k < PLAYER_CALLS; k++)
		if (player->calls[k].waits)
			give_up(player, &player->calls[k], true);
}

bool play_give_up_one(struct play *p, const struct event *e)
{
	for (unsigned i = 0; i < p->nplayers; i++) {
		unsigned who = (e->a + i) % p->nplayers;
		struct play_call *calls = p->players[who].calls;

		if (!play_client_waits(&p->players[who]) ||
		    play_turn_waits(p, who))
			continue;
		script_trace("client %c gives up", 'A' + who);
		give_up(
		    &p->players[who], &calls[calls[0].waits ? 0 : 1], false);
		return true;
	}
	return false;
}

bool play_gave_up(struct player *player, uint64_t key)
{
	return gave_up(player, key);
}

void play_doubt_given_up(struct play *p, uint64_t key)
{
	for (unsigned i = 0; i < p->nplayers; i++) {
		struct gave_up *g = gave_up(&p->players[i], key);

		if (g)
			g->doubtful = true;
	}
}

static const char *wrong_with(const struct play *p, const struct gave_up *g)
{
	bool lost = g->arrived > 0 && p->lost_ns > g->asked_ns;
	uint64_t since_ns = lost ? p->lost_ns : g->asked_ns;
	bool looked = (g->look.confirms ? g->arrived == 0 : g->doubtful) &&
		      is_looked_at(p, &g->look, g->asked_ns);
	uint64_t until_ns = looked ? g->look.ns : vclock_wall_ns();

	if (looked && g->look.over_ns > g->look.ns)
		until_ns += vclock_wall_ns() - g->look.over_ns;
	if (g->arrived == 0 && g->closed)
		return "sent only after its client had gone";
	if (until_ns < since_ns + ASKED_NS)
		return NULL;
	/* A server that is only silent does the WRITE that it has got, too. */
	if (g->look.confirms && g->arrived_ns > p->lost_ns)
		return NULL;
	if (g->arrived == 0)
		return "sent though nobody had waited for it for long";
	return g->doubtful ? "sent again in doubt, though nobody waits for it"
			   : NULL;
}

static bool may_be_late(const struct play *p, const struct nfs_proc *proc)
{
	unsigned part =
	    proc->proc == NFSPROC3_WRITE ? PART_LATE_WRITES : PART_GIVE_UP;

	return proc->proc == NFSPROC3_COMMIT || !(p->parts & 1u << part);
}

const char *play_take_change(
    struct play *p, uint64_t key, const struct nfs_proc *proc)
{
	struct play_call *c = play_call_with(p, key);
	bool late = may_be_late(p, proc);
	const char *wrong = "sent, though no client ever did";

	if (c) {
		c->arrived++;
		c->arrived_ns = vclock_wall_ns();
		return NULL;
	}
	for (unsigned i = 0; i < p->nplayers; i++) {
		struct gave_up *g = gave_up(&p->players[i], key);

		if (!g)
			continue;
		wrong = late ? NULL : wrong_with(p, g);
		g->arrived++;
		g->arrived_ns = vclock_wall_ns();
	}
	return wrong;
}
