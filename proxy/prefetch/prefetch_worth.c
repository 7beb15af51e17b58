/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a call ahead is worth what it costs, and whether it is too early for
 * it. A call that comes to nothing costs the link its bytes, and the server its
 * work; one that is used spares its client a round trip and the same bytes.
 */
#include "prefetch/prefetch_private.h"

enum {
	/* Of a link of which nothing is known yet: 8 Mbit/s and 20 ms. */
	DEFAULT_RATE_BPS = 1 << 20,
	DEFAULT_RTT_US = 20000,
};

/* A call costs the server and the link this share of a round trip, whatever its
 * size: where its answer is as likely as not to be used it is worth it, where
 * the odds are one in five it is not. */
#define CALL_SHARE 0.25

static double rate_Bps(const struct prefetch *pf)
{
	uint64_t rate = linkest_rate_Bps(pf->p.link);

	return rate > 0 ? (double)rate : DEFAULT_RATE_BPS;
}

static double rtt_us(const struct prefetch *pf)
{
	uint64_t rtt = linkest_srtt_us(pf->p.link);

	return rtt > 0 ? (double)rtt : DEFAULT_RTT_US;
}

/* What clients' calls that are under way will still take on the link. */
static double backlog_us(const struct prefetch *pf)
{
	return (double)linkest_backlog_us(pf->p.link, pf->now_us);
}

bool want_worth(const struct prefetch *pf, double p, uint64_t bytes)
{
	double rtt = rtt_us(pf);
	double wire = (double)linkest_wire_bytes(bytes) / rate_Bps(pf) * 1e6;

	return p * (rtt + wire) > (1 - p) * (wire + CALL_SHARE * rtt) *
				      (1 + 2 * backlog_us(pf) / rtt);
}

/* The bytes of the calls that it spares hardly count beside its own. */
bool listing_worth(const struct prefetch *pf, uint32_t calls, uint64_t bytes)
{
	/* Nothing is known of the link yet: a small one does no harm. */
	if (linkest_rate_Bps(pf->p.link) == 0 &&
	    bytes <= budget_window_bytes(pf->budget))
		return true;
	return calls * rtt_us(pf) >
	       (double)bytes / rate_Bps(pf) * 1e6 + 2 * backlog_us(pf);
}

bool want_too_early(
    const struct caches *c, const struct node *node, uint64_t now_us)
{
	return (node->flags & NODE_ATTRS) &&
	       !attrcache_firm(c->attr, node, now_us) &&
	       attrcache_firm(c->attr, node, now_us + GRAIN_US);
}
