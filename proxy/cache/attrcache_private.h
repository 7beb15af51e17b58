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
	/* Places by which it is remembered when a file was told of from the
	 * cache; a power of two. */
	TELLINGS = 4096,
};

/* Attributes that many objects share, stored once and counted. */
struct profile {
	/* The next profile of its bucket (reftab.h). */
	slab_ref next;
	/* How many nodes have it; it goes with the last one. */
	uint32_t users;
	uint32_t type;
	uint32_t mode;
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint32_t fsys; /* its place in attrcache.fsys */
	specdata3 rdev;
};

_Static_assert(sizeof(struct profile) == 40, "no padding: it is hashed");

/* A file that a call of our own changed through one handle, and when that was
 * answered: its other handles, such as those of another export, must be
 * confirmed again. */
struct change {
	uint64_t fileid;
	uint64_t us;
	slab_ref node;
};

/* When the last request came in that was told of this file by a confirmation
 * older than itself. */
struct telling {
	uint64_t fileid;
	uint64_t us;
};

struct fsys_slot {
	struct fsys fs; /* first: it is given out */
	struct srvclock clock;
	/* The time of the youngest change that was forgotten. */
	uint64_t floor_us;
	struct change *changes;
};

struct attrcache {
	struct slab *slab;
	struct reftab nodes;
	struct reftab profiles;
	struct fsys_slot **fsys;
	uint32_t nfsys;
	/* Open addressing by hash of fsid: index in `fsys` + 1; 0: free. */
	uint32_t *fsys_places;
	/* Room in `fsys`, a power of two; `fsys_places` has twice as many. */
	uint32_t fsys_room;
	uint32_t nchanges; /* how many file systems have a list of changes */
	/* How many got clock_back since attrcache_take_clocks_back(). */
	uint32_t nback;
	/* The last change of our own to a node that is gone was answered no
	 * later than this: a node that is made anew knows nothing of it. */
	uint64_t forgotten_us;
	size_t hand; /* the clock's hand: the bucket that it stands at */
	/* Our wall clock less clock_now_us(), and when that was read last. */
	uint64_t wall_us, wall_read_us;
	/* When the server last called a handle stale: any, and by the hash of
	 * the handle. Two handles may share a place, and then answers that were
	 * on their way are not kept for the other one either. */
	uint64_t died_us;
	uint64_t deaths[DEATHS];
	/* When files were last told of from the cache, by the hash of their
	 * numbers. Of those that had to make room for others, only the latest
	 * time is kept. */
	struct telling tellings[TELLINGS];
	uint64_t told_floor_us;
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

/* When the node was last changed by a call of our own, as far as is known. */
static inline uint64_t node_changed_us(
    const struct attrcache *ac, const struct node *node)
{
	const struct node_ext *x =
	    node->ext ? slab_ptr(ac->slab, node->ext) : NULL;
	uint64_t us = x ? x->changed_us : 0;

	return us > ac->forgotten_us ? us : ac->forgotten_us;
}

/* attrcache_apply.c: stores attributes in the node; false without memory, and
 * then the node has none. */
bool node_store(struct attrcache *ac, struct node *node, const fattr3 *a);
/* Takes all attributes off the node. */
void node_forget_attrs(struct attrcache *ac, struct node *node);

/* attrcache_fsys.c */
uint64_t profile_hash(const struct reftab *t, const void *item);
/* Returns the profile of such attributes, with one more user; 0 without memory.
 */
slab_ref profile_get(struct attrcache *ac, const fattr3 *a);
/* Takes one user off the profile; nothing for 0. */
void profile_drop(struct attrcache *ac, slab_ref ref);

#endif
