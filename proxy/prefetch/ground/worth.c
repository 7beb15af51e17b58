/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a call ahead is worth what it costs, and whether it is too early for
 * it. A call that comes to nothing costs the link its bytes, and the server its
 * work; one that is used spares its client a round trip and the same bytes.
 */
#include "prefetch/steps/turn_private.h"

enum {
	/* Of a link of which nothing is known yet: 8 Mbit/s and 20 ms. */
	DEFAULT_RATE_BPS = 1 << 20,
	DEFAULT_RTT_US = 20000,
};

/* What a call costs whatever its size and whoever else is there: work of the
 * server's and of this daemon. So where a round trip is shorter than this, on a
 * LAN, only what is likely is worth a guess. */
#define GUESS_US 300

/* On a shorter route a scan for names, and the calls that follow from it, take
 * this machine longer than they spare: node's first run on a LAN of 0.2 ms took
 * as long without, and two thirds of the calls. */
#define SHORT_US 1000

/* A shorter wait than this hurts nobody. */
#define CROWD_LEAST_US 2000

/* A call costs the server and the link this share of a round trip, whatever its
 * size … */
#define CALL_SHARE 0.25

/*
 * … where the link holds as much as fits on it. Nobody waits for one that is
 * idle; but the next call may come just after. So of a short reply the odds
 * have to be one in 25 there, and one in five on a link that is full.
 */
#define IDLE_SHARE 0.15

/* A round trip that is so many times the base may be of another route. */
#define LONGER 4

/* The odds are never better than this. */
#define P_CERTAIN 0.999

/* The answer of a server that refused a call is taken to be the same for so
 * long. */
#define REFUSED_US 60000000

/* Bytes that nobody uses have their price even then (waste.h). */
#define WASTE_LEAST 0.5

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

/* What a call that is used spares: the route. A queue before the server would
 * be stood in all the same, only sooner. Yet where all replies come much later
 * than they did, it may be a longer route. */
static double trip_us(const struct prefetch *pf)
{
	double rtt = rtt_us(pf), base = (double)linkest_base_us(pf->p.link);

	if (base <= 0)
		return rtt;
	return base > rtt / LONGER ? base : rtt / LONGER;
}

bool trip_is_short(const struct prefetch *pf)
{
	return linkest_srtt_us(pf->p.link) > 0 && trip_us(pf) < SHORT_US;
}

/* What clients' calls that are under way will still take on the link. */
static double backlog_us(const struct prefetch *pf)
{
	return (double)linkest_backlog_us(pf->p.link, pf->now_us);
}

/* What stands before a reply, in round trips: 0 on an idle link; 1 where all is
 * under way, of clients and ahead, that fits on it; more where a queue stands
 * on the link, at the server, or on this side. */
static double busy(const struct prefetch *pf)
{
	double under_way_us =
	    (double)linkest_inflight_bytes(pf->p.link) / rate_Bps(pf) * 1e6;
	double trip = trip_us(pf);

	return (under_way_us + 2 * backlog_us(pf)) /
	       (trip > CROWD_LEAST_US ? trip : CROWD_LEAST_US);
}

/* What is asked of the link just now. */
struct price {
	double crowd;    /* busy() */
	double waste;    /* waste_price() */
	double guess_us; /* GUESS_US, of a guess */
};

static double guess_us(bool guess)
{
	return guess ? GUESS_US : 0;
}

/* A call that is used spares its client a round trip, and its bytes would come
 * later anyway; else they come before others. */
static bool pays(const struct prefetch *pf, double p, uint64_t bytes,
    const struct price *price)
{
	double rtt = trip_us(pf), crowd = IDLE_SHARE + price->crowd;
	double wire = (double)linkest_wire_bytes(bytes) / rate_Bps(pf) * 1e6;

	return p * (rtt + wire) >
	       (1 - p) * (price->guess_us + CALL_SHARE * rtt * crowd +
			     wire * (crowd + WASTE_LEAST + price->waste));
}

bool want_worth(const struct prefetch *pf, bool guess, double p, uint64_t bytes)
{
	return pays(pf, p, bytes, &(struct price){.guess_us = guess_us(guess)});
}

bool source_is_guess(uint8_t source)
{
	return source == PREDICTOR_FROM_NAMES || source == NOTE_FROM_MENTION ||
	       source == NOTE_FROM_WALK || source == NOTE_FROM_KIND;
}

void waste_now(const struct prefetch *pf, struct waste_status *st)
{
	uint64_t rate = linkest_rate_Bps(pf->p.link);

	waste_get_status(pf->waste, rate,
	    rate * linkest_base_us(pf->p.link) / 1000000, pf->now_us, st);
}

bool want_is_bounded(const struct want *w)
{
	return !want_is_asked(w) && !w->session && !w->led;
}

bool want_pays(const struct want *w, double p, uint64_t bytes)
{
	const struct prefetch *pf = w->pf;
	struct price price = {
	    .crowd = busy(pf), .guess_us = guess_us(w->guess)};
	struct waste_status waste;

	/* Whoever asked for it knows what it is worth. */
	if (want_is_asked(w))
		return true;
	/* Of the rest of a file it takes many a piece to spare a round trip. */
	if (w->extent > 0 && w->rest_p > 0) {
		p *= (double)w->rest_p;
		bytes = w->rest_bytes;
	}
	if (want_is_bounded(w)) {
		waste_now(pf, &waste);
		price.waste = waste_price(&waste);
	}
	/* Nothing is certain: infinity times nothing would be no number. */
	return pays(pf, p < P_CERTAIN ? p : P_CERTAIN, bytes, &price);
}

/* The bytes of the calls that it spares hardly count beside its own. */
bool listing_worth(const struct prefetch *pf, double calls, uint64_t bytes)
{
	/* Nothing is known of the link yet: a small one does no harm. */
	if (linkest_rate_Bps(pf->p.link) == 0 &&
	    bytes <= budget_window_bytes(pf->budget))
		return true;
	return calls * rtt_us(pf) >
	       (double)bytes / rate_Bps(pf) * 1e6 + 2 * backlog_us(pf);
}

/* Rights and types go with an object's version. */
static uint64_t refused_call(const struct prefetch *pf, const struct node *node,
    uint32_t proc, uint32_t cred)
{
	uint32_t version = attrcache_generation(pf->p.caches->attr, node);
	uint64_t h =
	    node_key(node) ^
	    ((uint64_t)version << 32 | cred) * UINT64_C(0x9e3779b97f4a7c15) ^
	    proc * UINT64_C(0xff51afd7ed558ccd);

	return h ? h : 1;
}

void refused_note(struct prefetch *pf, const struct node *node, uint32_t proc,
    uint32_t cred, uint64_t now_us)
{
	uint64_t call = refused_call(pf, node, proc, cred);

	pf->refused[call % REFUSED].call = call;
	pf->refused[call % REFUSED].us = now_us;
}

bool refused_lately(const struct prefetch *pf, const struct node *node,
    uint32_t proc, uint32_t cred, uint64_t now_us)
{
	uint64_t call = refused_call(pf, node, proc, cred);

	return pf->refused[call % REFUSED].call == call &&
	       now_us < pf->refused[call % REFUSED].us + REFUSED_US;
}

bool want_too_early(
    const struct caches *c, const struct node *node, uint64_t now_us)
{
	return (node->flags & NODE_ATTRS) &&
	       !attrcache_firm(c->attr, node, now_us) &&
	       attrcache_firm(c->attr, node, now_us + GRAIN_US);
}
