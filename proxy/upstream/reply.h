/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes the server's reply to a call, and checks it against the arguments of
 * the call. Whoever sends a call reads its reply through here, because the
 * server is a peer that may send anything.
 */
#ifndef FOREFETCH_REPLY_H
#define FOREFETCH_REPLY_H

#include "upstream/upstream.h"

enum reply_kind {
	REPLY_NONE,      /* the call was given up, and no reply will come */
	REPLY_RPC_ERROR, /* RPC rejected the call, or could not carry it out
			  * (RFC 5531 section 9) */
	REPLY_MALFORMED, /* the results are no XDR, or break nfs_res_check() */
	REPLY_RESULTS,   /* `res` holds the results, whatever their status */
};

/* Decodes a reply to a call of `proc` with `args`. Fills `res` for
 * REPLY_RESULTS only; views in it point into the record, and are good as long
 * as that. */
enum reply_kind reply_decode(const struct upstream_result *up,
    const struct nfs_proc *proc, const union nfs_args *args,
    union nfs_res *res);

#endif
