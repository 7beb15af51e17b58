/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in a hash table by directory and name, as items of a slab. They are
 * given up like nodes: a clock's hand passes over those that were not used
 * since it passed before. A name holds both of its nodes, the directory and the
 * child, so neither goes before it. learn*.c bind names; known.c finds them.
 */
#include "cache/namecache.h"

#include <stdlib.h>
#include <string.h>

#include "base/reftab.h"
#include "hashing/hash_key.h"
#include "nfsproto/nfs3_object.h"

enum { AHEAD = 16 /* buckets that a walk has fetched into the CPU's cache */ };

enum dentry_flags {
	DENTRY_FIRM = 1,
	DENTRY_USED = 2,
};

struct namecache {
	struct slab *slab;
	struct attrcache *ac;
	struct reftab names;
	size_t hand;
};

static uint64_t name_hash(slab_ref dir, const char *name, size_t len)
{
	return hash_bytes(name, len, dir);
}

static uint64_t dentry_hash(const struct reftab *t, const void *item)
{
	const struct dentry *d = item;

	(void)t;
	return name_hash(d->dir, d->name, d->len);
}

struct namecache *namecache_new(struct slab *slab, struct attrcache *ac)
{
	struct namecache *nc = calloc(1, sizeof(*nc));

	if (!nc)
		return NULL;
	nc->slab = slab;
	nc->ac = ac;
	if (reftab_init(&nc->names, slab, dentry_hash))
		return nc;
	free(nc);
	return NULL;
}

void namecache_free(struct namecache *nc)
{
	if (!nc)
		return;
	reftab_clear(&nc->names);
	free(nc);
}

static struct dentry *find(const struct namecache *nc, slab_ref dir,
    const nfs3_name *name, slab_ref *ref)
{
	uint64_t hash = name_hash(dir, name->data, name->len);

	for (*ref = *reftab_head(&nc->names, hash); *ref != 0;
	     *ref = reftab_next(&nc->names, *ref)) {
		struct dentry *d = slab_ptr(nc->slab, *ref);

		if (d->dir == dir && d->len == name->len &&
		    memcmp(d->name, name->data, name->len) == 0)
			return d;
	}
	return NULL;
}

struct dentry *namecache_find(
    struct namecache *nc, const struct node *dir, const nfs3_name *name)
{
	slab_ref ref;
	struct dentry *d = find(nc, slab_ref_of(dir), name, &ref);

	if (d)
		d->flags |= DENTRY_USED;
	return d;
}

struct binding dentry_binding(const struct dentry *d)
{
	return (struct binding){.generation = d->generation,
	    .firm = d->flags & DENTRY_FIRM,
	    .sent_us = d->sent_us};
}

struct node *dentry_child(const struct namecache *nc, const struct dentry *d)
{
	struct node *n = d->child ? attrcache_node(nc->ac, d->child) : NULL;

	return n && !(n->flags & NODE_DEAD) ? n : NULL;
}

static void dentry_free(struct namecache *nc, slab_ref ref)
{
	struct dentry *d = slab_ptr(nc->slab, ref);
	slab_ref dir = d->dir, child = d->child;

	reftab_remove(&nc->names, ref, dentry_hash(&nc->names, d));
	slab_free(nc->slab, ref, offsetof(struct dentry, name) + d->len);
	if (child)
		attrcache_release(nc->ac, child);
	attrcache_release_dir(nc->ac, dir);
}

static struct dentry *dentry_new(
    struct namecache *nc, struct node *dir, const nfs3_name *name)
{
	struct node_ext *x = attrcache_make_ext(nc->ac, dir);
	slab_ref ref =
	    x ? slab_alloc(nc->slab, offsetof(struct dentry, name) + name->len)
	      : 0;
	struct dentry *d;

	if (!ref)
		return NULL;
	d = slab_ptr(nc->slab, ref);
	d->dir = slab_ref_of(dir);
	d->len = (uint8_t)name->len;
	memcpy(d->name, name->data, name->len);
	if (!reftab_insert(&nc->names, ref, dentry_hash(&nc->names, d))) {
		slab_free(
		    nc->slab, ref, offsetof(struct dentry, name) + name->len);
		return NULL;
	}
	x->nchildren++;
	return d;
}

static bool is_kept(const nfs3_name *name)
{
	return name->len > 0 && name->len <= NFS3_NAME_MAX &&
	       !nfs3_name_is_dots(name);
}

static void dentry_set(struct namecache *nc, struct dentry *d,
    const struct node *dir, slab_ref child, uint64_t sent_us, bool firm)
{
	slab_ref old = d->child;

	d->child = child;
	d->generation = attrcache_generation(nc->ac, dir);
	d->sent_us = TIME48(sent_us);
	d->flags = (firm ? DENTRY_FIRM : 0) | DENTRY_USED;
	if (d->child)
		attrcache_hold(nc->ac, d->child);
	if (old)
		attrcache_release(nc->ac, old);
}

void namecache_bind(struct namecache *nc, struct node *dir,
    const nfs3_name *name, struct node *child, uint64_t sent_us, bool firm)
{
	slab_ref ref;
	struct dentry *d = find(nc, slab_ref_of(dir), name, &ref);

	if (!is_kept(name))
		return;
	if (!d)
		d = dentry_new(nc, dir, name);
	if (d)
		dentry_set(
		    nc, d, dir, child ? slab_ref_of(child) : 0, sent_us, firm);
}

/* Whether what is known of the name is later than an answer to a call that was
 * sent at `sent_us`, which says otherwise. */
static bool is_later(const struct namecache *nc, const struct dentry *d,
    const struct node *dir, uint64_t sent_us)
{
	const struct node *was;
	nfs3_fh fh;

	if (d->generation == attrcache_generation(nc->ac, dir) &&
	    d->sent_us > TIME48(sent_us))
		return true;
	if (!d->child)
		return false;
	was = attrcache_node(nc->ac, d->child);
	fh = node_fh(was);
	return (was->flags & NODE_DEAD) &&
	       attrcache_has_died(nc->ac, &fh, sent_us);
}

void namecache_bind_answer(struct namecache *nc, struct node *dir,
    const nfs3_name *name, struct node *child, uint64_t sent_us, bool firm)
{
	slab_ref to = child ? slab_ref_of(child) : 0, ref;
	struct dentry *d = find(nc, slab_ref_of(dir), name, &ref);

	if (!is_kept(name))
		return;
	if (d && d->child != to && is_later(nc, d, dir, sent_us))
		return;
	/* A name that was only a guess (learn_change.c) says nothing. */
	if (d && d->child != 0 && d->child != to && d->sent_us != 0)
		attrcache_replaced(
		    nc->ac, attrcache_node(nc->ac, d->child), child, sent_us);
	if (!d)
		d = dentry_new(nc, dir, name);
	if (d)
		dentry_set(nc, d, dir, to, sent_us, firm);
}

void namecache_forget(
    struct namecache *nc, const struct node *dir, const nfs3_name *name)
{
	slab_ref ref;

	if (find(nc, slab_ref_of(dir), name, &ref))
		dentry_free(nc, ref);
}

bool namecache_evict(struct namecache *nc, size_t *steps, struct node **child)
{
	for (; *steps > 0; --*steps) {
		size_t at = nc->hand % nc->names.n;
		slab_ref ref = nc->names.buckets[at];

		for (; ref != 0; ref = reftab_next(&nc->names, ref)) {
			struct dentry *d = slab_ptr(nc->slab, ref);

			if (d->flags & DENTRY_USED)
				continue;
			*child = dentry_child(nc, d);
			dentry_free(nc, ref);
			return true;
		}
		/* The marks are taken away only after the bucket was
		 * searched, so that each name stays for a whole round of the
		 * hand. */
		for (ref = nc->names.buckets[at]; ref != 0;
		     ref = reftab_next(&nc->names, ref))
			((struct dentry *)slab_ptr(nc->slab, ref))->flags &=
			    (uint8_t)~DENTRY_USED;
		nc->hand = at + 1;
	}
	return false;
}

bool namecache_each(struct namecache *nc, size_t bucket,
    void (*cb)(void *arg, const struct dentry *d), void *arg)
{
	slab_ref ref;

	if (bucket >= nc->names.n)
		return false;
	/* Names lie anywhere in memory, and a walk spends its time waiting for
	 * them, so the next buckets are fetched ahead. */
	if (bucket + AHEAD < nc->names.n && nc->names.buckets[bucket + AHEAD])
		__builtin_prefetch(
		    slab_ptr(nc->slab, nc->names.buckets[bucket + AHEAD]));
	for (ref = nc->names.buckets[bucket]; ref != 0;
	     ref = reftab_next(&nc->names, ref))
		cb(arg, slab_ptr(nc->slab, ref));
	return true;
}

size_t namecache_count(const struct namecache *nc)
{
	return nc->names.entries;
}

size_t namecache_bytes(const struct namecache *nc)
{
	return reftab_bytes(&nc->names);
}
