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

/* All bits: the server is always asked for these, so that its answer covers
 * whatever is asked later. */
enum { ACCESS_ALL = 0x3f };

/* The rights that one credential was granted for one node. Times are those at
 * which calls were sent; 0: never. */
struct grant {
	slab_ref next;
	uint32_t cred;
	uint64_t access_us : 48; /* ACCESS was answered */
	uint64_t known : 8;      /* bits that were asked */
	uint64_t given : 8;
	uint64_t any_us : 48; /* any successful reply about the handle */
	uint64_t own_us : 48; /* READ of a file, LOOKUP in a directory */
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

struct accesscache *accesscache_new(struct slab *slab, struct attrcache *ac);
void accesscache_free(struct accesscache *xc);

/* NULL where nothing is known. */
const struct grant *accesscache_find(
    const struct accesscache *xc, const struct node *node, uint32_t cred);
void accesscache_set_access(struct accesscache *xc, struct node *node,
    uint32_t cred, uint32_t asked, uint32_t given, uint64_t sent_us);
/* Any successful reply; `own` where it was a READ or LOOKUP. */
void accesscache_set_answered(struct accesscache *xc, struct node *node,
    uint32_t cred, bool own, uint64_t sent_us);
/* The server refused this credential: what it gave before is over. */
void accesscache_refused(
    struct accesscache *xc, struct node *node, uint32_t cred);
/* The object was changed by others, and perhaps who may do what with it. All
 * that is kept is who was told of it. */
void accesscache_changed(struct accesscache *xc, struct node *node);
/* A grant as it was saved. */
void accesscache_load(
    struct accesscache *xc, struct node *node, const struct grant *g);
/* All of a node's. */
void accesscache_drop(struct accesscache *xc, struct node *node);
size_t accesscache_count(const struct accesscache *xc);

#endif
