/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates the capacity of a link. The folder knows nothing of sockets or
 * clocks; it uses base/ and the kinds of link in config/.
 *
 *   upstream: sent, arrived, received        status, prefetch, pieces
 *                  │                                  ▲      ▲
 *                  ▼                                  │      │ may a call go?
 *   linkest.c (base, queue) ── linkest_rate.c ────────┘      │
 *                  │       │     linkest_route.c             │
 *                  │       └──────────────────────────── budget.c
 *                  ▼
 *   linkkeep.c: rate and base in a file, over a restart
 */
#include "link/linkest_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BASE_BUCKET_US SECOND_US

/* After so much silence new samples replace the estimates: the host may be on
 * another network. It is longer than the base's window. */
#define IDLE_US (10 * SECOND_US)

/* The size of a call of our own (linkest_unit_bytes()) is a multiple of a page;
 * NFS servers take READs of up to 1 MiB. */
enum { UNIT_STEP = 4096, UNIT_UNKNOWN = 4096, UNIT_MAX = 1 << 20 };

/* More than this is not believed to have arrived of what calls expect: it may
 * be a long reply for which nobody waits any more. */
enum { PART_MAX_BYTES = 60 << 10 };

/* Bounds of a believable link: 8 kb/s to 1 Tb/s, a round trip of a minute. */
#define RATE_MIN_BPS UINT64_C(1000)
#define RATE_MAX_BPS UINT64_C(125000000000)
#define BASE_MAX_US  UINT64_C(60000000)

/*
 * The values that `link` in the configuration stands for, until something is
 * measured. A wireless LAN repeats lost frames by itself, which takes up to
 * some tens of milliseconds; that is neither a longer route nor a queue.
 */
static const struct kind {
	uint64_t rate_Bps, base_us, jitter_us;
} kinds[] = {
    [CONFIG_LINK_AUTO] = {0, 0, 0},
    [CONFIG_LINK_WIRED] = {10000000 / 8, 1000, 0},
    [CONFIG_LINK_WIRELESS] = {2000000 / 8, 20000, 20000},
};

struct linkest *linkest_new(void)
{
	return calloc(1, sizeof(struct linkest));
}

void linkest_free(struct linkest *le)
{
	free(le);
}

/* A guess is put into no bucket, so the first measurement replaces it. */
static void linkest_guess(struct linkest *le)
{
	const struct kind *k = &kinds[le->kind];

	le->base_us = k->base_us;
	le->base_guessed = k->base_us > 0;
	le->rate.Bps = k->rate_Bps;
	le->rate.guessed = k->rate_Bps > 0;
	le->rate.known = le->rate.guessed;
}

void linkest_set_kind(struct linkest *le, enum config_link kind)
{
	if (le->kind == kind)
		return;
	le->kind = kind;
	linkest_forget(le);
}

void linkest_forget(struct linkest *le)
{
	struct linkest fresh = {.inflight_bytes = le->inflight_bytes,
	    .calls = le->calls,
	    .last_us = le->last_us,
	    .first_sent_us = le->first_sent_us,
	    .delivered_us = le->delivered_us,
	    .delivered_bytes = le->delivered_bytes,
	    .routes = le->routes,
	    .kind = le->kind};

	*le = fresh;
	linkest_guess(le);
}

bool linkest_kept_makes_sense(const struct linkest_kept *kept)
{
	return kept->rate_Bps >= RATE_MIN_BPS &&
	       kept->rate_Bps <= RATE_MAX_BPS && kept->base_us >= 1 &&
	       kept->base_us <= BASE_MAX_US;
}

bool linkest_keep(const struct linkest *le, struct linkest_kept *kept)
{
	kept->rate_Bps = linkest_rate_Bps(le);
	kept->base_us = le->base_us;
	return le->rate.measured && le->base_us > 0 && !le->base_guessed;
}

void linkest_begin(struct linkest *le, const struct linkest_kept *kept)
{
	linkest_forget(le);
	le->base_us = kept->base_us;
	le->base_guessed = true;
	le->rate.Bps = max_u64(kept->rate_Bps / 2, 1);
	le->rate.guessed = true;
	le->rate.known = true;
}

uint64_t linkest_wire_bytes(uint64_t bytes)
{
	return bytes + (bytes / SEGMENT_BYTES + 1) * SEGMENT_HEADER_BYTES;
}

/*
 * Prepares for new samples after a long silence: perhaps the network is another
 * one now. The former estimate stays until there is a better one: it is put
 * into the bucket that is emptied next.
 */
static void linkest_age(struct linkest *le)
{
	if (!le->base_guessed) {
		memset(le->base, 0, sizeof(le->base));
		le->base[(le->base_at + 2) % BASE_BUCKETS] = le->base_us;
	}
	if (!le->rate.guessed) {
		memset(le->rate.bucket, 0, sizeof(le->rate.bucket));
		le->rate.bucket[(le->rate.at + 1) % RATE_BUCKETS] =
		    le->rate.Bps;
	}
	/* The parts of one reply may set the rate again. */
	le->rate.guessed = le->rate.known;
	memset(le->burst_Bps, 0, sizeof(le->burst_Bps));
	le->rate.busy_us = 0;
	le->train = (struct train){0};
}

/* Whether nothing has gone either way for so long that the former replies do
 * not tell of the queue any more. */
static bool is_silent(const struct linkest *le, uint64_t now_us)
{
	return le->calls == 0 && now_us > le->last_us + SECOND_US;
}

void linkest_sent(struct linkest *le, struct linkest_mark *mark, uint64_t bytes,
    uint64_t now_us)
{
	le->queue_hidden |= is_silent(le, now_us);
	if (le->base_us && now_us >= le->last_us + IDLE_US)
		linkest_age(le);
	if (le->calls == 0) {
		le->first_sent_us = now_us;
		le->delivered_us = now_us;
		le->train.last_us = 0;
	}
	*mark = (struct linkest_mark){.sent_us = now_us,
	    .first_sent_us = le->first_sent_us,
	    .delivered_us = le->delivered_us,
	    .delivered_bytes = le->delivered_bytes,
	    .ahead_bytes = le->inflight_bytes,
	    .expected_bytes = linkest_wire_bytes(bytes)};
	le->inflight_bytes += mark->expected_bytes;
	le->calls++;
	le->last_us = now_us;
}

static void linkest_ended(struct linkest *le, const struct linkest_mark *mark)
{
	assert(le->calls > 0 && le->inflight_bytes >= mark->expected_bytes);
	le->calls--;
	le->inflight_bytes -= mark->expected_bytes;
}

void linkest_lost(struct linkest *le, const struct linkest_mark *mark)
{
	linkest_ended(le, mark);
	/* The next reply comes after a reconnect, not after the last one. */
	le->train.last_us = 0;
	le->part_bytes = 0;
	le->route = (struct route){0};
}

/*
 * Whether a reply may say that the route is longer than it was. A long reply
 * may not, since an error of the rate would become one of the base. Nor may one
 * whose delay is explained by the replies ahead of it, even at half the rate.
 */
static bool base_telling(const struct linkest *le,
    const struct linkest_mark *mark, uint64_t wire, uint64_t trip_us)
{
	uint64_t more_us = minus_u64(trip_us, le->base_us);

	if (!le->rate.known)
		return wire < HEAVY_BYTES / 2 && mark->ahead_bytes == 0;
	if (linkest_wire_us(le, wire) > trip_us / 8)
		return false;
	return more_us <= le->base_us / 8 ||
	       2 * linkest_wire_us(le, mark->ahead_bytes) < more_us;
}

static void base_update(struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t trip_us, uint64_t now_us)
{
	uint64_t *bucket = &le->base[le->base_at];
	unsigned i;

	trip_us = max_u64(trip_us, 1);
	if (le->base_us && trip_us >= le->base_us &&
	    !base_telling(le, mark, wire, trip_us))
		return;
	le->base_guessed = false;
	if (*bucket && now_us >= le->base_start_us + BASE_BUCKET_US) {
		le->base_at = (le->base_at + 1) % BASE_BUCKETS;
		bucket = &le->base[le->base_at];
		*bucket = 0;
	}
	if (*bucket == 0) {
		*bucket = trip_us;
		le->base_start_us = now_us;
	}
	*bucket = min_u64(*bucket, trip_us);
	le->base_us = *bucket;
	for (i = 0; i < BASE_BUCKETS; i++)
		if (le->base[i])
			le->base_us = min_u64(le->base_us, le->base[i]);
}

/*
 * Takes the base round trip that a reply shows: the time it took, less some of
 * its own wire time. At most 1/32 of the time is taken off: if the rate is too
 * low, more would lower the base, then the link would seem busy for longer, and
 * the rate fall again. Of a reply that stood behind no other and came in parts
 * the first part is measured, which has less wire time; and up to 3/8 is taken
 * off while the rate comes from parts of replies, since such a rate does not
 * depend on the base.
 */
static void base_measure(struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t now_us)
{
	uint64_t took_us = now_us - mark->sent_us, off_us = took_us / 32;

	if (mark->ahead_bytes == 0 && le->begin_us > mark->sent_us &&
	    le->begin_us < now_us) {
		took_us = le->begin_us - mark->sent_us;
		if (le->rate.guessed)
			off_us = took_us / 8 * 3;
		wire = min_u64(wire, le->begin_bytes);
		/* It replaces a guess even if it is longer. */
		if (le->base_guessed && le->rate.measured)
			le->base_us = 0;
	}
	off_us = min_u64(linkest_wire_us(le, wire), off_us);
	base_update(le, mark, wire, took_us - off_us, now_us);
	if (off_us > took_us / 32 && le->base_us == took_us - off_us)
		le->base_rate_Bps = le->rate.Bps;
}

/* Forgets a base that was taken to be shorter than it is, by a rate that was
 * too low. All replies would seem to stand in a queue for as long as the base
 * is kept. */
static void base_mend(struct linkest *le)
{
	if (le->base_rate_Bps == 0 || le->rate.Bps < 2 * le->base_rate_Bps)
		return;
	le->base_rate_Bps = 0;
	memset(le->base, 0, sizeof(le->base));
	le->base_us = 0;
}

/* Smooths as RFC 6298 sections 2.2 and 2.3 have it. */
static void srtt_update(struct linkest *le, uint64_t trip_us)
{
	uint64_t srtt = le->srtt8_us / 8, off;

	if (le->srtt8_us == 0) {
		le->srtt8_us = trip_us * 8;
		le->rttvar4_us = trip_us * 2;
		return;
	}
	off = max_u64(srtt, trip_us) - min_u64(srtt, trip_us);
	le->rttvar4_us += off - le->rttvar4_us / 4;
	le->srtt8_us += trip_us - srtt;
}

/* Keeps the least queue of the present round trip, and of the last one. */
static void standing_update(
    struct linkest *le, uint64_t queued_us, uint64_t now_us)
{
	if (now_us >= le->standing_start_us + le->base_us) {
		le->standing_us[1] = le->standing_us[0];
		le->standing_us[0] = queued_us;
		le->standing_start_us = now_us;
	}
	le->standing_us[0] = min_u64(le->standing_us[0], queued_us);
}

uint64_t linkest_received(struct linkest *le, const struct linkest_mark *mark,
    uint64_t bytes, uint64_t now_us)
{
	uint64_t wire = linkest_wire_bytes(bytes);
	uint64_t took_us, trip_us, queued_us;

	assert(now_us >= mark->sent_us);
	linkest_ended(le, mark);
	le->last_us = now_us;
	le->delivered_bytes += wire;
	le->delivered_us = now_us;
	le->first_sent_us = mark->sent_us;

	took_us = now_us - mark->sent_us;
	route_on_reply(le, mark, wire, now_us);
	base_measure(le, mark, wire, now_us);
	trip_us = minus_u64(took_us, linkest_wire_us(le, wire));
	trip_us = max_u64(trip_us, 1);
	if (linkest_wire_us(le, mark->ahead_bytes) <= le->base_us / 8)
		le->alone_us = now_us;
	if (le->queue_hidden)
		le->srtt8_us = min_u64(le->srtt8_us, trip_us * 8);
	le->queue_hidden = false;
	srtt_update(le, trip_us);
	queued_us = minus_u64(trip_us, le->base_us);
	standing_update(le, queued_us, now_us);
	rate_on_reply(le, mark, wire, now_us);
	base_mend(le);
	return queued_us;
}

uint64_t linkest_rate_Bps(const struct linkest *le)
{
	return le->rate.known ? le->rate.Bps : 0;
}

bool linkest_measured(const struct linkest *le)
{
	return le->rate.measured;
}

uint64_t linkest_base_us(const struct linkest *le)
{
	return le->base_us;
}

unsigned linkest_routes(const struct linkest *le)
{
	return le->routes;
}

uint64_t linkest_alone_us(const struct linkest *le)
{
	return le->alone_us;
}

uint64_t linkest_srtt_us(const struct linkest *le)
{
	return le->srtt8_us / 8;
}

uint64_t linkest_rttvar_us(const struct linkest *le)
{
	return le->rttvar4_us / 4;
}

uint64_t linkest_jitter_us(const struct linkest *le)
{
	return kinds[le->kind].jitter_us;
}

uint64_t linkest_queue_us(const struct linkest *le, uint64_t now_us)
{
	if (le->queue_hidden || is_silent(le, now_us))
		return 0;
	return minus_u64(linkest_srtt_us(le), le->base_us);
}

void linkest_held(struct linkest *le, uint64_t us, uint64_t now_us)
{
	le->held4_us += us - le->held4_us / 4;
	le->held_at_us = now_us;
}

uint64_t linkest_backlog_us(const struct linkest *le, uint64_t now_us)
{
	uint64_t held_us = le->held4_us / 4;

	if (now_us > le->held_at_us + held_us + SECOND_US)
		held_us = 0;
	return held_us + linkest_queue_us(le, now_us);
}

uint64_t linkest_standing_us(const struct linkest *le)
{
	return min_u64(le->standing_us[0], le->standing_us[1]);
}

uint64_t linkest_inflight_bytes(const struct linkest *le)
{
	return le->inflight_bytes;
}

unsigned linkest_calls(const struct linkest *le)
{
	return le->calls;
}

uint64_t linkest_arrived_bytes(const struct linkest *le)
{
	return min_u64(le->part_bytes, le->inflight_bytes);
}

void linkest_set_part(struct linkest *le, uint64_t bytes)
{
	le->part_bytes = linkest_wire_bytes(min_u64(bytes, PART_MAX_BYTES));
}

uint64_t linkest_unit_bytes(const struct linkest *le)
{
	uint64_t unit = le->rate.Bps / 200; /* 5 ms */

	if (!le->rate.known)
		return UNIT_UNKNOWN;
	return clamp_u64(unit - unit % UNIT_STEP, UNIT_STEP, UNIT_MAX);
}

uint64_t linkest_wire_us(const struct linkest *le, uint64_t wire_bytes)
{
	if (!le->rate.known || le->rate.Bps == 0)
		return 0;
	return wire_bytes * SECOND_US / le->rate.Bps;
}
