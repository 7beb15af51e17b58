/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records a server's last hour: one sample every ten seconds. It is for those
 * who look (the page, `forefetch top`, stats and the balance); nothing in the
 * daemon acts on it. All functions are for the loop's thread. */
#ifndef FOREFETCH_HISTORY_H
#define FOREFETCH_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct metrics;

struct history;

/* Times are in microseconds. */
enum {
	HISTORY_STEP_US = 10000000,
	/* An hour; about 82 KiB a server. */
	HISTORY_SAMPLES = 360,
	/* The time that a call takes longer because it comes to this daemon
	 * first, whoever answers it: 26 us in the median of bench/loopback, and
	 * more where the machine is busy. */
	HISTORY_HOP_US = 100,
};

/* Counts of the `span_us` that ended at `at_us`; then, from srtt_us on, values
 * as they were at that time. */
struct history_sample {
	uint64_t at_us;   /* of clock_now_us() */
	uint64_t span_us; /* longer than a step where the machine slept */
	uint64_t calls;   /* of clients, answered */
	uint64_t errors;  /* of these */
	uint64_t asked;   /* calls to the server, answered; ahead, too */
	uint64_t hits;    /* calls of clients that a cache answered */
	uint64_t misses;  /* calls that were passed on, of those that caches are
			     for */
	uint64_t waited_us; /* time from call to reply, of all clients' calls */
	/* Calls that were spared the server, times what a direct mount would
	 * have waited longer: the round trip of the idle link, or what calls
	 * that were passed on took, if that is less, without HISTORY_HOP_US.
	 * Clients that wait for several calls at a time would have waited less.
	 */
	uint64_t saved_us;
	/* HISTORY_HOP_US of each call that was passed on, and what of it is
	 * longer than the round trip of each that was spared. */
	uint64_t added_us;
	uint64_t returned_bytes; /* sent to clients, in replies */
	uint64_t demand_bytes;   /* from the server, since a client asked */
	uint64_t ahead_bytes;    /* from the server, fetched ahead */
	uint64_t used_bytes;     /* of what was fetched ahead: it was wanted */
	uint64_t unused_bytes; /* bytes fetched ahead and not wanted within ten
				  seconds */
	uint64_t used;         /* objects fetched ahead and there in time */
	uint64_t late; /* objects fetched ahead and wanted while still on their
			  way */
	uint64_t unused;   /* objects fetched ahead and not wanted */
	uint64_t refused;  /* calls ahead that the server refused */
	uint64_t resent;   /* calls to the server that were sent again */
	uint64_t segments; /* of TCP, to the server */
	uint64_t lost;     /* of these segments, lost on their way */

	uint64_t srtt_us;  /* 0: not known, as the two below */
	uint64_t base_us;  /* round trip of the idle link */
	uint64_t rate_Bps; /* of the link, bytes a second */
	uint64_t queue_us;
	uint64_t in_flight; /* calls of clients */
	uint64_t clients;   /* connections */
	bool up;
};

/* Returns the metrics of what `ctx` is, with gauges as they are now. The
 * history keeps no pointer to them. */
typedef const struct metrics *(*history_measure)(void *ctx);

/* Takes a sample every HISTORY_STEP_US, by a timer of `base`. `ctx` outlives
 * it. NULL and errno without memory. */
struct history *history_new(
    struct event_base *base, history_measure measure, void *ctx);
void history_free(struct history *h); /* NULL is allowed */

/* How many samples there are, at most HISTORY_SAMPLES. */
size_t history_count(const struct history *h);
/* The i-th of history_count(), the oldest first; valid until the next
 * sample. */
const struct history_sample *history_at(const struct history *h, size_t i);

/* Since it was made, and until now; each never less than before. */
struct history_totals {
	uint64_t calls;  /* of clients, answered */
	uint64_t spared; /* calls that needed none to the server */
	uint64_t saved_us, added_us;
	uint64_t returned_bytes; /* to clients, in replies */
	uint64_t received_bytes; /* from the server */
};
/* Fills in the totals as of now. */
void history_get_totals(struct history *h, struct history_totals *out);

/* The sum of all samples' saved_us, since it was made and until now; never less
 * than before. 0 where `h` is NULL. */
uint64_t history_saved_us(struct history *h);
/* The sum of all samples' added_us, likewise. */
uint64_t history_added_us(struct history *h);
/* The sum of all samples' saved_us since midnight, or since it was made, where
 * that is later. 0 where `h` is NULL. */
uint64_t history_saved_today_us(const struct history *h);

/* The day is another one: of any numbers that differ from day to day. */
void history_begin_day(struct history *h, int day);
/* Takes a sample, as the timer does; the time is an argument, for tests. */
void history_take(struct history *h, uint64_t now_us);

#endif
