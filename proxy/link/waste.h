/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounds waste: bytes that were fetched ahead and not used so far, against the
 * bytes that clients use. Without it, odds that are too high, or guesses at
 * files that nobody ever uses, could make the link carry as much again as the
 * demand.
 *
 *	unused   that came ahead, less what clients were told from the caches;
 *	         or that of objects which nobody has used seconds later, if that
 *	         is more: clients may have been told other things
 *	demand   replies that clients had to wait for, and what came ahead and
 *	         clients were told
 *	limit    share of the demand, and an allowance to begin with
 *
 * All of them fade by half in some 40 seconds. The nearer what is unused comes
 * to the limit, the more a byte costs that may be of no use: at half of it,
 * three times its time on the link; at the limit so much that only what is
 * nearly certain pays, or what is short. Above it by half, nothing goes.
 *
 * Not counted: what somebody asked for (warm, pin, hint), and sessions, which
 * have a bound of their own (`session_size`). Bytes are those of records. No
 * clock: times are microseconds that may run backwards a little.
 */
#ifndef FOREFETCH_WASTE_H
#define FOREFETCH_WASTE_H

#include <stdint.h>

struct waste;

/* Makes counters at 0, with a share of 100 percent. NULL without memory. */
struct waste *waste_new(void); /* NULL without memory */
/* Frees them; NULL is allowed. */
void waste_free(struct waste *w);

/* Sets the share, in percent of the demand; half of it counts on a slow link.
 */
void waste_set_share(struct waste *w, unsigned percent);

/* Notes that the server has answered a client's call. */
void waste_demand(struct waste *w, uint64_t bytes, uint64_t now_us);
/* Notes that a client's call was answered from the caches. */
void waste_cached(struct waste *w, uint64_t bytes, uint64_t now_us);
/* Notes that a call ahead has brought so much. */
void waste_ahead(struct waste *w, uint64_t bytes, uint64_t now_us);
/* Notes that nobody has used an object of which so much had come. */
void waste_unused(struct waste *w, uint64_t bytes, uint64_t now_us);
/* Notes that such an object is used after all. */
void waste_used(struct waste *w, uint64_t bytes, uint64_t now_us);

/* The state on a link that carries `rate_Bps` (0: not known) and holds
 * `pipe_bytes`. */
struct waste_status {
	uint64_t unused_bytes;
	uint64_t limit_bytes;
};
void waste_get_status(struct waste *w, uint64_t rate_Bps, uint64_t pipe_bytes,
    uint64_t now_us, struct waste_status *st);

/* Returns how many times its own time on the link a byte costs if nobody uses
 * it, beside that time. INFINITY where nothing may go. */
double waste_price(const struct waste_status *st);

#endif
