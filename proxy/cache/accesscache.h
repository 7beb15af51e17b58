/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rights, as the server gave them: for each node and credential what ACCESS
 * answered, and which calls were answered at all. Nothing is concluded from
 * mode bits, nor from what another credential may do.
 */
#ifndef FOREFETCH_ACCESSCACHE_H
#define FOREFETCH_ACCESSCACHE_H

#include "cache/attrcache.h"

struct accesscache;

/* All bits of ACCESS (RFC 1813 section 3.3.4). The server is always asked for
 * all of them, so that its answer covers whatever is asked later. */
enum { ACCESS_ALL = 0x3f };

/* The rights that one credential was granted for one node. Times are those at
 * which calls were sent; 0: never. A right is firm if whatever could take it
 * away later would show at the object, as for names (attrcache_firm()). */
struct grant {
	slab_ref next;
	uint32_t cred;
	/* When the ACCESS was sent that was answered last; or, where `known` is
	 * 0, the call that the server refused. */
	uint64_t access_us : 48;
	uint64_t known : 8; /* the bits that it asked for */
	/* The bits that it was given. */
	uint64_t given : 8;
	/* The same of any call about the handle that succeeded. */
	uint64_t any_us : 48;
	uint64_t access_firm : 1;
	uint64_t any_firm : 1;
	uint64_t own_firm : 1;
	/* The same of a READ of the file, or a LOOKUP in the directory. */
	uint64_t own_us : 48;
};

/* Whether the server has let the credential search the directory. */
static inline bool grant_search(const struct grant *g)
{
	return g && ((g->known & g->given & ACCESS3_LOOKUP) || g->own_us != 0);
}

/* Whether the server has said that the credential may read it. */
static inline bool grant_read(const struct grant *g)
{
	return g && (g->known & g->given & ACCESS3_READ);
}

/* Makes the grants of one server's nodes, which lie in `slab`; both outlive it.
 * NULL without memory. */
struct accesscache *accesscache_new(struct slab *slab, struct attrcache *ac);
/* Frees it; the grants go with the slab. NULL is allowed. */
void accesscache_free(struct accesscache *xc);

/* Finds what a credential was granted; NULL where nothing is known, and for 0.
 * It is good until something about the node is learned. */
const struct grant *accesscache_find(
    const struct accesscache *xc, const struct node *node, uint32_t cred);
/* Notes that ACCESS was answered: of the bits `asked`, the server gave `given`.
 * An answer to a call that was sent earlier than the one that is known does not
 * count. Returns false where it contradicts that one. Without memory nothing is
 * noted, here and below. */
bool accesscache_set_access(struct accesscache *xc, struct node *node,
    uint32_t cred, uint32_t asked, uint32_t given, uint64_t sent_us);
/* Notes that a call succeeded; `own` where it was a READ or LOOKUP. */
void accesscache_set_answered(struct accesscache *xc, struct node *node,
    uint32_t cred, bool own, uint64_t sent_us);
/* Forgets what the server gave this credential before, since it refused it in
 * answer to a call that was sent at `sent_us`. What it said to calls that were
 * sent before that one grants nothing, whenever it comes. */
void accesscache_refused(
    struct accesscache *xc, struct node *node, uint32_t cred, uint64_t sent_us);
/* Forgets rights, since others changed the object, and perhaps who may do what
 * with it. What stays is who was ever answered about the handle:
 * known_answered(). */
void accesscache_changed(struct accesscache *xc, struct node *node);
/* Takes a grant as it was saved. */
void accesscache_load(
    struct accesscache *xc, struct node *node, const struct grant *g);
/* Forgets all grants of a node. */
void accesscache_drop(struct accesscache *xc, struct node *node);
/* How many grants there are. */
size_t accesscache_count(const struct accesscache *xc);

#endif
