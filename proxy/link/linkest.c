/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link/linkest.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US UINT64_C(1000000)

/* Ethernet 14, IPv4 20, TCP with timestamps 32. */
enum { SEGMENT_BYTES = 1448, SEGMENT_HEADER_BYTES = 66 };
enum { UNIT_STEP = 4096, UNIT_UNKNOWN = 4096, UNIT_MAX = 1 << 20 };

/*
 * Six seconds of base round trips at least, often ten, as BBR has: a bucket
 * ends only when there is something to put into the next one, so that idle
 * time does not count.
 */
enum { BASE_BUCKETS = 6, RATE_BUCKETS = 3 };
#define BASE_BUCKET_US SECOND_US

/* Busy time; the shorter one while low samples and a queue come together. */
#define RATE_BUCKET_US       (SECOND_US / 2)
#define RATE_BUCKET_QUEUE_US (SECOND_US / 10)

/* After so much silence the next samples weigh more than what is known. */
#define IDLE_US (10 * SECOND_US)

/*
 * Fewer bytes than these, the calls ahead included, tell more of the
 * server's swiftness than of the link's.
 */
#define HEAVY_BYTES   4096
/*
 * … and so do replies shorter than this, however many: on a fast link they
 * come as fast as the server makes them. They can raise the rate only.
 */
#define TELLING_BYTES 1024

/*
 * Bytes that come behind one another at once. TCP sends ten segments before
 * it has heard anything (RFC 6928): a gap in these is the link's, however
 * long; later ones may be the sender's, which waits for the other end.
 */
#define FIRST_FLIGHT_BYTES (10 * (SEGMENT_BYTES + SEGMENT_HEADER_BYTES))
#define BURST_GAP_US       10000 /* where no base is known */
#define BURST_US           1000  /* less is nearer to what a loop takes */
#define ALONE_BYTES        8192
enum { BURSTS = 3 };

/* Replies that came back to back, until there are enough for a sample. */
struct train {
	uint64_t last_us; /* when the last reply came; 0: none to follow */
	uint64_t bytes;
	uint64_t us;
	unsigned replies;
	/* Its first reply, which waited for none, before there is a train. */
	uint64_t head_bytes;
	uint64_t head_us;
	bool late; /* than the rate allows: the last reply came so */
};

struct burst {
	uint64_t last_us;
	uint64_t bytes, us; /* behind the first ones */
	uint64_t first_bytes;
	uint64_t begun_bytes, begun_us; /* … inside of records */
};

struct linkest {
	uint64_t inflight_bytes;
	unsigned calls;
	uint64_t last_us;

	uint64_t first_sent_us;
	uint64_t delivered_us;
	uint64_t delivered_bytes;

	uint64_t base[BASE_BUCKETS]; /* 0: empty */
	unsigned base_at;
	uint64_t base_start_us;
	uint64_t base_us;
	uint64_t alone_us; /* last reply that hardly stood behind others */

	uint64_t srtt8_us; /* 8 times srtt, 4 times rttvar: no rounding */
	uint64_t rttvar4_us;
	uint64_t standing_us[2]; /* of this round trip and of the last one */
	uint64_t standing_start_us;

	uint64_t rate[RATE_BUCKETS];
	unsigned rate_at;
	uint64_t rate_busy_us; /* in the bucket at rate_at */
	uint64_t rate_Bps;
	bool rate_known;
	struct train train;

	uint64_t held4_us; /* 4 times it: no rounding */
	uint64_t held_at_us;

	struct burst burst;
	uint64_t begin_us; /* when the first bytes of a record came last … */
	uint64_t begin_bytes; /* … and how many */
	unsigned burst_at;
	/* Of the last bursts; 0: none. */
	uint64_t burst_Bps[BURSTS];
	uint64_t least_Bps[BURSTS];
	uint64_t alone_Bps[BURSTS];
	unsigned alone_at;

	enum config_link kind;
	bool base_guessed;  /* by the kind, and not measured yet */
	bool rate_guessed;  /* … or by bursts, or old */
	bool rate_measured; /* by bursts at least, be it long ago */
};

/*
 * A wireless LAN repeats lost frames by itself, which takes up to some tens of
 * milliseconds; that is neither a longer route nor a queue.
 */
static const struct kind {
	uint64_t rate_Bps, base_us, jitter_us;
} kinds[] = {
    [CONFIG_LINK_AUTO] = {0, 0, 0},
    [CONFIG_LINK_WIRED] = {10000000 / 8, 1000, 0},
    [CONFIG_LINK_WIRELESS] = {2000000 / 8, 20000, 20000},
};

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t clamp_u64(uint64_t v, uint64_t low, uint64_t high)
{
	return max_u64(low, min_u64(v, high));
}

static uint64_t minus_u64(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

struct linkest *linkest_new(void)
{
	return calloc(1, sizeof(struct linkest));
}

void linkest_free(struct linkest *le)
{
	free(le);
}

/* In no bucket: the first that is measured is all that counts. */
static void linkest_guess(struct linkest *le)
{
	const struct kind *k = &kinds[le->kind];

	le->base_us = k->base_us;
	le->base_guessed = k->base_us > 0;
	le->rate_Bps = k->rate_Bps;
	le->rate_guessed = k->rate_Bps > 0;
	le->rate_known = le->rate_guessed;
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
	    .kind = le->kind};

	*le = fresh;
	linkest_guess(le);
}

bool linkest_keep(const struct linkest *le, struct linkest_kept *kept)
{
	kept->rate_Bps = linkest_rate_Bps(le);
	kept->base_us = le->base_us;
	return le->rate_measured && le->base_us > 0 && !le->base_guessed;
}

void linkest_begin(struct linkest *le, const struct linkest_kept *kept)
{
	linkest_forget(le);
	le->base_us = kept->base_us;
	le->base_guessed = true;
	le->rate_Bps = max_u64(kept->rate_Bps / 2, 1);
	le->rate_guessed = true;
	le->rate_known = true;
}

uint64_t linkest_wire_bytes(uint64_t bytes)
{
	return bytes + (bytes / SEGMENT_BYTES + 1) * SEGMENT_HEADER_BYTES;
}

/*
 * Silence, and perhaps another network since. What was known stays until
 * there is something better: it goes where it is dropped next.
 */
static void linkest_age(struct linkest *le)
{
	if (!le->base_guessed) {
		memset(le->base, 0, sizeof(le->base));
		le->base[(le->base_at + 2) % BASE_BUCKETS] = le->base_us;
	}
	if (!le->rate_guessed) {
		memset(le->rate, 0, sizeof(le->rate));
		le->rate[(le->rate_at + 1) % RATE_BUCKETS] = le->rate_Bps;
	}
	/* Parts of one reply may show it anew. */
	le->rate_guessed = le->rate_known;
	memset(le->burst_Bps, 0, sizeof(le->burst_Bps));
	le->rate_busy_us = 0;
	le->train = (struct train){0};
}

void linkest_sent(struct linkest *le, struct linkest_mark *mark, uint64_t bytes,
    uint64_t now_us)
{
	if (le->calls == 0) {
		if (le->base_us && now_us >= le->last_us + IDLE_US)
			linkest_age(le);
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
}

/*
 * May a reply say that the route is longer than it was? Not a long one, since
 * then an error of the rate becomes one of the base; nor when the replies
 * before it explain the delay, at half the rate still.
 */
static bool base_telling(const struct linkest *le,
    const struct linkest_mark *mark, uint64_t wire, uint64_t trip_us)
{
	uint64_t more_us = minus_u64(trip_us, le->base_us);

	if (!le->rate_known)
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
 * Of the reply's own wire time little is taken off: with too low a rate, the
 * base would fall, then the time for which the link seems busy grow, and the
 * rate fall again. But of a reply that stood behind no other and came in parts
 * the first part tells, without the wire time of the rest; and a rate that was
 * found by parts has nothing to do with the base.
 */
static void base_measure(struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t now_us)
{
	uint64_t took_us = now_us - mark->sent_us, off_us = took_us / 32;

	if (mark->ahead_bytes == 0 && le->begin_us > mark->sent_us &&
	    le->begin_us < now_us) {
		took_us = le->begin_us - mark->sent_us;
		if (le->rate_guessed)
			off_us = took_us / 8 * 3;
		wire = min_u64(wire, le->begin_bytes);
		/* However long it is, it says more than a guess. */
		if (le->base_guessed && le->rate_measured)
			le->base_us = 0;
	}
	off_us = min_u64(linkest_wire_us(le, wire), off_us);
	base_update(le, mark, wire, took_us - off_us, now_us);
}

/* RFC 6298 section 2.2 and 2.3. */
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

static void rate_max(struct linkest *le)
{
	unsigned i;

	le->rate_Bps = 0;
	for (i = 0; i < RATE_BUCKETS; i++)
		le->rate_Bps = max_u64(le->rate_Bps, le->rate[i]);
}

/* A sample of a link that was busy for all of `busy_us`. */
static void rate_full(struct linkest *le, uint64_t rate_Bps, uint64_t busy_us)
{
	uint64_t length_us = RATE_BUCKET_US, standing = linkest_standing_us(le);

	if (rate_Bps < le->rate_Bps / 4 * 3 && standing > le->base_us / 2 &&
	    standing > 2 * linkest_wire_us(le, linkest_unit_bytes(le)))
		length_us = RATE_BUCKET_QUEUE_US;
	if (le->rate_busy_us >= length_us) {
		le->rate_at = (le->rate_at + 1) % RATE_BUCKETS;
		le->rate[le->rate_at] = 0;
		le->rate_busy_us = 0;
	}
	le->rate_guessed = false;
	le->rate_busy_us += busy_us;
	le->rate[le->rate_at] = max_u64(le->rate[le->rate_at], rate_Bps);
	le->rate_known = true;
	le->rate_measured = true;
	rate_max(le);
}

/*
 * The delivery rate since the call was sent: a lower bound, since the pipe
 * may have been empty for a part of it. The slower of sending and receiving
 * counts, so replies that were held up and come all at once do not; jitter
 * at the ends is taken off.
 */
static void rate_bound(
    struct linkest *le, const struct linkest_mark *mark, uint64_t now_us)
{
	uint64_t bytes = le->delivered_bytes - mark->delivered_bytes, rate_Bps;
	uint64_t us = max_u64(
	    now_us - mark->delivered_us, mark->sent_us - mark->first_sent_us);

	if (bytes < HEAVY_BYTES || us < le->base_us)
		return;
	us += le->rttvar4_us / 2 + 1;
	rate_Bps = bytes * SECOND_US / us;
	le->rate[le->rate_at] = max_u64(le->rate[le->rate_at], rate_Bps);
	le->rate_Bps = max_u64(le->rate_Bps, rate_Bps);
}

/* A sample needs some time, lest jitter count. */
static void train_sample(struct linkest *le, unsigned times)
{
	struct train *tr = &le->train;
	uint64_t need_us = clamp_u64(le->srtt8_us / 4, 10000, 200000);
	uint64_t rate_Bps;

	if (!le->rate_known)
		need_us /= 4;
	if (tr->us < times * need_us || tr->bytes < HEAVY_BYTES)
		return;
	rate_Bps = tr->bytes * SECOND_US / tr->us;
	if (tr->bytes / tr->replies >= TELLING_BYTES ||
	    (le->rate_known && rate_Bps > le->rate_Bps))
		rate_full(le, rate_Bps, tr->us);
	tr->bytes = 0;
	tr->us = 0;
	tr->replies = 0;
}

/*
 * May a sample end here? Not at a reply that came late while those before it
 * did not, nor soon after: what was held up with it comes in no time, and
 * would seem to be the rate of a sample of its own.
 */
static void train_cut(struct linkest *le, uint64_t wire, uint64_t gap_us)
{
	struct train *tr = &le->train;
	uint64_t wire_us = linkest_wire_us(le, wire);
	bool late = le->rate_known && gap_us > 2 * wire_us;
	bool early = 2 * gap_us < wire_us;

	if (!late || tr->late)
		train_sample(le, early ? 8 : 1);
	/* Not by little: of a short reply, that says nothing of the next. */
	tr->late = late && gap_us > 2 * wire_us + le->base_us / 8;
}

/*
 * The first reply of a train, `us` after it could have come. It counts with
 * those behind it, which may be there as soon as they are because it was held
 * up; but not when it came sooner than its length allows, since then base or
 * rate are not right yet.
 */
static void train_head(struct linkest *le, uint64_t wire, uint64_t us)
{
	bool count = le->rate_known && us + us / 8 >= linkest_wire_us(le, wire);

	le->train.head_bytes = count ? wire : 0;
	le->train.head_us = count ? us : 0;
}

/*
 * A reply that could have come before the one before it, but for the link:
 * the link was busy with it for all the time between them.
 */
static void train_update(struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t now_us)
{
	struct train *tr = &le->train;
	uint64_t could_us = mark->sent_us + le->base_us;
	uint64_t gap_us = now_us - tr->last_us;

	if (tr->last_us && could_us <= tr->last_us &&
	    mark->ahead_bytes + wire >= HEAVY_BYTES) {
		tr->bytes += tr->head_bytes + wire;
		tr->us += tr->head_us + gap_us;
		tr->replies += tr->head_bytes > 0 ? 2 : 1;
		tr->head_bytes = 0;
		tr->head_us = 0;
		train_cut(le, wire, gap_us);
	} else {
		train_sample(le, 1);
		train_head(le, wire,
		    minus_u64(now_us, max_u64(tr->last_us, could_us)));
	}
	tr->last_us = now_us;
}

/* The middle one, so that one which was held up or cut does not count; of
 * two the lower one. */
static uint64_t bursts_middle(const uint64_t *v)
{
	uint64_t low = min_u64(v[0], v[1]), high = max_u64(v[0], v[1]);
	uint64_t middle = clamp_u64(v[2], low, high);

	return middle ? middle : max_u64(high, v[2]);
}

/* Only what differs clearly: a part of a reply is a short time to go by. */
static void burst_guess(struct linkest *le)
{
	uint64_t rate_Bps = bursts_middle(le->burst_Bps);

	if (le->rate_known &&
	    (!le->rate_guessed || (rate_Bps <= le->rate_Bps / 4 * 5 &&
				      rate_Bps >= le->rate_Bps / 5 * 4)))
		return;
	memset(le->rate, 0, sizeof(le->rate));
	le->rate_guessed = true;
	le->rate_known = true;
	le->rate_measured = true;
	le->rate_Bps = rate_Bps;
}

static void burst_sample(struct linkest *le)
{
	const struct burst *b = &le->burst;
	uint64_t *least = &le->least_Bps[le->burst_at];

	if (b->begun_us >= BURST_US && b->begun_bytes >= TELLING_BYTES) {
		le->burst_Bps[le->burst_at] =
		    b->begun_bytes * SECOND_US / b->begun_us;
		burst_guess(le);
	}
	if (b->us >= BURST_US)
		*least = b->bytes * SECOND_US / b->us;
	else if (b->first_bytes + b->bytes >= HEAVY_BYTES)
		*least =
		    (b->first_bytes + b->bytes) * SECOND_US / (2 * BURST_US);
}

void linkest_arrived(
    struct linkest *le, uint64_t bytes, bool begun, uint64_t now_us)
{
	struct burst *b = &le->burst;
	uint64_t wire = bytes + bytes * SEGMENT_HEADER_BYTES / SEGMENT_BYTES;
	uint64_t gap_us = now_us - b->last_us;
	uint64_t longest = le->base_us ? le->base_us / 2 : BURST_GAP_US;

	if (!begun) {
		le->begin_us = now_us;
		le->begin_bytes = wire;
	}
	if (begun && b->first_bytes + b->bytes < FIRST_FLIGHT_BYTES)
		longest = SECOND_US;
	if (b->last_us == 0 || gap_us > longest) {
		*b = (struct burst){.first_bytes = wire};
		le->burst_at = (le->burst_at + 1) % BURSTS;
	} else {
		b->bytes += wire;
		b->us += gap_us;
		b->begun_bytes += begun ? wire : 0;
		b->begun_us += begun ? gap_us : 0;
	}
	b->last_us = now_us;
	burst_sample(le);
}

/*
 * A client with one call at a time under way does not fill a link that has
 * become faster; but the parts of replies that stood behind no other, where
 * nothing was held up, show that it has. They raise the rate only, and only
 * where it is clearly too low: three in a row, by the least of them.
 */
static void alone_raise(
    struct linkest *le, const struct linkest_mark *mark, uint64_t now_us)
{
	const struct burst *b = &le->burst;
	uint64_t rate_Bps;

	if (mark->ahead_bytes > 0 || le->begin_us <= mark->sent_us ||
	    b->last_us != now_us || b->begun_us < BURST_US ||
	    b->begun_bytes < ALONE_BYTES)
		return;
	le->alone_Bps[le->alone_at] = b->begun_bytes * SECOND_US / b->begun_us;
	le->alone_at = (le->alone_at + 1) % BURSTS;
	rate_Bps = le->alone_Bps[0];
	for (unsigned i = 1; i < BURSTS; i++)
		rate_Bps = min_u64(rate_Bps, le->alone_Bps[i]);
	if (!le->rate_known || rate_Bps <= le->rate_Bps / 4 * 5)
		return;
	le->rate[le->rate_at] = rate_Bps;
	le->rate_Bps = rate_Bps;
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
	base_measure(le, mark, wire, now_us);
	trip_us = minus_u64(took_us, linkest_wire_us(le, wire));
	trip_us = max_u64(trip_us, 1);
	if (linkest_wire_us(le, mark->ahead_bytes) <= le->base_us / 8)
		le->alone_us = now_us;
	srtt_update(le, trip_us);
	queued_us = minus_u64(trip_us, le->base_us);
	standing_update(le, queued_us, now_us);
	train_update(le, mark, wire, now_us);
	rate_bound(le, mark, now_us);
	alone_raise(le, mark, now_us);
	return queued_us;
}

uint64_t linkest_rate_Bps(const struct linkest *le)
{
	return le->rate_known ? le->rate_Bps : 0;
}

bool linkest_measured(const struct linkest *le)
{
	return le->rate_measured;
}

uint64_t linkest_least_Bps(const struct linkest *le)
{
	return bursts_middle(le->least_Bps);
}

uint64_t linkest_base_us(const struct linkest *le)
{
	return le->base_us;
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

uint64_t linkest_queue_us(const struct linkest *le)
{
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
	return linkest_queue_us(le) + held_us;
}

uint64_t linkest_standing_us(const struct linkest *le)
{
	return min_u64(le->standing_us[0], le->standing_us[1]);
}

uint64_t linkest_inflight_bytes(const struct linkest *le)
{
	return le->inflight_bytes;
}

uint64_t linkest_unit_bytes(const struct linkest *le)
{
	uint64_t unit = le->rate_Bps / 200;

	if (!le->rate_known)
		return UNIT_UNKNOWN;
	return clamp_u64(unit - unit % UNIT_STEP, UNIT_STEP, UNIT_MAX);
}

uint64_t linkest_wire_us(const struct linkest *le, uint64_t wire_bytes)
{
	if (!le->rate_known || le->rate_Bps == 0)
		return 0;
	return wire_bytes * SECOND_US / le->rate_Bps;
}
