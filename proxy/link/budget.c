/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits the speculative bytes in flight by a window, and a bucket of tokens.
 * The numbers were tried on the simulated link of tests/unit/link/linksim.c.
 *
 * prefetch/ and warm/ ask budget_may() before each call of theirs, and say what
 * became of it. `inflight_bytes` is always the sum of calls that were sent and
 * have ended in neither budget_received() nor budget_lost().
 */
#include "link/budget.h"

#include <assert.h>
#include <stdlib.h>

#include "base/uint.h"

#define SECOND_US INT64_C(1000000)

/* The queue that the window may build is the wire time of a unit, but at least
 * this, since on a fast link that is next to nothing. */
#define TARGET_MIN_US UINT64_C(2000)

/*
 * Speculation is silent for two round trips when the window has been at its
 * least for CROWDED_US, or when every reply has stood behind others for
 * ALONE_US, which is longer than linkest keeps a base round trip: see
 * budget_probe().
 */
#define CROWDED_US UINT64_C(1000000)
#define ALONE_US   UINT64_C(10000000)

/* A timer that comes late is made up for, but not by more than 20 ms; after
 * 100 ms it was not late: nothing was wanted. */
#define LATE_MAX_US  UINT64_C(20000)
#define LATE_IDLE_US UINT64_C(100000)

/* While linkest suspects a longer route, a call ahead goes out only for a reply
 * of at most PROBE_BYTES and on an empty link. Others try again after
 * PROBE_US. */
enum { PROBE_BYTES = 1024 };
#define PROBE_US UINT64_C(50000)

/* A route is called short if its budget_limit_bytes() is less than so many
 * units. */
enum { ROUTE_SHORT = 4 };

/* The most that a link is taken to hold: 1 Gb/s at a round trip of 130 ms. The
 * window may be one unit more. */
enum { WINDOW_MAX = 16 << 20 };

struct budget {
	const struct linkest *le;
	struct config_rate cap;

	uint64_t window_bytes;
	uint64_t inflight_bytes;
	uint64_t inflight_max_bytes;
	unsigned calls;  /* in flight */
	unsigned routes; /* linkest_routes() when it was last looked at */
	bool slow_start;
	bool full; /* a call did not fit into the window since it last grew */
	uint64_t waits_bytes; /* of the call that had no room; 0: none waits */
	uint64_t cut_us;      /* the window is not halved again before this */

	uint64_t crowded_us; /* last time the window was above its least */
	uint64_t probed_us;  /* when the last silence for a probe ended */
	uint64_t pause_us;   /* nothing goes before this */

	int64_t tokens; /* bytes times 10^6; below 0 after a long call */
	uint64_t filled_us;
	bool dry;         /* it ran out of tokens, and is not full again */
	uint64_t due_us;  /* when it will be; 0: nobody waits for it */
	uint64_t late_us; /* how much later whoever waited for it came */
};

static uint64_t budget_unit(const struct budget *b)
{
	return linkest_wire_bytes(linkest_unit_bytes(b->le));
}

struct budget *budget_new(
    const struct linkest *le, const struct config_rate *cap)
{
	struct budget *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->le = le;
	b->window_bytes = budget_unit(b);
	b->slow_start = true;
	budget_set_cap(b, cap);
	return b;
}

void budget_free(struct budget *b)
{
	free(b);
}

void budget_set_cap(struct budget *b, const struct config_rate *cap)
{
	assert(cap->percent <= 100);
	assert((cap->percent == 0) != (cap->bits_per_second == 0));
	b->cap = *cap;
}

uint64_t budget_limit_bytes(const struct budget *b)
{
	uint64_t rate = linkest_rate_Bps(b->le);
	uint64_t base = linkest_base_us(b->le);

	if (rate == 0)
		rate = linkest_least_Bps(b->le);
	return min_u64(rate * base / SECOND_US, WINDOW_MAX) + budget_unit(b);
}

static void budget_clamp(struct budget *b)
{
	uint64_t limit = budget_limit_bytes(b);

	/* The rate may be from a file, or of the kind of link. It is believed
	 * until a reply tells better. */
	if (b->slow_start && linkest_rate_Bps(b->le) > 0)
		b->window_bytes = limit;
	b->window_bytes = min_u64(b->window_bytes, limit);
	b->window_bytes = max_u64(b->window_bytes, budget_unit(b));
}

/* Returns how many bytes of tokens come in a second; 0: no limit, since the
 * rate of which the cap is a share is not known. */
static uint64_t budget_fill_Bps(const struct budget *b)
{
	uint64_t rate = linkest_rate_Bps(b->le);
	uint64_t cap = b->cap.bits_per_second / 8;

	if (b->cap.percent)
		return rate / 100 * b->cap.percent;
	return max_u64(rate ? min_u64(rate, cap) : cap, 1);
}

/*
 * Returns the most tokens there may be: two units, and what would have gone out
 * already if the timer had not been late. Timers are late on a busy machine,
 * and the link is idle meanwhile.
 */
static int64_t budget_bucket(const struct budget *b)
{
	uint64_t bytes = min_u64(b->window_bytes, 2 * budget_unit(b));

	return (int64_t)bytes * SECOND_US +
	       (int64_t)(budget_fill_Bps(b) * b->late_us);
}

static void budget_fill(struct budget *b, uint64_t now_us)
{
	int64_t fill = (int64_t)budget_fill_Bps(b), full;
	int64_t us = (int64_t)(now_us - b->filled_us);

	if (b->due_us && now_us > b->due_us &&
	    now_us < b->due_us + LATE_IDLE_US)
		b->late_us = min_u64(now_us - b->due_us, LATE_MAX_US);
	if (now_us >= b->due_us)
		b->due_us = 0;
	full = budget_bucket(b);
	b->filled_us = now_us;
	if (fill == 0 || us >= (full - b->tokens) / fill + 1)
		b->tokens = full;
	else
		b->tokens += fill * us;
	if (b->tokens >= full)
		b->dry = false;
}

/* Returns for how many microseconds to wait for tokens; 0: there are enough. */
static uint64_t budget_tokens_wait(struct budget *b, uint64_t wire)
{
	int64_t need = (int64_t)wire * SECOND_US, full = budget_bucket(b);
	int64_t fill = (int64_t)budget_fill_Bps(b);

	if (!b->dry && b->tokens >= (need < full ? need : full))
		return 0;
	/*
	 * It waits for a full bucket: calls that go out together come back
	 * one behind the other, and show what the link can do.
	 */
	b->dry = true;
	b->late_us = 0;
	full = budget_bucket(b);
	if (fill == 0 || b->tokens >= full)
		return 0;
	return (uint64_t)((full - b->tokens) / fill + 1);
}

/* Looks whether the route is another one. Then the window is what that holds,
 * and the queue that seemed to stand there was none. */
static void budget_route(struct budget *b)
{
	if (b->routes == linkest_routes(b->le))
		return;
	b->routes = linkest_routes(b->le);
	b->window_bytes = budget_limit_bytes(b);
	b->pause_us = 0;
}

/* Whether the route holds so little that it would be idle while the last of a
 * few calls comes to its end. */
static bool budget_is_short(const struct budget *b)
{
	return budget_limit_bytes(b) < ROUTE_SHORT * budget_unit(b);
}

/* Returns the bytes that have arrived of replies that are not whole, where they
 * matter: on a short route. */
static uint64_t budget_arrived(const struct budget *b)
{
	return budget_is_short(b) ? linkest_arrived_bytes(b->le) : 0;
}

/* Returns how many bytes of the calls ahead are still to come. Nobody knows to
 * which call a part of a reply belongs, so the parts that have arrived are left
 * out only while no client's call is under way. */
static uint64_t budget_left(const struct budget *b)
{
	bool own = b->calls == linkest_calls(b->le);

	return minus_u64(b->inflight_bytes, own ? budget_arrived(b) : 0);
}

/*
 * Returns the part of a reply that has to fit below the limits. A reply that is
 * longer than a unit may exceed them by as much as it is longer: otherwise it
 * would wait for a gap of its own length, and the link would be idle in it. But
 * it exceeds them by no more than the link carries in a quarter of its round
 * trip, since demand waits behind it. On a short route it has to fit whole:
 * there what arrives makes room, or demand fills the link.
 */
static uint64_t budget_part(const struct budget *b, uint64_t wire)
{
	uint64_t unit = budget_unit(b);
	uint64_t out = min_u64(wire, 2 * minus_u64(wire, unit));

	if (budget_is_short(b))
		return wire;
	return wire - min_u64(out, (budget_limit_bytes(b) - unit) / 4);
}

static bool budget_has_room(const struct budget *b, uint64_t wire)
{
	uint64_t part = budget_part(b, wire);
	uint64_t link = linkest_inflight_bytes(b->le) - budget_arrived(b);

	return b->inflight_bytes == 0 ||
	       (budget_left(b) + part <= b->window_bytes &&
		   link + part <= budget_limit_bytes(b));
}

bool budget_may(
    struct budget *b, uint64_t bytes, uint64_t now_us, uint64_t *wait_us)
{
	uint64_t wire = linkest_wire_bytes(bytes);

	*wait_us = 0;
	b->waits_bytes = 0;
	budget_route(b);
	if (now_us < b->pause_us) {
		*wait_us = b->pause_us - now_us;
		return false;
	}
	budget_clamp(b);
	budget_fill(b, now_us);
	if (linkest_suspects(b->le, now_us) &&
	    (b->inflight_bytes > 0 || bytes > PROBE_BYTES)) {
		*wait_us = b->inflight_bytes > 0 ? 0 : PROBE_US;
		return false;
	}
	if (!budget_has_room(b, wire)) {
		b->full |=
		    budget_left(b) + budget_part(b, wire) > b->window_bytes;
		b->waits_bytes = wire;
		return false;
	}
	*wait_us = budget_tokens_wait(b, wire);
	b->due_us = *wait_us > 0 ? now_us + *wait_us : 0;
	return *wait_us == 0;
}

void budget_sent(struct budget *b, uint64_t bytes, uint64_t now_us)
{
	uint64_t wire = linkest_wire_bytes(bytes);

	budget_fill(b, now_us);
	b->tokens -= (int64_t)wire * SECOND_US;
	b->inflight_bytes += wire;
	b->calls++;
	b->inflight_max_bytes = max_u64(b->inflight_max_bytes, budget_left(b));
}

bool budget_take_room(struct budget *b)
{
	if (b->waits_bytes == 0 || !budget_has_room(b, b->waits_bytes))
		return false;
	b->waits_bytes = 0;
	return true;
}

void budget_likely(struct budget *b, uint64_t bytes, double p)
{
	double wire = (double)linkest_wire_bytes(bytes) * (double)SECOND_US;

	if (b->cap.percent)
		b->tokens += (int64_t)(p * wire * (100 - b->cap.percent) / 100);
}

static void budget_ended(struct budget *b, uint64_t wire)
{
	assert(b->inflight_bytes >= wire);
	b->inflight_bytes -= wire;
	b->calls--;
}

static uint64_t budget_target_us(const struct budget *b)
{
	uint64_t us = max_u64(TARGET_MIN_US, linkest_jitter_us(b->le));

	return max_u64(us, linkest_wire_us(b->le, budget_unit(b)));
}

/* Adapts the window as LEDBAT does (RFC 6817 section 2.4.2), with a unit in
 * place of MSS and GAIN 1; but the window shrinks at half of that speed. */
static void budget_adapt(struct budget *b, uint64_t wire)
{
	int64_t target = (int64_t)budget_target_us(b);
	int64_t off = target - (int64_t)linkest_standing_us(b->le);
	int64_t window = (int64_t)b->window_bytes;

	if (off < -target)
		off = -target;
	if (off < 0)
		window += (int64_t)wire * off / target / 2;
	else if (b->full)
		window +=
		    (int64_t)(wire * budget_unit(b)) / window * off / target;
	b->full = b->full && b->inflight_bytes > 0;
	b->window_bytes = window > 0 ? (uint64_t)window : 0;
}

/*
 * Is silent for two round trips now and then, so that linkest can measure the
 * base again, as BBR does in its ProbeRTT phase. Without it, a longer route
 * looks like a queue that stands although speculation hardly sends, and a queue
 * that stood from the start looks like the route.
 */
static void budget_probe(struct budget *b, uint64_t now_us)
{
	uint64_t quiet_us = 2 * linkest_srtt_us(b->le);

	if (linkest_standing_us(b->le) <= budget_target_us(b) ||
	    b->window_bytes > budget_unit(b))
		b->crowded_us = now_us;
	if (now_us < b->pause_us ||
	    (now_us < b->crowded_us + CROWDED_US &&
		now_us <
		    max_u64(linkest_alone_us(b->le), b->probed_us) + ALONE_US))
		return;
	budget_pause(b, now_us + quiet_us);
	b->probed_us = b->pause_us;
	b->crowded_us = b->pause_us;
}

/*
 * The window doubles every round trip until a queue shows, which a pause then
 * lets out; or until the rate was measured. Then it is what the link holds at
 * once, and the tokens see to it that this does not go out in one go.
 */
static void budget_slow_start(struct budget *b, uint64_t wire, uint64_t now_us)
{
	if (linkest_standing_us(b->le) > budget_target_us(b)) {
		b->slow_start = false;
		budget_pause(b, now_us + linkest_srtt_us(b->le));
	} else if (linkest_measured(b->le)) {
		b->slow_start = false;
		b->window_bytes = budget_limit_bytes(b);
	} else if (b->full) {
		b->window_bytes += wire;
	}
}

void budget_received(
    struct budget *b, uint64_t bytes, uint64_t got_bytes, uint64_t now_us)
{
	uint64_t wire = linkest_wire_bytes(bytes);
	uint64_t got = linkest_wire_bytes(got_bytes);

	budget_ended(b, wire);
	if (got < wire)
		b->tokens += (int64_t)(wire - got) * SECOND_US;
	if (b->slow_start)
		budget_slow_start(b, wire, now_us);
	else
		budget_adapt(b, wire);
	budget_clamp(b);
	budget_probe(b, now_us);
}

void budget_lost(struct budget *b, uint64_t bytes)
{
	budget_ended(b, linkest_wire_bytes(bytes));
}

void budget_demand(struct budget *b, uint64_t now_us)
{
	uint64_t standing = linkest_standing_us(b->le);

	if (b->inflight_bytes == 0 || standing <= 2 * budget_target_us(b) ||
	    now_us < b->cut_us)
		return;
	b->cut_us = now_us + linkest_srtt_us(b->le);
	b->slow_start = false;
	b->window_bytes /= 2;
	budget_clamp(b);
}

void budget_pause(struct budget *b, uint64_t until_us)
{
	b->pause_us = max_u64(b->pause_us, until_us);
}

uint64_t budget_inflight_bytes(const struct budget *b)
{
	return budget_left(b);
}

uint64_t budget_window_bytes(const struct budget *b)
{
	return b->window_bytes;
}

uint64_t budget_inflight_max_bytes(const struct budget *b)
{
	return b->inflight_max_bytes;
}
