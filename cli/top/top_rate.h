/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates: what changed between two samples, a second. */
#ifndef FOREFETCH_TOP_RATE_H
#define FOREFETCH_TOP_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control.pb-c.h"

/* Counts of a server since the daemon started. All members are of one type
 * (top_rate.c takes them as an array). */
struct top_totals {
	/* Calls of clients that were answered. */
	uint64_t calls;
	uint64_t client_bytes; /* to clients, in replies */
	/* Bytes from and to the server, in calls and replies. */
	uint64_t link_bytes;
	uint64_t ahead_bytes;    /* of these: replies to calls ahead */
	uint64_t received_bytes; /* all replies of the server */
	uint64_t hits, misses;   /* of the caches */
	/* Microseconds of waiting that clients were spared
	 * (control/history.h). */
	uint64_t saved_us;
	/* Microseconds from call to reply, of all clients' calls. */
	uint64_t waited_us;
	/* Predictions by what became of them. */
	uint64_t used, late, unused, dropped;
};

/* Reads them out of the answer to stats. */
void top_totals_read(const Forefetch__ServerStats *srv, struct top_totals *out);

/* The rates of a server between two samples: all are per second, but for the
 * shares. */
struct top_rates {
	/* The rates are known; else the others are 0, and the shares -1. */
	bool known;
	/* Between the samples. */
	double seconds;
	double calls, client_bytes, link_bytes, ahead_bytes;
	double hits, misses;
	/* Seconds of waiting, in each second, that clients were spared. */
	double saved_s;
	/* Seconds that all clients together waited, in each second. */
	double waited_s;
	double used, late, unused, dropped;
	/* The share of the calls that caches are for; -1: there was none. */
	double hit_share;
	/* The share of the bytes that came over the link; -1: none did. */
	double ahead_share;
};

/* Rates between two readings that are `seconds` apart. Not known where a
 * counter has gone back, or no time has passed. */
void top_rates_find(const struct top_totals *then, const struct top_totals *now,
    double seconds, struct top_rates *out);

/* The rates of one mount between two samples. */
struct top_mount_rates {
	bool known;
	double calls, bytes;
	/* The share of the calls that change nothing; -1: there were no
	 * others. */
	double hit_share; /* -1: there were no calls but changes */
};

/* Finds the rates of one mount, as top_rates_find() does those of a server. */
void top_mount_rates_find(const Forefetch__MountUse *then,
    const Forefetch__MountUse *now, double seconds,
    struct top_mount_rates *out);

#endif
