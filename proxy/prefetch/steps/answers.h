/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access control lists and symbolic links, ahead: no reply to READDIRPLUS has
 * them. `ls -l` asks for that of one file after another, and so do `cp -a` and
 * rsync. On a distant server each of these calls costs a round trip.
 *
 *	GETACL, GETACL ─▶ a run through a directory ─▶ GETACL, or READLINK, of
 *	of two files      (a job of the queue)         the next in its listing
 *
 * How many are asked for grows with how many the client has asked for. Answers
 * that are kept already (answercache.h) are passed over.
 */
#ifndef FOREFETCH_ANSWERS_H
#define FOREFETCH_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsproto/nfs_proc.h"

struct answers;
struct credential;
struct node;
struct steps_params;

/* All that it is given outlives it. NULL without memory. */
struct answers *answers_new(const struct steps_params *p);
/* Forgets jobs, and calls under way. NULL is allowed. */
void answers_free(struct answers *as);

/* Whether calls of the procedure are of interest here. */
bool answers_has(const struct nfs_proc *proc);
/* A client has read some of the listing of the directory. */
void answers_listed(struct answers *as, struct credential *cred,
    const struct node *dir, uint64_t now_us);
/* A client got a good reply to such a call about the object. `mask` is that of
 * a GETACL (GETACL3args); else 0. */
void answers_told(struct answers *as, struct credential *cred,
    struct node *node, uint32_t mask, uint64_t now_us);
/* Ends jobs whose clients have not gone on for some seconds: while there is a
 * job, the pump looks often whether the server can be asked. */
void answers_age(struct answers *as, uint64_t now_us);

#endif
