/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates: what changed between two samples, a second. */
#ifndef FOREFETCH_TOP_RATE_H
#define FOREFETCH_TOP_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control.pb-c.h"

/* Of a server, since the daemon started. */
struct top_totals {
	uint64_t calls;          /* of clients */
	uint64_t client_bytes;   /* to clients, in replies */
	uint64_t link_bytes;     /* from and to the server */
	uint64_t ahead_bytes;    /* of these: replies to calls ahead */
	uint64_t received_bytes; /* all replies of the server */
	uint64_t hits, misses;   /* of the caches */
	uint64_t saved_us;       /* of waiting that clients were spared */
	uint64_t waited_us;      /* time to reply, of all clients' calls */
	/* Predictions by what became of them. */
	uint64_t used, late, unused, dropped;
};

void top_totals_read(const Forefetch__ServerStats *srv, struct top_totals *out);

/* All a second, but for the shares. */
struct top_rates {
	bool known;     /* else the others are 0 */
	double seconds; /* between the samples */
	double calls, client_bytes, link_bytes, ahead_bytes;
	double hits, misses;
	double saved_s; /* seconds of waiting that clients were spared */
	double waited_s;
	double used, late, unused, dropped;
	double hit_share;   /* -1: nothing was asked of the caches */
	double ahead_share; /* of what came over the link; -1: nothing did */
};

/* Not known where a counter has gone back, since they began anew, or no time
 * has passed. */
void top_rates_find(const struct top_totals *then, const struct top_totals *now,
    double seconds, struct top_rates *out);

/* Of a mount. */
struct top_mount_rates {
	bool known;
	double calls, bytes;
	double hit_share; /* -1: there were no calls but changes */
};

void top_mount_rates_find(const Forefetch__MountUse *then,
    const Forefetch__MountUse *now, double seconds,
    struct top_mount_rates *out);

#endif
