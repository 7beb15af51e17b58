/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which machine has which bit of struct node, where it is remembered what a
 * machine was told of a file (svc_write.c). A machine is an address, however
 * many connections it has. It keeps its bit for an hour after the last of them:
 * clients close those that are idle, and go on as if nothing had been. After
 * that the next one inherits the bit with all that is remembered by it: that
 * costs a round trip at most, since a machine that comes is told a file's
 * attributes before it writes.
 *
 * An address that is new, or had no connection for a while, may be that of a
 * machine that had another one: for two minutes, longer than clients believe
 * attributes by themselves, what machines without a connection were told counts
 * as told to it, too, until it is told better. What it is told is no excuse for
 * them: it may be another machine.
 *
 * Where more machines work at once than there are bits, the answers to the
 * others about files rest on no older confirmation (struct asker).
 */
#include <strings.h>

#include "config/config.h"
#include "svc/svc_rqst.h"

#define KEEP_US UINT64_C(3600000000)
#define NEW_US  UINT64_C(120000000)

/* Whether a bit has never been given away, or may be taken from a machine that
 * has been without a connection for KEEP_US. */
static bool is_free(const struct svc_machine *m, uint64_t now_us)
{
	return m->gone_us == 0 ||
	       (m->connections == 0 && m->gone_us + KEEP_US < now_us);
}

/* Returns the machine's own entry, or else a free one, that of the longest
 * absence first; NULL where there is none. */
static struct svc_machine *find(
    struct svc *svc, uint64_t address_hash, uint64_t now_us)
{
	struct svc_machine *best = NULL;

	for (unsigned i = 0; i < NODE_MACHINES; i++) {
		struct svc_machine *m = &svc->machines[i];

		if (m->gone_us != 0 && m->address_hash == address_hash)
			return m;
		if (is_free(m, now_us) && (!best || m->gone_us < best->gone_us))
			best = m;
	}
	return best;
}

/* Gives the client its machine's bit; false where all are taken. A machine that
 * had no connection counts as new for NEW_US. */
static bool enter(struct svc *svc, struct svc_client *client, uint64_t now_us)
{
	struct svc_machine *m = find(svc, client->address_hash, now_us);

	if (!m)
		return false;
	if (m->connections == 0)
		m->new_until_us = now_us + NEW_US;
	m->address_hash = client->address_hash;
	m->connections++;
	m->gone_us = now_us;
	client->new_until_us = m->new_until_us;
	client->machine = (uint16_t)(1u << (m - svc->machines));
	svc->lost_machines &= (uint16_t)~client->machine;
	return true;
}

struct machine svc_machine(
    struct svc *svc, struct svc_client *client, uint64_t now_us)
{
	struct machine who = {0};
	unsigned suppressed;

	if (client->machine == 0 && !enter(svc, client, now_us) &&
	    log_limit_ok(&svc->crowded, now_us, &suppressed))
		log_warn("svc server=%s client=%s suppressed=%u: %d other "
			 "machines are at work; this one has files confirmed "
			 "at each open",
		    svc->p.config->name, client->name, suppressed,
		    NODE_MACHINES);
	who.own = client->machine;
	if (who.own != 0 && client->new_until_us >= now_us)
		who.also = svc->lost_machines;
	return who;
}

void svc_machine_leave(
    struct svc *svc, struct svc_client *client, uint64_t now_us)
{
	for (unsigned i = 0; i < NODE_MACHINES; i++) {
		struct svc_machine *m = &svc->machines[i];

		if (client->machine != 1u << i)
			continue;
		m->gone_us = now_us;
		if (--m->connections == 0)
			svc->lost_machines |= client->machine;
	}
	client->machine = 0;
}

void svc_machine_stale(struct svc *svc, struct machine m, uint64_t now_us)
{
	svc->stale_us[ffs(m.own)] = now_us;
}

uint64_t svc_machine_stale_us(
    const struct svc *svc, struct machine m, uint64_t received_us)
{
	uint64_t us = svc->stale_us[ffs(m.own)];

	/* A request that came before that repeats no walk. */
	return us <= received_us ? us : 0;
}
