/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps names of one server's directories, absent ones too, to nodes:
 * (directory, name) to node. A name counts for its directory's generation only;
 * "." and ".." are not kept, since the one needs no asking and the other is not
 * bound to the directory's version.
 */
#ifndef FOREFETCH_NAMECACHE_H
#define FOREFETCH_NAMECACHE_H

#include "cache/attrcache.h"
#include "cache/contract.h"

struct namecache;

/* One name, as far as it is known; the caches' own, an item of a slab. */
struct dentry {
	/* The next name of its bucket (reftab.h). */
	slab_ref next;
	slab_ref dir;
	/* Its node, which the name holds; 0: there is no such name. */
	slab_ref child;
	/* The directory's generation that it counts for. */
	uint32_t generation;
	/* When the call was sent that brought it; 0: a guess, which no answer
	 * rests on. */
	uint64_t sent_us : 48;
	uint64_t len : 8;
	uint64_t flags : 8;
	char name[];
};

/* Makes the names of one server's directories, which lie in `slab`; both
 * outlive it. NULL without memory. */
struct namecache *namecache_new(struct slab *slab, struct attrcache *ac);
/* Frees the table; the names go with the slab. NULL is allowed. */
void namecache_free(struct namecache *nc);

/* Finds the entry of a name, of whatever generation, and marks it as used; or
 * NULL. It is good until something is learned. */
struct dentry *namecache_find(
    struct namecache *nc, const struct node *dir, const nfs3_name *name);
/* Returns the generation that the entry is bound to, and whether the binding is
 * firm. */
struct binding dentry_binding(const struct dentry *d);
/* Returns the node that the name leads to, or NULL where it is absent or the
 * node is of no use any more. */
struct node *dentry_child(const struct namecache *nc, const struct dentry *d);

/* Binds a name in the directory's present generation, by a call that was sent
 * at `sent_us`; `child` NULL: the name is absent. Without memory, and for "."
 * and "..", nothing is bound. */
void namecache_bind(struct namecache *nc, struct node *dir,
    const nfs3_name *name, struct node *child, uint64_t sent_us, bool firm);
/* The same, as an answer has it to a call that was sent at `sent_us` and
 * changed nothing. What is known is kept where it is from later: another call's
 * answer, or the server's word that what the name led to is stale. */
void namecache_bind_answer(struct namecache *nc, struct node *dir,
    const nfs3_name *name, struct node *child, uint64_t sent_us, bool firm);
/* Forget it: known neither as present nor as absent. */
void namecache_forget(
    struct namecache *nc, const struct node *dir, const nfs3_name *name);

/* Moves the clock's hand on until a name was given up, or for `*steps` buckets,
 * which are counted down. `*child` gets the node that the name led to, or NULL.
 * Returns whether one was given up. */
bool namecache_evict(struct namecache *nc, size_t *steps, struct node **child);
/* Calls `cb` for all names of one bucket, counted from 0; false behind the last
 * bucket. `cb` must not change them. */
bool namecache_each(struct namecache *nc, size_t bucket,
    void (*cb)(void *arg, const struct dentry *d), void *arg);
/* How many names there are, and the bytes of the table. */
size_t namecache_count(const struct namecache *nc);
size_t namecache_bytes(const struct namecache *nc);

#endif
