/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies of the server to what the caches keep.
 *
 * Everything that the caches know comes in here, whoever asked for it:
 * attributes of every reply, names, rights, data, and what a change of our
 * own leaves good (docs/CONTRACT.md).
 */
#ifndef FOREFETCH_LEARN_H
#define FOREFETCH_LEARN_H

#include <stdint.h>

#include "nfsproto/nfs_proc.h"

struct caches;
struct cred_key;
struct rbuf;

/* One decoded and checked reply. */
struct learn {
	struct caches *caches;
	const struct nfs_proc *proc;
	const union nfs_args *args;
	const union nfs_res *res;
	const struct xdr_view *body; /* the results as they came */
	struct rbuf *hold;           /* keeps them; NULL: copy */
	uint32_t cred;               /* caches_cred(); 0: not to be kept for */
	const struct cred_key *cred_key; /* MNT only */
	bool ahead;                      /* nobody asked for it yet */
	uint64_t sent_us;                /* when the call was first sent */
	uint64_t now_us;
};

void learn_reply(const struct learn *l);

/*
 * A change of our own whose effect is not known: no reply will come, or it
 * says nothing (`res` may be NULL). What it may have touched is forgotten.
 */
void learn_unknown(const struct learn *l);

#endif
