/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rate of a link, from four kinds of sample. A link that is not full hides
 * its rate, so most can only raise the estimate:
 *
 *   train   replies that waited for one another: the link was busy for all
 *           the time between them. Raises the rate, and lowers it unless it
 *           was the server that they waited for.
 *   bound   bytes delivered since a call was sent (BBR). Raises it.
 *   burst   the parts of one long reply. Sets it while it is a guess.
 *   alone   bursts of replies that stood behind no other. Raises it.
 */
#include "link/linkest_private.h"

#include <string.h>

/* Lengths of a bucket, in busy time. The shorter one holds while samples are
 * low and a queue stands: then the link has become slower. */
#define RATE_BUCKET_US       (SECOND_US / 2)
#define RATE_BUCKET_QUEUE_US (SECOND_US / 10)

/*
 * A burst ends at a long gap: half of the base round trip, or BURST_GAP_US
 * where no base is known. TCP sends ten segments before it has heard anything
 * (RFC 6928), so a gap within as many bytes may be of any length on a slow
 * link.
 *
 * Other gaps are the sender's, which waits for the other end: after a silence
 * its window is small again, and it sends less in a round trip than the link
 * carries. Then a flight of segments that follow each other closely ends in a
 * gap that is BURST_UNEVEN times as long as theirs, longer than
 * BURST_GAP_MIN_US, and not over before a round trip since the flight began.
 * That holds for the first flight, too, which has fewer bytes than ten full
 * segments where replies end in it.
 */
#define FIRST_FLIGHT_BYTES (10 * (SEGMENT_BYTES + SEGMENT_HEADER_BYTES))
#define BURST_GAP_US       10000
#define BURST_GAP_MIN_US   3000
#define BURST_UNEVEN       4

/* A shorter time is nearer to what one turn of the event loop takes. */
#define BURST_US    1000
/* Fewer bytes of one reply may have been held up by chance. */
#define ALONE_BYTES 8192

static void rate_max(struct linkest *le)
{
	unsigned i;

	le->rate.Bps = 0;
	for (i = 0; i < RATE_BUCKETS; i++)
		le->rate.Bps = max_u64(le->rate.Bps, le->rate.bucket[i]);
}

/*
 * A sample of a link that was busy for all of `busy_us`. Samples of less than
 * 3/4 of the rate, while the queue that stands is longer than half of the base
 * and than two calls of our own, count as a link that has become slower.
 */
static void rate_full(struct linkest *le, uint64_t rate_Bps, uint64_t busy_us)
{
	uint64_t length_us = RATE_BUCKET_US, standing = linkest_standing_us(le);

	if (rate_Bps < le->rate.Bps / 4 * 3 && standing > le->base_us / 2 &&
	    standing > 2 * linkest_wire_us(le, linkest_unit_bytes(le)))
		length_us = RATE_BUCKET_QUEUE_US;
	if (le->rate.busy_us >= length_us) {
		le->rate.at = (le->rate.at + 1) % RATE_BUCKETS;
		le->rate.bucket[le->rate.at] = 0;
		le->rate.busy_us = 0;
	}
	le->rate.guessed = false;
	le->rate.busy_us += busy_us;
	le->rate.bucket[le->rate.at] =
	    max_u64(le->rate.bucket[le->rate.at], rate_Bps);
	le->rate.known = true;
	le->rate.measured = true;
	rate_max(le);
}

/*
 * The delivery rate since the call was sent: a lower bound, since the pipe
 * may have been empty for a part of it. The longer of the times of sending and
 * of receiving counts, so that replies which were held up and then come all at
 * once do not raise the rate; the time is lengthened by twice rttvar for jitter
 * at its two ends.
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
	le->rate.bucket[le->rate.at] =
	    max_u64(le->rate.bucket[le->rate.at], rate_Bps);
	le->rate.Bps = max_u64(le->rate.Bps, rate_Bps);
}

/* Returns the middle one of three values, so that one which was held up or cut
 * short does not count. 0 is no value; of two values, the lower one. */
static uint64_t bursts_middle(const uint64_t *v)
{
	uint64_t low = min_u64(v[0], v[1]), high = max_u64(v[0], v[1]);
	uint64_t middle = clamp_u64(v[2], low, high);

	return middle ? middle : max_u64(high, v[2]);
}

/*
 * Whether replies that came at `rate_Bps` waited for the server rather than for
 * the link: nothing stands on the link, and the parts of one reply come faster
 * by a quarter.
 */
static bool train_idled(const struct linkest *le, uint64_t rate_Bps)
{
	uint64_t unit_us = linkest_wire_us(le, linkest_unit_bytes(le));

	return linkest_standing_us(le) <=
		   max_u64(le->base_us / 4, 2 * unit_us) &&
	       bursts_middle(le->burst_Bps) / 5 * 4 > rate_Bps;
}

/*
 * Ends a sample if it took long enough, so that jitter hardly counts: `times` a
 * quarter of a round trip, from 10 to 200 ms; a quarter of that while the rate
 * is unknown, when any sample is better than none.
 */
static void train_sample(struct linkest *le, unsigned times)
{
	struct train *tr = &le->train;
	uint64_t need_us = clamp_u64(le->srtt8_us / 4, 10000, 200000);
	uint64_t rate_Bps;

	if (!le->rate.known)
		need_us /= 4;
	if (tr->us < times * need_us || tr->bytes < HEAVY_BYTES)
		return;
	rate_Bps = tr->bytes * SECOND_US / tr->us;
	if (le->rate.known && rate_Bps > le->rate.Bps)
		rate_full(le, rate_Bps, tr->us);
	else if (tr->bytes / tr->replies >= TELLING_BYTES &&
		 !train_idled(le, rate_Bps))
		rate_full(le, rate_Bps, tr->us);
	tr->bytes = 0;
	tr->us = 0;
	tr->replies = 0;
}

/*
 * Ends a sample here unless the reply was held up. At a reply that comes late
 * while those before it did not, no sample ends; nor soon after it, since what
 * was held up with it comes in no time and would make a sample of its own that
 * is far too fast: replies that come early have to fill eight times the time.
 */
static void train_cut(struct linkest *le, uint64_t wire, uint64_t gap_us)
{
	struct train *tr = &le->train;
	uint64_t wire_us = linkest_wire_us(le, wire);
	bool late = le->rate.known && gap_us > 2 * wire_us;
	bool early = 2 * gap_us < wire_us;

	if (!late || tr->late)
		train_sample(le, early ? 8 : 1);
	/* A short reply that is a little late says nothing of the next one. */
	tr->late = late && gap_us > 2 * wire_us + le->base_us / 8;
}

/*
 * Keeps the first reply of a train, which came `us` after it could have come.
 * It will count together with those behind it: if it was held up, they come
 * early. It does not count if it came sooner than its length allows, since then
 * the base or the rate is not right yet.
 */
static void train_head(struct linkest *le, uint64_t wire, uint64_t us)
{
	bool count = le->rate.known && us + us / 8 >= linkest_wire_us(le, wire);

	le->train.head_bytes = count ? wire : 0;
	le->train.head_us = count ? us : 0;
}

/*
 * A reply that could have come before the last one if the link had been free
 * continues a train: the link was busy with it for all the time between them.
 * Any other reply begins a new train.
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

/*
 * Takes the rate of bursts while no train has told a better one. It has to
 * differ by a quarter: the parts of one reply are a short time to measure.
 */
static void burst_guess(struct linkest *le)
{
	uint64_t rate_Bps = bursts_middle(le->burst_Bps);

	if (le->rate.known &&
	    (!le->rate.guessed || (rate_Bps <= le->rate.Bps / 4 * 5 &&
				      rate_Bps >= le->rate.Bps / 5 * 4)))
		return;
	memset(le->rate.bucket, 0, sizeof(le->rate.bucket));
	le->rate.guessed = true;
	le->rate.known = true;
	le->rate.measured = true;
	le->rate.Bps = rate_Bps;
}

/*
 * A reply may begin at the end of one flight and go on in the next. Then the
 * first gap of the burst is the sender's, and the second one is the first that
 * tells of the link. Whether that may be so: there is one gap yet, and it is
 * too long for the rate.
 */
static bool burst_may_begin(const struct linkest *le)
{
	const struct burst *b = &le->burst;

	return b->gaps == 1 && b->us > BURST_GAP_MIN_US && le->rate.measured &&
	       b->us > BURST_UNEVEN * linkest_wire_us(le, b->bytes);
}

/* Whether the first gap of the burst was the sender's: a second one, of
 * `gap_us` before `wire` bytes, is far shorter for its bytes. */
static bool burst_began_late(
    const struct burst *b, uint64_t wire, uint64_t gap_us)
{
	return b->gaps == 1 && b->us > BURST_GAP_MIN_US &&
	       b->us * wire > BURST_UNEVEN * gap_us * b->bytes;
}

/*
 * Samples the rate of the burst so far. The time before its first bytes is
 * unknown; it counts as two turns of the loop where the whole burst came within
 * one.
 */
static void burst_sample(struct linkest *le)
{
	const struct burst *b = &le->burst;
	uint64_t *least = &le->least_Bps[le->burst_at];

	if (b->begun_us >= BURST_US && b->begun_bytes >= TELLING_BYTES &&
	    !burst_may_begin(le)) {
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

/* Returns the longest gap before `wire` bytes that still belong to the burst,
 * where they come `gap_us` after the others. */
static uint64_t burst_gap_us(
    const struct linkest *le, uint64_t wire, bool begun, uint64_t gap_us)
{
	const struct burst *b = &le->burst;
	bool first = b->first_bytes + b->bytes < FIRST_FLIGHT_BYTES;
	uint64_t longest = first && begun ? SECOND_US
			   : le->base_us  ? le->base_us / 2
					  : BURST_GAP_US;
	uint64_t even_us;

	if (b->bytes == 0 || le->base_us == 0 ||
	    b->us + gap_us < le->base_us / 4 * 3)
		return longest;
	even_us = b->us * wire / b->bytes;
	return min_u64(
	    longest, max_u64(BURST_UNEVEN * even_us, BURST_GAP_MIN_US));
}

void linkest_arrived(
    struct linkest *le, uint64_t bytes, bool begun, uint64_t now_us)
{
	struct burst *b = &le->burst;
	uint64_t wire = bytes + bytes * SEGMENT_HEADER_BYTES / SEGMENT_BYTES;
	uint64_t gap_us = now_us - b->last_us;

	if (!begun) {
		le->begin_us = now_us;
		le->begin_bytes = wire;
	}
	if (b->last_us == 0 || gap_us > burst_gap_us(le, wire, begun, gap_us)) {
		*b = (struct burst){.first_bytes = wire};
		le->burst_at = (le->burst_at + 1) % BURSTS;
	} else {
		if (burst_began_late(b, wire, gap_us))
			*b = (struct burst){.first_bytes = b->bytes};
		b->gaps++;
		b->bytes += wire;
		b->us += gap_us;
		b->begun_bytes += begun ? wire : 0;
		b->begun_us += begun ? gap_us : 0;
	}
	b->last_us = now_us;
	burst_sample(le);
}

/*
 * Raises the rate by replies that stood behind no other. A client with one call
 * under way at a time never fills a link that has become faster, but the parts
 * of its replies show it. They raise the rate only when three in a row are
 * faster by a quarter, and to the least of the three.
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
	if (!le->rate.known || rate_Bps <= le->rate.Bps / 4 * 5)
		return;
	le->rate.bucket[le->rate.at] = rate_Bps;
	le->rate.Bps = rate_Bps;
}

uint64_t linkest_least_Bps(const struct linkest *le)
{
	return bursts_middle(le->least_Bps);
}

void rate_on_reply(struct linkest *le, const struct linkest_mark *mark,
    uint64_t wire, uint64_t now_us)
{
	train_update(le, mark, wire, now_us);
	rate_bound(le, mark, now_us);
	alone_raise(le, mark, now_us);
}
