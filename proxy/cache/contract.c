/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each mode comes down to one number, the oldest time of sending that will do;
 * 0 where any will. Everybody who answers from the caches asks here, mostly by
 * known.c, so a client is promised what these few functions say. They read no
 * clock.
 */
#include "cache/contract.h"

void contract_init(struct contract *c, const struct config_policy *policy,
    bool offline, uint64_t received_us, uint64_t now_us)
{
	*c = (struct contract){.mode = policy->consistency,
	    .offline = offline,
	    .now_us = now_us,
	    .received_us = received_us,
	    .attr_timeout_us = policy->attr_timeout_us,
	    .age_us = policy->attr_timeout_us,
	    .negative_timeout_us = policy->negative_timeout_us,
	    .grant_timeout_us = policy->grant_timeout_us};
}

static uint64_t oldest_of_mode(const struct contract *c, uint64_t timeout_us)
{
	uint64_t us;

	if (c->mode == CONFIG_CONSISTENCY_FROZEN)
		return CONTRACT_LOADED_WHOLE_US;
	if (c->mode == CONFIG_CONSISTENCY_STRICT)
		return c->received_us;
	us = timeout_us < c->now_us ? c->now_us - timeout_us : 0;
	/* However much time has passed since: an answer to a call that was sent
	 * for this request is never too old for it. */
	return us < c->received_us ? us : c->received_us;
}

static uint64_t oldest(const struct contract *c, uint64_t timeout_us)
{
	uint64_t us = c->offline ? 0 : oldest_of_mode(c, timeout_us);

	return us > c->stale_us || c->offline ? us : c->stale_us;
}

void contract_set_still(struct contract *c, uint64_t still_us)
{
	enum { SHARE = 10 };

	if (still_us / SHARE < c->age_us)
		c->age_us = still_us / SHARE;
}

bool contract_fresh(const struct contract *c, uint64_t sent_us)
{
	return sent_us != 0 && sent_us >= oldest(c, c->age_us);
}

bool contract_absent(const struct contract *c, uint64_t sent_us)
{
	uint64_t us = c->age_us < c->negative_timeout_us
			  ? c->age_us
			  : c->negative_timeout_us;

	return sent_us != 0 && sent_us >= oldest(c, us);
}

static bool right(
    const struct contract *c, uint64_t sent_us, uint64_t timeout_us)
{
	if (c->mode == CONFIG_CONSISTENCY_FROZEN || c->offline)
		return sent_us != 0 &&
		       sent_us + c->grant_timeout_us >= c->now_us;
	return sent_us != 0 && sent_us >= oldest(c, timeout_us);
}

bool contract_right(const struct contract *c, uint64_t sent_us)
{
	return right(c, sent_us, c->attr_timeout_us);
}

bool contract_right_kept(const struct contract *c, uint64_t sent_us)
{
	return right(c, sent_us, c->grant_timeout_us);
}

/* ---- ahead of clients -------------------------------------------------- */

/* These are parts of attr_timeout: a quarter, a half, a third. */
enum { REPEAT_PARTS = 4, RECENT_PARTS = 2, SLACK_PARTS = 3 };

uint64_t contract_repeat_us(const struct config_policy *policy)
{
	return policy->attr_timeout_us / REPEAT_PARTS;
}

uint64_t contract_recent_us(const struct config_policy *policy)
{
	return policy->attr_timeout_us / RECENT_PARTS;
}

uint64_t contract_slack_us(const struct config_policy *policy)
{
	return policy->attr_timeout_us / SLACK_PARTS;
}

bool contract_serves(
    const struct config_policy *policy, uint64_t us, uint64_t now_us)
{
	return policy->consistency != CONFIG_CONSISTENCY_BOUNDED ||
	       us + policy->attr_timeout_us > now_us;
}

uint64_t contract_lasts_since_us(
    const struct config_policy *policy, uint64_t now_us)
{
	uint64_t since_us = now_us + contract_slack_us(policy);

	if (policy->consistency != CONFIG_CONSISTENCY_BOUNDED ||
	    since_us <= policy->attr_timeout_us)
		return 1;
	return since_us - policy->attr_timeout_us;
}

/* Whether it lasts for a third of `timeout_us` from now on, at least. */
static bool lasts(
    const struct contract *c, uint64_t sent_us, uint64_t timeout_us)
{
	return sent_us != 0 &&
	       sent_us + timeout_us >= c->now_us + timeout_us / SLACK_PARTS;
}

bool contract_lasts(
    const struct contract *c, uint64_t sent_us, uint64_t least_us)
{
	uint64_t age_us = c->mode == CONFIG_CONSISTENCY_STRICT ? 0 : c->age_us;

	if (c->mode == CONFIG_CONSISTENCY_FROZEN)
		return sent_us >= CONTRACT_LOADED_WHOLE_US;
	if (age_us < least_us)
		age_us = least_us;
	return lasts(c, sent_us,
	    age_us < c->attr_timeout_us ? age_us : c->attr_timeout_us);
}

bool contract_right_lasts(const struct contract *c, uint64_t sent_us, bool kept)
{
	uint64_t timeout_us = c->attr_timeout_us;

	/* In bounded mode grant_timeout may be the shorter one. */
	if (c->mode == CONFIG_CONSISTENCY_FROZEN ||
	    (kept && c->grant_timeout_us > timeout_us))
		timeout_us = c->grant_timeout_us;
	return lasts(c, sent_us, timeout_us);
}

uint64_t contract_held_us(
    struct attrcache *ac, const struct node *node, const struct binding *b)
{
	const struct node_ext *x = attrcache_ext(ac, node);

	/* The first change of our own found the directory as it was known,
	 * so the binding held when that change was sent. */
	return x && b->firm && b->sent_us < x->first_sent_us ? x->first_sent_us
							     : b->sent_us;
}

bool contract_bound(const struct contract *c, struct attrcache *ac,
    const struct node *node, const struct binding *b)
{
	const struct node_ext *x = attrcache_ext(ac, node);

	if (x && b->generation != attrcache_generation(ac, node))
		return false;
	if (!x || b->sent_us > x->changed_us)
		return b->firm || contract_fresh(c, b->sent_us);
	return contract_fresh(c, contract_held_us(ac, node, b));
}

uint64_t contract_data_valid(const struct contract *c)
{
	return oldest(c, c->age_us);
}
