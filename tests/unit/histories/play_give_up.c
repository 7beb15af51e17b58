/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that clients gave up: a program was killed, or a soft mount's time was
 * over. The client forgets the call, and tells nobody.
 *
 * A change that was given up may still be done if it was on its way. It must
 * not be sent for the first time where the daemon could know that nobody may
 * wait for it any more: when its connection was closed, or when it had waited
 * so long that its client has to be asked. Nor may it then be sent again in
 * doubt. A COMMIT does no harm at any time.
 */
#include "histories/play_private.h"
#include "scenario/vclock.h"

/* What waited for longer is asked for, and some time that passes until then. */
#define ASKED_NS UINT64_C(2100000000)

static void give_up(struct player *player, struct play_call *c, bool closed)
{
	struct gave_up *g =
	    &player->given_up[player->ngiven_up++ % GIVEN_UP_MAX];

	*g = (struct gave_up){.key = c->op.key,
	    .asked_ns = c->asked_ns,
	    .arrived = c->arrived,
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

static struct gave_up *gave_up(struct player *player, uint64_t key)
{
	for (unsigned i = 0; i < player->ngiven_up && i < GIVEN_UP_MAX; i++)
		if (player->given_up[i].key == key)
			return &player->given_up[i];
	return NULL;
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

	if (g->arrived == 0 && g->closed)
		return "sent only after its client had gone";
	if (vclock_wall_ns() < since_ns + ASKED_NS)
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
		return NULL;
	}
	for (unsigned i = 0; i < p->nplayers; i++) {
		struct gave_up *g = gave_up(&p->players[i], key);

		if (!g)
			continue;
		wrong = late ? NULL : wrong_with(p, g);
		g->arrived++;
	}
	return wrong;
}
