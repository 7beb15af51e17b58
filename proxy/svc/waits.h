/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps for how long calls of clients waited in the last seconds, by who waited
 * and for what; for `forefetch top`. It is told of calls that waited, and of no
 * others. It knows no clock, and allocates nothing after waits_new().
 */
#ifndef FOREFETCH_WAITS_H
#define FOREFETCH_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a call waited. The first group says why the server was asked at all, the
 * second what made that take longer. */
enum waits_cause {
	WAITS_NONE, /* nobody found out yet */
	/* Why the server was asked; counts for as long as its answer takes over
	 * an idle link. */
	WAITS_NOT_CACHED,
	WAITS_EXPIRED, /* it was cached, and confirmed too long ago */
	WAITS_STRICT,  /* it was cached, and `strict` has each use confirmed */
	WAITS_CHANGE,  /* changes, WRITE and COMMIT go through */
	WAITS_AHEAD,   /* it was being fetched ahead already */
	/* The reason why it took longer. */
	WAITS_BUSY, /* other replies were on the link */
	WAITS_SLOW, /* the server, or the link, took its time */
	WAITS_AWAY, /* the connection was lost */
	WAITS_DISK, /* the cache's disk */
	WAITS_CAUSES
};

enum {
	WAITS_SPAN_S = 10,
	/* How many of those who waited are told apart. */
	WAITS_ACTORS = 64,
	WAITS_CLIENT_MAX = 48, /* an address, without the port */
};

struct waits;

/* Who waits, as the predictor tells actors apart. */
struct waits_actor {
	uint64_t client; /* a hash of its address */
	uint32_t uid;
	const char *address; /* copied; a port at its end is left out */
};

/* The calls that one actor waited for in the last WAITS_SPAN_S seconds, and for
 * how many microseconds by cause. */
struct waits_row {
	uint32_t uid;
	char address[WAITS_CLIENT_MAX];
	uint64_t calls; /* calls that waited */
	uint64_t us[WAITS_CAUSES];
	uint64_t sum_us; /* of all causes */
};

/* Makes an empty record of about 40 KiB. NULL and errno without memory. */
struct waits *waits_new(void);
void waits_free(struct waits *w); /* NULL is allowed */
/* Returns a copy to add calls to that are under way; NULL without memory. */
struct waits *waits_copy(const struct waits *w);

/* Adds a call of the actor that waited `us` microseconds for each cause and
 * ended at `now_us`. A call that waited longer than WAITS_SPAN_S counts as that
 * long, its causes in proportion. If there are too many actors, a new one takes
 * the place of the one that has waited longest ago. */
void waits_add(struct waits *w, const struct waits_actor *who,
    const uint64_t us[WAITS_CAUSES], uint64_t now_us);

/* Fills `rows` with those that waited, in no order that means anything, and
 * returns how many there are. */
size_t waits_rows(const struct waits *w, uint64_t now_us,
    struct waits_row rows[WAITS_ACTORS]);

/* Returns the cause in words, such as "not cached"; static text. */
const char *waits_cause_name(enum waits_cause cause);

/*
 * A wait of `sum_us` microseconds to be shared out: up to `must_us` to the
 * reason why the server was asked, then up to `busy_us` to the link, and the
 * rest to a server that is away or slow. Of one that is away nothing goes to
 * the link.
 */
struct waits_split {
	enum waits_cause why;
	uint64_t sum_us, must_us, busy_us;
	bool away;
};
void waits_share(const struct waits_split *s, uint64_t us[WAITS_CAUSES]);

#endif
