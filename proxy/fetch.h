/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one table of what is being asked of the server.
 *
 * Everything that the proxy wants from a server, on a client's behalf or on
 * its own, is a flight in this table with waiters. A call joins a flight
 * that asks the same with the same credential and that was not sent yet: so
 * no answer rests on a call sent before the request came in, whatever the
 * consistency mode.
 */
#ifndef FOREFETCH_FETCH_H
#define FOREFETCH_FETCH_H

#include <stdbool.h>
#include <sys/queue.h>

#include "upstream.h"

struct fetch;
struct fetch_flight;
struct fetch_waiter;

struct fetch_ops {
	/* The call goes out; only the waiter that began the flight hears. */
	void (*on_send)(
	    struct fetch_waiter *w, const struct upstream_sent *sent);
	/* The waiter is free again when this is called. */
	void (*on_reply)(
	    struct fetch_waiter *w, const struct upstream_result *res);
};

/* Lies in whoever waits. */
struct fetch_waiter {
	TAILQ_ENTRY(fetch_waiter) link;
	struct fetch_flight *flight; /* NULL while it waits for nothing */
	const struct fetch_ops *ops;
};

struct fetch *fetch_new(
    struct upstream *nfs, struct upstream *mount, struct metrics *metrics);
/* Waiters are forgotten without a word. */
void fetch_free(struct fetch *f);

/*
 * Ask the server. The first waiter of a flight keeps what the request points
 * to until the reply. 0 or -ENOMEM.
 */
int fetch_start(struct fetch *f, const struct upstream_request *req,
    struct fetch_waiter *w);

/*
 * Wait no longer. False where a change is on its way, or where others wait for
 * what rests on what this waiter keeps: it hears the reply then all the same.
 */
bool fetch_cancel(struct fetch *f, struct fetch_waiter *w);

/*
 * The waiter's call was sent and runs its course, but is not repeated any
 * more: what the request points to may go. It hears the reply, or one without
 * a record where none will come; perhaps before this returns.
 */
void fetch_abandon(struct fetch_waiter *w);

/* Flights that are not answered yet. */
unsigned fetch_in_flight(const struct fetch *f);

#endif
