/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls ahead: what wants and walks send. Each is paid for from the budget
 * (budget.h), is counted, and comes back to whoever sent it.
 *
 *	calls ─┬─ flights of wants ─┬─ flight
 *	       │                    └─ flight
 *	       └─ flights of warm ──── flight
 */
#ifndef FOREFETCH_FLIGHT_H
#define FOREFETCH_FLIGHT_H

#include <sys/queue.h>

#include "base/metrics.h"
#include "prefetch/calls/owncall.h"

struct calls;
struct credential;
struct flight;
struct ground;

LIST_HEAD(flight_list, flight);

/* All that are under way to one server. NULL without memory; to be freed when
 * no sender has any left. */
struct calls *calls_new(struct ground *g);
void calls_free(struct calls *c);
unsigned calls_count(const struct calls *c);
/* The one sent last; the others follow by `under_way`. NULL: there is none. */
const struct flight *calls_first(const struct calls *c);

/* Those of one sender. */
struct flights {
	struct calls *calls;
	struct flight_list list;
	unsigned n;
	enum metrics_counter sent, bytes; /* what they count in */
	/* As owncall.on_reply. The flight is freed when this returns. */
	void (*on_reply)(struct flight *fl, enum reply_kind kind,
	    const union nfs_res *res, const struct upstream_result *up,
	    uint64_t now_us);
	/* A flight is about to be freed, after its reply or without one. */
	void (*on_end)(struct flight *fl);
};

/* The first member of the sender's own struct. */
struct flight {
	LIST_ENTRY(flight) link;
	LIST_ENTRY(flight) under_way; /* of all senders */
	struct flights *of;
	struct owncall call;
	struct credential *cred;
	uint64_t bytes; /* that are reserved for the reply */
	uint64_t sent_us;
	bool asked; /* by somebody: it does not count in hold.h */
	char fh[NFS3_FHSIZE_MAX];
	/* The longest arguments are MNT's: a path and its length. */
	_Alignas(8) char encoded[MNT3_PATH_MAX + 8];
};

/* A zeroed struct of `size` bytes that begins with a flight; NULL without
 * memory. */
void *flight_new(struct flights *of, size_t size, struct credential *cred,
    const struct nfs_proc *proc);
/* Copies `args` and the handle that they begin with (MNT: none); other views
 * in them must last until the end of the flight. */
void flight_set_args(struct flight *fl, const union nfs_args *args);
/*
 * Send it, for a reply of `bytes` without headers. `about` may be NULL
 * (fetch.h). False, and it is freed, where there is no memory.
 */
bool flight_send(struct flight *fl, const struct fetch_about *about,
    uint64_t bytes, uint64_t now_us);
/* Forget them all, without a reply. */
void flights_free(struct flights *of);

#endif
