/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls ahead: what wants and walks send. Each is paid for from the budget
 * (budget.h), is counted, and comes back to whoever sent it.
 */
#ifndef FOREFETCH_FLIGHT_H
#define FOREFETCH_FLIGHT_H

#include <sys/queue.h>

#include "base/metrics.h"
#include "prefetch/calls/owncall.h"

struct flight;
struct pf_cred;
struct prefetch;

/* Those of one sender. */
struct flights {
	struct prefetch *pf;
	LIST_HEAD(flight_list, flight) list;
	unsigned n;
	enum metrics_counter calls, bytes; /* what they count in */
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
	struct pf_cred *cred;
	uint64_t bytes; /* that are reserved for the reply */
	uint64_t sent_us;
	bool asked; /* by somebody: it does not count in hold.h */
	char fh[NFS3_FHSIZE_MAX];
	/* The longest arguments are MNT's: a path and its length. */
	_Alignas(8) char encoded[MNT3_PATH_MAX + 8];
};

/* A zeroed struct of `size` bytes that begins with a flight; NULL without
 * memory. */
void *flight_new(struct flights *of, size_t size, struct pf_cred *cred,
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
