/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last resort for a change that was repeated.
 *
 * A change whose reply was lost is sent again, and the server's reply cache
 * answers it as it did before. Where that cache can't have known the call
 * (another source port, a server that was restarted), the second execution
 * fails because the first one succeeded: MKDIR finds the directory, REMOVE
 * finds nothing. Then the state is looked at, and an error becomes success
 * if the state is the one that was asked for (RFC 1813 section 4.6 warns of
 * exactly this).
 */
#ifndef FOREFETCH_POSTCHECK_H
#define FOREFETCH_POSTCHECK_H

#include <stdbool.h>

#include "nfs_proc.h"

struct svc_rqst;

/* Whether these results may stem from the call's own first success. */
bool postcheck_wanted(const struct nfs_proc *proc, const union nfs_args *args,
    const union nfs_res *res);

/* Look at the state and answer the request, by success or by `res`. */
void postcheck_start(struct svc_rqst *rqst, const union nfs_res *res);

#endif
