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

#include <stdbool.h>
#include <stdint.h>

#include "cache/attrcache.h"
#include "datacache/datacache.h"
#include "nfsproto/nfs_proc.h"

struct caches;
struct cred_key;
struct node;
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
	bool told;              /* the reply goes to a client as it is */
	struct machine machine; /* that it is for */
	uint64_t sent_us;       /* when the call was first sent */
	uint64_t now_us;
};

void learn_reply(const struct learn *l);

/*
 * Data or a listing of another machine, which had it from the same server and
 * bound it for good to a version that this daemon knows, too. It says nothing
 * of attributes and rights, so it may be used like data that was cached before
 * they were confirmed. It is refused (false) if the version has changed
 * meanwhile, or may have been changed by a call of our own.
 */
struct learn_shared {
	struct caches *caches;
	uint8_t fh_len;
	char fh[NFS3_FHSIZE_MAX];    /* learn_shared_fh() */
	struct data_version version; /* caches_data_version() when asked */
	uint64_t confirmed_us;       /* attrcache_sent() when asked */
	uint64_t flushes;            /* how often all was forgotten, then */
	uint32_t cred;               /* caches_cred() of who wants it */
	bool ahead;
};

/* The handle, for as long as the struct is there. */
static inline nfs3_fh learn_shared_fh(const struct learn_shared *s)
{
	return (nfs3_fh){.len = s->fh_len, .data = s->fh};
}

/* Notes the node's version and times before another machine's data is asked
 * for; `cred` and `ahead` are the caller's to set. False where nothing may be
 * asked for: the version is not known, or too young to tell a later change. */
bool learn_shared_begin(
    struct learn_shared *s, struct caches *c, const struct node *node);
/* Bytes of a file, copied. */
bool learn_shared_data(const struct learn_shared *s, uint64_t offset,
    const void *data, uint32_t len);
/* A complete listing: the results of READDIR or READDIRPLUS from the first
 * entry on, without attributes; checked. */
bool learn_shared_listing(const struct learn_shared *s,
    const struct nfs_proc *proc, const union nfs_res *res);

/*
 * A change of our own whose effect is not known: no reply will come, or it says
 * nothing (`res` may be NULL). Everything that it may have touched is
 * forgotten.
 */
void learn_unknown(const struct learn *l);

#endif
