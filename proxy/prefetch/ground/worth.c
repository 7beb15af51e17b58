/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The price of a call ahead; see the header. */
#include "prefetch/ground/worth.h"

#include "cache/caches.h"
#include "link/budget.h"
#include "link/linkest.h"
#include "link/waste.h"
#include "prefetch/ground/ground.h"

enum {
	/* Of a link of which nothing is known yet: 8 Mbit/s and 20 ms. */
	DEFAULT_RATE_BPS = 1 << 20,
	DEFAULT_RTT_US = 20000,
	PAGE_MAX = 65536, /* bytes of a listing that are asked for at once */
	/* A page is such a part of what the link holds, or of the budget's
	 * window. */
	LINK_PARTS = 3,
	WINDOW_PARTS = 4,
};

/* Any call costs work of the server's and of this daemon, whatever its size and
 * whoever else is there. So where a round trip is shorter than this, on a
 * LAN, only what is likely is worth a guess. */
#define GUESS_US 300

/* One more call takes this machine and the server so long, both together, to
 * send, to answer and to take in: measured with nfsload, and rounded. */
#define CALL_US 100

/* On a shorter route a scan for names, and the calls that follow from it, take
 * this machine longer than they spare: node's first run on a LAN of 0.2 ms took
 * as long without, and two thirds of the calls. */
#define SHORT_US 1000

/* A shorter wait than this hurts nobody. */
#define CROWD_LEAST_US 2000

/* A call costs the server and the link this share of a round trip, whatever its
 * size, where the link holds as much as fits on it. */
#define CALL_SHARE 0.25

/*
 * Nobody waits for a link that is idle; but the next call may come just after.
 * So there a call costs this part of that: of a short reply the odds have to be
 * one in 25, and one in five on a link that is full.
 */
#define IDLE_SHARE 0.15

/* A round trip that is so many times the base may be of another route. */
#define LONGER 4

/* The odds are never better than this. */
#define P_CERTAIN 0.999

/* Bytes that nobody uses have their price even then (waste.h). */
#define WASTE_LEAST 0.5

static double rate_Bps(const struct ground *g)
{
	uint64_t rate = linkest_rate_Bps(g->link);

	return rate > 0 ? (double)rate : DEFAULT_RATE_BPS;
}

static double rtt_us(const struct ground *g)
{
	uint64_t rtt = linkest_srtt_us(g->link);

	return rtt > 0 ? (double)rtt : DEFAULT_RTT_US;
}

/* A call that is used spares its client the route. A queue before the server
 * would be stood in all the same, only sooner. Yet where all replies come much
 * later than they did, it may be a longer route. */
static double trip_us(const struct ground *g)
{
	double rtt = rtt_us(g), base = (double)linkest_base_us(g->link);

	if (base <= 0)
		return rtt;
	return base > rtt / LONGER ? base : rtt / LONGER;
}

bool worth_route_is_short(const struct ground *g)
{
	return linkest_srtt_us(g->link) > 0 && trip_us(g) < SHORT_US;
}

/* How long the calls of clients that are under way will still take on the
 * link. */
static double backlog_us(const struct ground *g)
{
	return (double)linkest_backlog_us(g->link, g->now_us);
}

/* How much stands before a reply, in round trips: 0 on an idle link; 1 where
 * all is under way, of clients and ahead, that fits on it; more where a queue
 * stands on the link, at the server, or on this side. */
static double busy(const struct ground *g)
{
	double under_way_us =
	    (double)linkest_inflight_bytes(g->link) / rate_Bps(g) * 1e6;
	double trip = trip_us(g);

	return (under_way_us + 2 * backlog_us(g)) /
	       (trip > CROWD_LEAST_US ? trip : CROWD_LEAST_US);
}

/* The price that the link asks just now. */
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
 * later anyway. Else they make whoever comes later wait. Those who wait already
 * have their replies before, as far as the server answers in order: so the
 * bytes cost their own time on the link at most, however full that is. */
static bool pays(
    const struct ground *g, double p, uint64_t bytes, const struct price *price)
{
	double rtt = trip_us(g), crowd = IDLE_SHARE + price->crowd;
	double late = crowd < 1 ? crowd : 1;
	double wire = (double)linkest_wire_bytes(bytes) / rate_Bps(g) * 1e6;

	return p * (rtt + wire) >
	       (1 - p) * (price->guess_us + CALL_SHARE * rtt * crowd +
			     wire * (late + WASTE_LEAST + price->waste));
}

bool worth_call(const struct ground *g, bool guess, double p, uint64_t bytes)
{
	return pays(g, p, bytes, &(struct price){.guess_us = guess_us(guess)});
}

bool worth_bytes(const struct ground *g, double p, uint64_t bytes)
{
	const struct caches *c = g->caches;
	uint64_t wire_us = linkest_wire_us(g->link, linkest_wire_bytes(bytes));

	return !datacache_is_behind(c->data) &&
	       (c->config->offline == CONFIG_OFFLINE_SERVE || wire_us == 0 ||
		   p * (trip_us(g) + (double)wire_us) >
		       (double)datacache_cost_us(c->data, bytes));
}

/*
 * While the link's rate is not known, the window says what it carries. Pages
 * come one after the other, a round trip each: so each is a third of what the
 * link holds. A client's reply that comes behind one waits a third of a round
 * trip at most. A queue of clients' replies makes the round trips longer, but
 * the link holds no more.
 */
uint64_t worth_page_bytes(const struct ground *g)
{
	uint64_t unit = linkest_unit_bytes(g->link);
	uint64_t rate = linkest_rate_Bps(g->link);
	uint64_t part = budget_window_bytes(g->budget) / WINDOW_PARTS;

	if (rate > 0)
		part = rate * linkest_base_us(g->link) / 1000000 / LINK_PARTS;
	if (part > unit)
		unit = part;
	return unit < PAGE_MAX ? unit : PAGE_MAX;
}

void worth_get_waste(const struct ground *g, struct waste_status *st)
{
	uint64_t rate = linkest_rate_Bps(g->link);

	waste_get_status(g->waste, rate,
	    rate * linkest_base_us(g->link) / 1000000, g->now_us, st);
}

bool worth_now(const struct ground *g, const struct worth_bid *bid)
{
	struct price price = {
	    .crowd = busy(g), .guess_us = guess_us(bid->guess)};
	struct waste_status waste;

	if (bid->bounded) {
		worth_get_waste(g, &waste);
		price.waste = waste_price(&waste);
	}
	/* Nothing is certain: infinity times nothing would be no number. */
	return pays(
	    g, bid->p < P_CERTAIN ? bid->p : P_CERTAIN, bid->bytes, &price);
}

bool worth_listing(const struct ground *g, double calls, uint64_t bytes)
{
	/* Nothing is known of the link yet: a small one does no harm. */
	if (linkest_rate_Bps(g->link) == 0 &&
	    bytes <= budget_window_bytes(g->budget))
		return true;
	return calls * rtt_us(g) >
	       (double)bytes / rate_Bps(g) * 1e6 + 2 * backlog_us(g);
}

/* A call goes up as it comes down, and takes two ends as long as CALL_US. */
bool worth_confirming_listed(
    const struct ground *g, double calls, uint64_t bytes)
{
	double call =
	    (double)linkest_wire_bytes(CONFIRM_BYTES) / rate_Bps(g) * 1e6 * 2 +
	    CALL_US;

	return calls * call > (double)bytes / rate_Bps(g) * 1e6;
}

bool worth_waiting(
    const struct caches *c, const struct node *node, uint64_t now_us)
{
	return (node->flags & NODE_ATTRS) &&
	       !attrcache_firm(c->attr, node, now_us) &&
	       attrcache_firm(c->attr, node, now_us + GRAIN_US);
}
