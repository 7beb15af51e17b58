/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A longer route. The base round trip is the least of some seconds, so that a
 * queue, of ours or of other hosts, is not taken for the route; but all replies
 * over a route that has become longer seem to stand in a queue for as long.
 *
 *	round trip
 *	   |                    queue of others: it grows
 *	   |   ________         or wavers       ___/\__
 *	   |  |   a step: longer             __/
 *	   |__|   at once, and then      ___/
 *	   |      the same              |
 *	   +---------------------------------------- time
 *
 * So a step is believed at once: replies that stood behind nothing of ours come
 * later from one to the next, none comes as it did before, and the least of
 * each window is what the least of the first one was. All other delays are left
 * to the base's own filter.
 */
#include "link/linkest_private.h"

#include <string.h>

/*
 * How many windows have to agree, and how often a later one may show longer
 * round trips than the first before it counts as a queue. A window takes
 * ROUTE_WINDOW_US, or ROUTE_SERIAL_US where only one reply came in it.
 */
enum { ROUTE_WINDOWS = 4, ROUTE_GROWS = 2 };
#define ROUTE_WINDOW_US 60000
#define ROUTE_SERIAL_US 150000

/* After this many late replies in a row no calls are sent ahead, so that short
 * replies meet an empty link; for ROUTE_PROBE_US a window at most. */
enum { ROUTE_LATE = 3 };
#define ROUTE_PROBE_US SECOND_US

/* If no late reply comes for this long, the window begins anew. */
#define ROUTE_PAUSE_US (SECOND_US / 2)

/* A server's disk or a busy machine can add this much to a round trip on a LAN.
 * A route that is longer by less makes little difference. */
#define ROUTE_LEAST_US 5000
/* Round trips on one route may differ by this. */
#define ROUTE_NOISE_US 1000

/* The bytes that were under way must not explain the delay even if the link
 * carries only one part in so many of the rate that is known. */
#define ROUTE_SHARE 8

static bool is_longer(const struct linkest *le, uint64_t trip_us)
{
	uint64_t more_us = max_u64(le->base_us / 4, 3 * linkest_jitter_us(le));

	return trip_us > le->base_us + max_u64(more_us, ROUTE_LEAST_US);
}

/* Whether neither what was under way before it nor its own length can be what
 * the reply waited for. */
static bool is_clear(const struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t trip_us)
{
	uint64_t bytes = mark->ahead_bytes + wire;

	if (!le->rate.known)
		return mark->ahead_bytes == 0 && wire <= HEAVY_BYTES / 2;
	return bytes <= HEAVY_BYTES &&
	       ROUTE_SHARE * linkest_wire_us(le, bytes) <=
		   trip_us - le->base_us;
}

/* Whether it waited for what was under way before it, if only at half of the
 * rate. */
static bool is_explained(
    const struct linkest *le, const struct linkest_mark *mark, uint64_t trip_us)
{
	return !le->rate.known ||
	       trip_us - le->base_us <=
		   2 * linkest_wire_us(le, mark->ahead_bytes);
}

static bool agree(uint64_t a_us, uint64_t b_us)
{
	uint64_t low = min_u64(a_us, b_us), high = max_u64(a_us, b_us);

	return high - low <= max_u64(low / 10, ROUTE_NOISE_US);
}

static void window_begin(struct route *r, uint64_t now_us)
{
	r->begin_us = now_us;
	r->least_us = UINT64_MAX;
	r->replies = 0;
}

static void suspect(struct linkest *le, uint64_t now_us)
{
	struct route *r = &le->route;

	*r = (struct route){.late = r->late, .suspected = true};
	r->rate = le->rate;
	window_begin(r, now_us);
}

/* All that rests on the base begins anew. The rate does not: since replies
 * seemed to wait, it was taken to be lower than it is. */
static void believe(struct linkest *le, uint64_t trip_us, uint64_t now_us)
{
	memset(le->base, 0, sizeof(le->base));
	le->base[le->base_at] = trip_us;
	le->base_start_us = now_us;
	le->base_us = trip_us;
	le->base_rate_Bps = 0;
	le->alone_us = now_us;
	le->srtt8_us = trip_us * 8;
	le->rttvar4_us = trip_us * 2;
	memset(le->standing_us, 0, sizeof(le->standing_us));
	le->standing_start_us = now_us;
	if (le->route.rate.Bps > le->rate.Bps)
		le->rate = le->route.rate;
	le->train = (struct train){0};
	le->route = (struct route){0};
	le->routes++;
}

/* Begins to compare anew when the last window was not like the first. A longer
 * route stays as it is, so the suspicion of one ends if replies take longer
 * again and again: that is a queue. It may happen once, since calls that were
 * on their way when the route changed came sooner. */
static void disagree(struct route *r)
{
	if (r->least_us > r->first_us && ++r->grew > ROUTE_GROWS)
		r->suspected = false;
	r->first_us = r->least_us;
	r->windows = 1;
}

static void window_end(struct linkest *le, uint64_t now_us)
{
	struct route *r = &le->route;

	if (r->windows++ == 0)
		r->first_us = r->least_us;
	else if (!agree(r->first_us, r->least_us))
		disagree(r);
	if (r->windows == ROUTE_WINDOWS)
		believe(le, min_u64(r->first_us, r->least_us), now_us);
	else
		window_begin(r, now_us);
}

void route_on_reply(struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t now_us)
{
	struct route *r = &le->route;
	uint64_t trip_us;
	bool clear;

	/* Of one that stood behind no other the first part tells, whatever its
	 * length. */
	if (mark->ahead_bytes == 0 && le->begin_us > mark->sent_us &&
	    le->begin_us < now_us) {
		now_us = le->begin_us;
		wire = min_u64(wire, le->begin_bytes);
	}
	trip_us = minus_u64(now_us - mark->sent_us, linkest_wire_us(le, wire));

	if (le->base_us == 0 || le->base_guessed || !is_longer(le, trip_us)) {
		*r = (struct route){0};
		return;
	}
	r->late += is_explained(le, mark, trip_us) ? 0 : 1;
	clear = is_clear(le, mark, wire, trip_us);
	if (!clear && r->late < ROUTE_LATE)
		return;
	if (r->last_us == 0)
		suspect(le, now_us);
	else if (now_us > r->last_us + ROUTE_PAUSE_US)
		window_begin(r, now_us);
	r->last_us = now_us;
	if (!clear || !r->suspected)
		return;
	r->least_us = min_u64(r->least_us, trip_us);
	if (now_us >= r->begin_us + (++r->replies > 1 ? ROUTE_WINDOW_US
						      : ROUTE_SERIAL_US))
		window_end(le, now_us);
}

bool linkest_suspects(const struct linkest *le, uint64_t now_us)
{
	const struct route *r = &le->route;

	return r->suspected && r->late >= ROUTE_LATE &&
	       now_us < r->begin_us + ROUTE_PROBE_US;
}
