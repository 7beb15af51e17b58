/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to attrcache*.c: how the objects of a server lie in memory.
 *
 *	handle ─▶ node ─▶ profile ─▶ file system ─▶ changes of our own, by file
 *	           │      (type, mode, owner …: once for all that are alike)
 *	           └────▶ ext: its generation, and what hangs on it
 *
 * attrcache.c has nodes and who holds them, attrcache_apply.c what replies say
 * of them, attrcache_fsys.c profiles and file systems.
 */
#ifndef FOREFETCH_ATTRCACHE_PRIVATE_H
#define FOREFETCH_ATTRCACHE_PRIVATE_H

#include "base/reftab.h"
#include "base/srvclock.h"
#include "cache/attrcache.h"

enum {
	/* How many changed files a file system remembers; a power of two.
	 * Two files may need the same place; then everything that was
	 * confirmed before the change that is forgotten must be confirmed
	 * again. */
	CHANGES = 4096,
	/* Places by which handles that died are remembered; a power of two. */
	DEATHS = 1024,
};

/* Attributes that many objects share, stored once and counted. */
struct profile {
	slab_ref next;
	uint32_t users;
	uint32_t type;
	uint32_t mode;
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint32_t fsys; /* index */
	specdata3 rdev;
};

_Static_assert(sizeof(struct profile) == 40, "no padding: it is hashed");

/* A file that was changed through one handle: its other handles must be
 * confirmed again. */
struct change {
	uint64_t fileid;
	uint64_t us;
	slab_ref node;
};

struct fsys_slot {
	struct fsys fs; /* first: it is given out */
	struct srvclock clock;
	uint64_t floor_us; /* no change that was forgotten is younger */
	struct change *changes;
};

struct attrcache {
	struct slab *slab;
	struct reftab nodes;
	struct reftab profiles;
	struct fsys_slot **fsys;
	uint32_t nfsys;
	uint32_t *fsys_places; /* index + 1 by hash of fsid; 0: free */
	uint32_t fsys_room; /* of both: twice as many places; a power of two */
	uint32_t nchanges;  /* of them with a list of changes */
	uint32_t nback;     /* of them that got clock_back, and nobody asked */
	/* Nodes that are gone may have been changed no later than this. */
	uint64_t forgotten_us;
	size_t hand; /* of the clock: a bucket */
	/* Our wall clock less clock_now_us(), and when that was read last. */
	uint64_t wall_us, wall_read_us;
	/* When the server last called a handle stale: any, and by the hash of
	 * the handle. Two handles may share a place, and then answers that were
	 * on their way are not kept for the other one either. */
	uint64_t died_us;
	uint64_t deaths[DEATHS];
};

static inline struct profile *node_profile(
    const struct attrcache *ac, const struct node *node)
{
	return slab_ptr(ac->slab, node->profile);
}

static inline struct fsys_slot *node_slot(
    const struct attrcache *ac, const struct node *node)
{
	return node->profile ? ac->fsys[node_profile(ac, node)->fsys] : NULL;
}

static inline uint64_t time_ns(const nfstime3 *t)
{
	return t->seconds * UINT64_C(1000000000) + t->nseconds;
}

/* When the node was last changed by a call of our own, as far as is known. */
static inline uint64_t node_changed_us(
    const struct attrcache *ac, const struct node *node)
{
	const struct node_ext *x =
	    node->ext ? slab_ptr(ac->slab, node->ext) : NULL;
	uint64_t us = x ? x->changed_us : 0;

	return us > ac->forgotten_us ? us : ac->forgotten_us;
}

/* attrcache_apply.c: take them as the node's attributes; false without
 * memory. */
bool node_store(struct attrcache *ac, struct node *node, const fattr3 *a);
void node_forget_attrs(struct attrcache *ac, struct node *node);

/* attrcache_fsys.c */
uint64_t profile_hash(const struct reftab *t, const void *item);
/* One more user of the profile of such attributes; 0 without memory. */
slab_ref profile_get(struct attrcache *ac, const fattr3 *a);
/* One user less; 0: nothing is done. */
void profile_drop(struct attrcache *ac, slab_ref ref);

#endif
