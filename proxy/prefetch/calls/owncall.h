/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call of the proxy's own: one that no client sent in this form, to fetch
 * something ahead, to read a file in pieces, or to find something out.
 *
 *	arguments ─▶ owncall_send() ─▶ fetch ─▶ server
 *	                                          │
 *	owner ◀─ on_reply: decoded, checked ◀─────┘
 *	  └─▶ owncall_learn() ─▶ caches
 *
 * The owner embeds the struct, and keeps it and what `args` points to until
 * on_reply() or fetch_cancel().
 */
#ifndef FOREFETCH_OWNCALL_H
#define FOREFETCH_OWNCALL_H

#include "upstream/fetch.h"
#include "upstream/reply.h"

struct caches;

struct owncall {
	struct fetch_waiter waiter;
	const struct nfs_proc *proc;
	union nfs_args args;
	uint32_t cred_id; /* caches_cred() */
	bool alone;       /* as upstream_request.alone */
	/* The call is over and its struct free again. `res` is NULL unless
	 * `kind` is REPLY_RESULTS. */
	void (*on_reply)(struct owncall *c, enum reply_kind kind,
	    const union nfs_res *res, const struct upstream_result *up);
};

/*
 * Encode the arguments into `buf` and send them under `cred`; both are kept
 * by the owner like the call itself. `about` says what others may wait for
 * (fetch.h); NULL: nobody shall. False where they do not fit into `size` bytes
 * or there is no memory; then on_reply() is not called.
 */
bool owncall_send(struct owncall *c, struct fetch *f,
    const struct rpc_cred *cred, const struct fetch_about *about, void *buf,
    size_t size);

/* Tell the caches the results (learn.h). `ahead`: only a prediction asked for
 * them; false for what a client or a user asked for, and so for a walk of warm
 * or pin, although its calls are sent ahead, too. */
void owncall_learn(const struct owncall *c, struct caches *caches,
    const union nfs_res *res, const struct upstream_result *up, uint64_t now_us,
    bool ahead);

#endif
