/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns the server's replies into what the caches keep.
 *
 * Everything that the caches know comes in here, whoever asked for it:
 * attributes of every reply, names, rights, data, and what a change of our own
 * leaves good (docs/CONTRACT.md). Whoever sends a call (svc/, prefetch/, warm/)
 * hands its reply to learn_reply() before anybody else looks at it. After each
 * of these functions nodes and all that hangs on them may be gone.
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

/* One reply that was decoded and checked (reply.h). It belongs to the caller,
 * like all that it points to; the caches copy, or take a reference to `hold`.
 */
struct learn {
	struct caches *caches;
	const struct nfs_proc *proc;
	const union nfs_args *args;
	const union nfs_res *res;
	const struct xdr_view *body; /* the results as they came */
	/* The buffer that keeps `body`; NULL: the data is copied. */
	struct rbuf *hold;
	/* caches_cred(); 0: rights and listings are not kept. */
	uint32_t cred;
	/* For MNT only: to whom it was answered. */
	const struct cred_key *cred_key;
	/* Only a prediction asked for this, and no client yet: data is kept as
	 * DATACACHE_PREFETCHED. False for walks of warm and pin. */
	bool ahead;
	bool told;              /* the reply goes to a client as it is */
	struct machine machine; /* the machine that the reply is for */
	uint64_t sent_us;       /* when the call was first sent */
	uint64_t again_us; /* time to have the bytes again; see datacache_add */
	uint64_t now_us;
};

/* Learns all that a reply says, errors included. Procedures without a status,
 * such as NULL, teach nothing. */
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
	uint64_t flushes;            /* caches.flushes when asked */
	uint32_t cred;               /* caches_cred() of whoever wants it */
	bool ahead;
};

/* Returns the handle, good for as long as the struct is there. */
static inline nfs3_fh learn_shared_fh(const struct learn_shared *s)
{
	return (nfs3_fh){.len = s->fh_len, .data = s->fh};
}

/* Notes the node's version and times before another machine's data is asked
 * for; `cred` and `ahead` are the caller's to set. False where nothing may be
 * asked for: the version is not known, or too young to tell a later change. */
bool learn_shared_begin(
    struct learn_shared *s, struct caches *c, const struct node *node);
/* Keeps bytes of a file, as a copy. False where they were refused, or there was
 * no room for them. */
bool learn_shared_data(const struct learn_shared *s, uint64_t offset,
    const void *data, uint32_t len);
/* Keeps a complete listing: the results of READDIR or READDIRPLUS from the
 * first entry on, without attributes; the caller has checked them. False where
 * it was refused. */
bool learn_shared_listing(const struct learn_shared *s,
    const struct nfs_proc *proc, const union nfs_res *res);

/*
 * Says that the effect of a change of our own is not known: no reply will come,
 * or it says nothing (`res` may be NULL). Forgets all that it may have touched.
 */
void learn_unknown(const struct learn *l);

#endif
