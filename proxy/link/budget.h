/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much speculation may ask for now: it may fill the link but builds no
 * queue that demand would stand in.
 *
 *   window   of speculative bytes in flight: additive growth and
 *            proportional decrease by the queueing delay (LEDBAT, RFC 6817
 *            section 2.4.2), towards the wire time of one unit (see
 *            linkest_unit_bytes), at least 2 ms and the jitter of its kind.
 *            From one unit to what the link holds (rate by base round trip,
 *            16 MiB at most) and one unit more.
 *   link     demand's bytes in flight count too: both together keep below
 *            that maximum when speculation sends.
 *   bucket   of tokens, filled at prefetch_rate but never faster than the
 *            link; a share of the link charges less for what is likely.
 *            Two units at most, since a whole window at once would be a
 *            queue for a round trip; and what a timer that came up to 20 ms
 *            late has kept back.
 *
 * Where a file or the kind of link says the rate, the window begins with what
 * such a link holds. While no rate is known, it doubles every round trip from
 * one unit, until a queue shows or it reaches what the link has shown that it
 * carries, which is a unit at first. The window begins so once:
 * linkest_forget() does not begin it again. Two things go beyond the window:
 * one call may always be in flight, whatever its length, if there are tokens;
 * and a reply that is longer than a unit stands out by as much as it is longer,
 * up to a quarter of what the link holds. On a short route, which holds less
 * than three units, the bytes that have arrived of a reply no longer count as
 * being on the link. In the window they count until the reply is whole, unless
 * only calls ahead are under way.
 *
 * Bytes are what linkest takes: lengths of records. In flight and window are
 * wire bytes. Times are microseconds, on the scale that linkest is given.
 */
#ifndef FOREFETCH_BUDGET_H
#define FOREFETCH_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "link/linkest.h"

struct budget;

/* `le` has to outlive the budget. NULL and errno without memory. */
struct budget *budget_new(
    const struct linkest *le, const struct config_rate *cap);
/* Frees it; NULL is allowed. */
void budget_free(struct budget *b);
/* Sets another `prefetch_rate`: a share of 1 to 100 percent, or a rate. */
void budget_set_cap(struct budget *b, const struct config_rate *cap);

/*
 * Whether a speculative call may go out now whose reply will be of about
 * `bytes`. If not, *wait_us is how long to wait; 0: until a reply has come, or
 * budget_take_room(). Counts nothing: budget_sent() does.
 */
bool budget_may(
    struct budget *b, uint64_t bytes, uint64_t now_us, uint64_t *wait_us);
/* Whether there is room now for the last call that had none; true once. To be
 * asked when a part of a reply has come (linkest_set_part()). */
bool budget_take_room(struct budget *b);

/* Notes that such a call goes out; its tokens are spent. After linkest_sent().
 */
void budget_sent(struct budget *b, uint64_t bytes, uint64_t now_us);
/*
 * Says that the bytes that just went out will be used with probability `p`, so
 * that much of them would have been asked for anyway. A cap that is a share of
 * the link charges only for the part that may be in vain: a reply that is
 * certain to be used may fill the link, at its rate. A cap that is a rate holds
 * for all.
 */
void budget_likely(struct budget *b, uint64_t bytes, double p);
/*
 * Notes that its reply has come, of `got_bytes` where `bytes` were asked for;
 * tokens for bytes that did not come are given back. After linkest_received().
 */
void budget_received(
    struct budget *b, uint64_t bytes, uint64_t got_bytes, uint64_t now_us);
/* Notes that no reply will come. Its tokens stay spent. */
void budget_lost(struct budget *b, uint64_t bytes);
/*
 * Notes that a demand reply has come. If it stood in a queue that speculation
 * helped to build, the window is halved at once, and again after a round trip.
 * After linkest_received().
 */
void budget_demand(struct budget *b, uint64_t now_us);
/* Lets nothing go before `until_us` (JUKEBOX, errors); never shortens a pause.
 */
void budget_pause(struct budget *b, uint64_t until_us);

/* The speculative bytes in flight that have not arrived, and the window, in
 * wire bytes. */
uint64_t budget_inflight_bytes(const struct budget *b);
uint64_t budget_window_bytes(const struct budget *b);
/* Returns the most that ever was in flight. */
uint64_t budget_inflight_max_bytes(const struct budget *b);
/*
 * Returns the upper bound of the window now: rate by base round trip, 16 MiB at
 * most, and one unit; while the rate is not known, by the least that the link
 * has shown. It is never below one unit. Patterns, hints and probes of warm
 * take it for what the link holds. Calls ahead wait while they and demand
 * together are above it; demand itself never waits.
 */
uint64_t budget_limit_bytes(const struct budget *b);

#endif
