/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long calls of clients waited in the last seconds, by who waited and for
 * what; for `forefetch top`. Told of calls that waited, and of no others. It
 * knows no clock, and allocates nothing after waits_new().
 */
#ifndef FOREFETCH_WAITS_H
#define FOREFETCH_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum waits_cause {
	WAITS_NONE, /* it was not found out yet */
	/* Why the server was asked, for as long as its answer takes over a link
	 * that is idle: */
	WAITS_NOT_CACHED,
	WAITS_EXPIRED, /* it was cached, and confirmed too long ago */
	WAITS_STRICT,  /* it was cached, and `strict` has each use confirmed */
	WAITS_CHANGE,  /* changes, WRITE and COMMIT go through */
	WAITS_AHEAD,   /* it was being fetched ahead already */
	/* Why that took longer: */
	WAITS_BUSY, /* other replies were on the link */
	WAITS_SLOW, /* the server, or the link, took its time */
	WAITS_AWAY, /* the connection was lost */
	WAITS_DISK, /* the cache's disk */
	WAITS_CAUSES
};

enum {
	WAITS_SPAN_S = 10,
	/* How many who waited are told apart. */
	WAITS_ACTORS = 64,
	WAITS_CLIENT_MAX = 48, /* an address, without the port */
};

struct waits;

/* Who waits, as the predictor tells actors apart. */
struct waits_actor {
	uint64_t client; /* of the address, hashed */
	uint32_t uid;
	const char *address; /* copied; a port at its end is left out */
};

/* Calls that one actor waited for in the last WAITS_SPAN_S, and for how long.
 */
struct waits_row {
	uint32_t uid;
	char address[WAITS_CLIENT_MAX];
	uint64_t calls; /* that waited */
	uint64_t us[WAITS_CAUSES];
	uint64_t sum_us; /* of all causes */
};

/* NULL and errno without memory; 40 KiB. */
struct waits *waits_new(void);
void waits_free(struct waits *w); /* NULL is allowed */
/* NULL without memory. */
struct waits *waits_copy(const struct waits *w);

/* A call of the actor waited so long for each cause. Of more than WAITS_SPAN_S
 * the end counts. In place of the actor that has waited longest ago, if there
 * are too many. */
void waits_add(struct waits *w, const struct waits_actor *who,
    const uint64_t us[WAITS_CAUSES], uint64_t now_us);

/* Those that waited, as they came; how many there are, WAITS_ACTORS at most. */
size_t waits_rows(const struct waits *w, uint64_t now_us,
    struct waits_row rows[WAITS_ACTORS]);

/* "not cached", …; static. */
const char *waits_cause_name(enum waits_cause cause);

/*
 * Shares out a wait of `sum_us`: `must_us` for why the server was asked, then
 * `busy_us` for the link, and the rest for a server that is away or slow.
 */
struct waits_split {
	enum waits_cause why;
	uint64_t sum_us, must_us, busy_us;
	bool away;
};
void waits_share(const struct waits_split *s, uint64_t us[WAITS_CAUSES]);

#endif
