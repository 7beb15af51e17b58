/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of a change whose reply was lost, where the server's reply
 * cache may not know a repeat of it (docs/CONTRACT.md, "Changes").
 *
 * Repeated blindly, it may fail because its first try succeeded, or undo what
 * somebody else did meanwhile: an RMDIR would remove the lock directory of the
 * next holder. So the proxy looks first (RFC 1813 section 4.6 warns of both).
 * It answers success only where the identity of an object proves it, one that
 * was known before the change was first sent. An object that a change makes
 * has no such identity: whether MKDIR made the directory or somebody else did
 * cannot be told, and its NFS3ERR_EXIST stays.
 */
#ifndef FOREFETCH_POSTCHECK_H
#define FOREFETCH_POSTCHECK_H

#include <stdbool.h>

#include "nfsproto/nfs_proc.h"
#include "svc/drc.h"

struct caches;
struct svc_rqst;

/* The object that a change is about, as the caches know it now, before the
 * change is sent; `key` 0: not known. */
struct drc_object postcheck_object(const struct caches *c,
    const struct nfs_proc *proc, const union nfs_args *args);

/*
 * Look at the state before rqst's change is repeated. Ends in svc_repeat() or
 * svc_settle(), later. False where nothing can be found out that way: the
 * change is to be repeated now.
 */
bool postcheck_start(struct svc_rqst *rqst);

/* Whether these results of a repeat in doubt may stem from the call's own
 * first success. */
bool postcheck_ambiguous(const struct nfs_proc *proc,
    const union nfs_args *args, const union nfs_res *res);

#endif
