/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of one server's directories, absent ones too: (directory, name) to
 * node. A name counts for its directory's generation only; "." and ".." are
 * not kept, since the one needs no asking and the other is not bound to the
 * directory's version.
 */
#ifndef FOREFETCH_NAMECACHE_H
#define FOREFETCH_NAMECACHE_H

#include "cache/attrcache.h"
#include "cache/contract.h"

struct namecache;

struct dentry {
	slab_ref next;
	slab_ref dir;
	slab_ref child; /* 0: there is no such name */
	uint32_t generation;
	uint64_t sent_us : 48;
	uint64_t len : 8;
	uint64_t flags : 8;
	char name[];
};

struct namecache *namecache_new(struct slab *slab, struct attrcache *ac);
void namecache_free(struct namecache *nc);

/* The entry of a name, of whatever generation; or NULL. */
struct dentry *namecache_find(
    struct namecache *nc, const struct node *dir, const nfs3_name *name);
/* Returns the generation that the entry is bound to, and whether the binding is
 * firm. */
struct binding dentry_binding(const struct dentry *d);
/* Its node, or NULL where it is absent or the node is of no use any more. */
struct node *dentry_child(const struct namecache *nc, const struct dentry *d);

/* Bind a name in the directory's generation. `child` 0: absent. */
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

/* The clock's hand goes on until a name was given up, or for `*steps` buckets,
 * which are taken off. `*child`: whose name it was, or NULL. */
bool namecache_evict(struct namecache *nc, size_t *steps, struct node **child);
bool namecache_each(struct namecache *nc, size_t bucket,
    void (*cb)(void *arg, const struct dentry *d), void *arg);
size_t namecache_count(const struct namecache *nc);
size_t namecache_bytes(const struct namecache *nc);

#endif
