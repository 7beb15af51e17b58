/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides what to do with a change whose reply was lost, where the server's
 * reply cache may not know a repeat of it (docs/CONTRACT.md, "Changes").
 *
 * Repeated blindly, it may fail because its first try succeeded, or undo what
 * somebody else did meanwhile: an RMDIR would remove the lock directory of the
 * next holder (RFC 1813 section 4.5 warns of such repeats). So the proxy looks
 * first. It answers success only where the identity of an object proves it, one
 * that was known before the change was first sent. An object that a change
 * makes has no such identity: whether MKDIR made the directory or somebody else
 * did cannot be told, and its NFS3ERR_EXIST stays.
 */
#ifndef FOREFETCH_DOUBT_H
#define FOREFETCH_DOUBT_H

#include <stdbool.h>

#include "nfsproto/nfs_proc.h"
#include "svc/drc.h"

struct caches;
struct svc_rqst;

/* Returns the object that a change is about, as the caches know it before the
 * change is sent; `key` is 0 where they do not. */
struct drc_object doubt_object(const struct caches *c,
    const struct nfs_proc *proc, const union nfs_args *args);

/* The state of a SETATTR that was sent, as far as the object's present
 * attributes tell. */
enum doubt_set {
	DOUBT_SET_DONE, /* the attributes are as asked for */
	/* They are not, and a repeat undoes nothing that anybody did. */
	DOUBT_SET_NOT_DONE,
	/* The values that it would overwrite have changed since. */
	DOUBT_SET_UNKNOWN,
};

/* Compares the attributes `is`, which the server tells now, with what was asked
 * for and with the object as it was. `was->key` must be set, or the call have a
 * guard (RFC 1813 section 3.3.2). */
enum doubt_set doubt_set_found(
    const SETATTR3args *asked, const struct drc_object *was, const fattr3 *is);

/*
 * Says what to do with a repeat of the request's change that is in doubt, as
 * upstream_call_ops.on_doubt. True where it is not to be repeated now: then it
 * is looked into, and repeated or answered later, or held until its client
 * comes back (doubt_claim()) or svc_expire() forgets it.
 */
bool doubt_begin(struct svc_rqst *rqst);
/* Returns for how many microseconds the look at it has waited for a connection;
 * 0 where none waits. */
uint64_t doubt_waited_us(const struct svc_rqst *rqst, uint64_t now_us);
/* The client of a change that is held asks again: it is looked into, or
 * repeated. */
void doubt_claim(struct svc_rqst *rqst);

/* Whether these results of a repeat in doubt may stem from the call's own
 * first success. */
bool doubt_ambiguous(const struct nfs_proc *proc, const union nfs_args *args,
    const union nfs_res *res);
/* Counts and logs that a change in doubt is answered by such an error. The
 * error stays: if it were made a success, two clients might be told that they
 * hold one lock. */
void doubt_note_left(const struct svc_rqst *rqst, nfsstat3 status);

#endif
