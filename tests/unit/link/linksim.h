/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A link in virtual time: a first-in-first-out queue with a rate and a delay,
 * which demand and speculation share. Replies come in order, as from TCP.
 */
#ifndef FOREFETCH_LINKSIM_H
#define FOREFETCH_LINKSIM_H

#include "base/histogram.h"
#include "link/budget.h"
#include "link/linkest.h"

#include <stdbool.h>
#include <stdint.h>

enum { LINKSIM_CALLS = 4096, LINKSIM_DEMAND = 64 };

struct linksim_call {
	struct linkest_mark mark;
	uint64_t bytes, arrived_bytes;
	uint64_t begin_us; /* when the link begins with its reply */
	uint64_t when_us;  /* when it comes to the queue, or its reply to the
			      client */
	bool speculative;
	struct linksim_call *next; /* in the queue, or on the way */
};

struct linksim_list {
	struct linksim_call *head, **tail;
};

struct linksim {
	struct linkest *le;
	struct budget *budget;
	uint64_t now_us;
	uint64_t seed;

	uint64_t rate_Bps;
	uint64_t delay_us;       /* there and back */
	uint64_t jitter_us;      /* up to so much more, evenly */
	unsigned spike_permille; /* so many replies are spike_us late */
	uint64_t spike_us;
	uint64_t server_us; /* of the server for a call, one after the other */

	/* Demand: so many callers, each with one call at a time. */
	unsigned demand;
	uint64_t think_us; /* on average, between reply and next call */
	uint64_t demand_min, demand_max;
	unsigned tiny_percent; /* so many calls have replies of 120 bytes */
	uint64_t demand_at_us[LINKSIM_DEMAND]; /* UINT64_MAX: waits */

	bool speculate;
	uint64_t spec_max; /* no call asks for more; 0: a unit */
	bool spec_all;     /* each asks for spec_max, be it more than a unit */
	double spec_p;     /* how likely its replies are used */
	uint64_t spec_at_us;

	/* If not NULL, called after every event. */
	void (*check)(struct linksim *s);
	void *arg;

	struct linksim_list up, queue, down;
	struct linksim_call *serving;
	uint64_t served_us;
	uint64_t server_at_us; /* when the server has answered all calls */
	uint64_t last_down_us;
	struct linksim_call calls[LINKSIM_CALLS];
	struct linksim_call *spare;

	struct histogram added; /* us a demand reply waits for speculation */
	uint64_t demand_bytes, spec_bytes; /* come, on the wire */
	uint64_t over_max_bytes; /* speculation in flight beyond the limit */
};

/* With 20 Mb/s, 40 ms and no traffic; cap as in the configuration. What was
 * simulated before has ended; at first it is zeros. */
void linksim_init(struct linksim *s, unsigned percent, uint64_t cap_bits);
void linksim_fini(struct linksim *s);
void linksim_link(struct linksim *s, uint64_t rate_bits, uint64_t delay_us);
void linksim_demand(
    struct linksim *s, unsigned callers, uint64_t think_us, uint64_t max);
void linksim_run(struct linksim *s, uint64_t us);

#endif
