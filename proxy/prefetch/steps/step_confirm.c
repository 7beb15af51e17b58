/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether what is known of an object will last until a client uses it, and the
 * ACCESS that confirms it. */
#include "link/linkest.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/ground.h"
#include "prefetch/steps/turn_private.h"

enum {
	/* Such a part of its time a confirmation must still last. */
	SLACK_PARTS = 3,
};

/* Whether what a call at `sent_us` confirmed may be used for `timeout_us` from
 * then, and for a third of that from now at least. */
static bool lasts(const struct turn *t, uint64_t sent_us, uint64_t timeout_us)
{
	if (sent_us == 0)
		return false;
	if (t->k.policy->consistency == CONFIG_CONSISTENCY_FROZEN)
		return sent_us >= CONTRACT_LOADED_WHOLE_US;
	return sent_us + timeout_us >= t->now_us + timeout_us / SLACK_PARTS;
}

/* How long a confirmation of the node may be used. What changed a moment ago
 * must be confirmed again so soon that two round trips stand for that: else a
 * want would ask for it over and over. */
static uint64_t confirmation_us(const struct turn *t, struct node *node)
{
	uint64_t us = known_age_us(t->c, node, t->now_us);
	uint64_t trips_us = 2 * linkest_srtt_us(t->g->link);
	uint64_t most_us = t->k.policy->attr_timeout_us;

	if (us < trips_us)
		us = trips_us;
	return us < most_us ? us : most_us;
}

uint64_t turn_fresh_since_us(const struct turn *t)
{
	uint64_t since_us = t->now_us + contract_slack_us(t->k.policy);

	if (t->k.policy->consistency != CONFIG_CONSISTENCY_BOUNDED ||
	    since_us <= t->k.policy->attr_timeout_us)
		return 1;
	return since_us - t->k.policy->attr_timeout_us;
}

bool turn_confirmed(const struct turn *t, struct node *node, bool rights)
{
	const struct grant *g;
	uint64_t sent_us = attrcache_sent(t->c->attr, node);

	/* In strict mode a client's call confirms it anyway: it need only be
	 * known. */
	if (t->k.policy->consistency == CONFIG_CONSISTENCY_STRICT && sent_us)
		return true;
	/* Where the use is far off, it need only be known, too: a confirmation
	 * would be too old by then, and a READ shows the version. */
	if (t->wish->far_off && (node->flags & NODE_ATTRS))
		return true;
	if (!lasts(t, sent_us, confirmation_us(t, node)))
		return false;
	if (!rights)
		return true;
	g = accesscache_find(t->c->access, node, credential_id(t->wish->cred));
	return g && g->known == ACCESS_ALL &&
	       lasts(t, g->access_us,
		   t->k.policy->consistency == CONFIG_CONSISTENCY_FROZEN
		       ? t->k.policy->grant_timeout_us
		       : t->k.policy->attr_timeout_us);
}

bool turn_confirm(struct turn *t, struct node *node)
{
	union nfs_args args = {
	    .access = {.object = node_fh(node), .access = ACCESS_ALL}};

	if (turn_under_way(t, node, NFSPROC3_ACCESS))
		return true;
	return turn_send(t, node, NFSPROC3_ACCESS, &args, CONFIRM_BYTES) &&
	       turn_under_way(t, node, NFSPROC3_ACCESS);
}

bool turn_may_list(struct turn *t, struct node *node)
{
	if (node->flags & NODE_ATTRS)
		return attrcache_type(t->c->attr, node) == NF3DIR;
	/* Only its handle is known, as from another machine: the server says
	 * first of which type it is. It may say nothing of that for ever. */
	if (!t->at->typed)
		t->at->typed = turn_confirm(t, node);
	return false;
}
