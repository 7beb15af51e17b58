/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nodes: found by their handles, held by the names that lead to them, and given
 * up by a clock's hand that passes over those that were not used. learn.c makes
 * them, known.c and those who answer look them up, caches.c gives them up; the
 * invariant is that no slab reference in a name leads to a node that was freed.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cache/attrcache_private.h"
#include "hashing/hash_key.h"
#include "nfsproto/nfs3_object.h"

/* A node that so many names have led to is never given up: its counter stays at
 * the top, and nobody knows when the last name goes. */
enum { REFS_TOP = UINT16_MAX };

uint64_t node_key(const struct node *n)
{
	nfs3_fh fh = {.len = n->fh_len, .data = (const char *)n->fh};

	return fh_key(&fh);
}

static uint64_t node_hash(const struct reftab *t, const void *item)
{
	const struct node *n = item;

	(void)t;
	return hash_number(node_key(n));
}

static size_t node_size(const struct node *n)
{
	return offsetof(struct node, fh) + n->fh_len;
}

struct attrcache *attrcache_new(struct slab *slab)
{
	struct attrcache *ac = calloc(1, sizeof(*ac));

	if (!ac)
		return NULL;
	ac->slab = slab;
	if (reftab_init(&ac->nodes, slab, node_hash) &&
	    reftab_init(&ac->profiles, slab, profile_hash))
		return ac;
	attrcache_free(ac);
	return NULL;
}

void attrcache_free(struct attrcache *ac)
{
	if (!ac)
		return;
	reftab_clear(&ac->nodes);
	reftab_clear(&ac->profiles);
	for (uint32_t i = 0; i < ac->nfsys; i++) {
		free(ac->fsys[i]->changes);
		free(ac->fsys[i]);
	}
	free(ac->fsys);
	free(ac->fsys_places);
	free(ac);
}

struct node *attrcache_node(const struct attrcache *ac, slab_ref ref)
{
	return slab_ptr(ac->slab, ref);
}

static slab_ref find_ref(const struct attrcache *ac, const nfs3_fh *fh)
{
	slab_ref ref = *reftab_head(&ac->nodes, hash_number(fh_key(fh)));

	for (; ref != 0; ref = reftab_next(&ac->nodes, ref)) {
		const struct node *n = attrcache_node(ac, ref);

		if (n->fh_len == fh->len &&
		    memcmp(n->fh, fh->data, fh->len) == 0)
			return ref;
	}
	return 0;
}

struct node *attrcache_by_key(struct attrcache *ac, uint64_t key)
{
	slab_ref ref = *reftab_head(&ac->nodes, hash_number(key));

	for (; ref != 0; ref = reftab_next(&ac->nodes, ref)) {
		struct node *n = attrcache_node(ac, ref);
		nfs3_fh fh = node_fh(n);

		if (!(n->flags & NODE_DEAD) && fh_key(&fh) == key)
			return n;
	}
	return NULL;
}

struct node *attrcache_find(struct attrcache *ac, const nfs3_fh *fh)
{
	slab_ref ref = find_ref(ac, fh);
	struct node *n;

	if (!ref)
		return NULL;
	n = attrcache_node(ac, ref);
	n->flags |= NODE_USED;
	return n;
}

struct node *attrcache_get(struct attrcache *ac, const nfs3_fh *fh)
{
	struct node *n = attrcache_find(ac, fh);
	slab_ref ref;

	if (n || fh->len == 0 || fh->len > NFS3_FHSIZE_MAX)
		return n;
	ref = slab_alloc(ac->slab, offsetof(struct node, fh) + fh->len);
	if (!ref)
		return NULL;
	n = slab_ptr(ac->slab, ref);
	n->fh_len = (uint8_t)fh->len;
	memcpy(n->fh, fh->data, fh->len);
	if (reftab_insert(&ac->nodes, ref, node_hash(&ac->nodes, n)))
		return n;
	slab_free(ac->slab, ref, node_size(n));
	return NULL;
}

struct node_ext *attrcache_ext(struct attrcache *ac, const struct node *node)
{
	return node->ext ? slab_ptr(ac->slab, node->ext) : NULL;
}

struct node_ext *attrcache_make_ext(struct attrcache *ac, struct node *node)
{
	if (!node->ext)
		node->ext = slab_alloc(ac->slab, sizeof(struct node_ext));
	return attrcache_ext(ac, node);
}

uint32_t attrcache_generation(struct attrcache *ac, const struct node *node)
{
	const struct node_ext *x = attrcache_ext(ac, node);
	const struct fsys *fs = attrcache_fsys(ac, node);
	uint32_t generation = x ? x->generation : 0;

	/* The bit is one that no count reaches. So all bindings of the file
	 * system become invalid in one step, without a walk over its nodes. */
	return fs && fs->clock_back ? generation ^ (UINT32_C(1) << 31)
				    : generation;
}

uint32_t attrcache_take_clocks_back(struct attrcache *ac)
{
	uint32_t n = ac->nback;

	ac->nback = 0;
	return n;
}

/* ---- held and let go --------------------------------------------------- */

/* Whether nothing in the cache refers to the node: no name leads to it, and
 * none is in it. */
static bool node_idle(struct attrcache *ac, const struct node *node)
{
	const struct node_ext *x = attrcache_ext(ac, node);

	return node->refs == 0 && (!x || x->nchildren == 0);
}

static void node_free(struct attrcache *ac, slab_ref ref)
{
	struct node *node = attrcache_node(ac, ref);

	if (node->ext)
		slab_free(ac->slab, node->ext, sizeof(struct node_ext));
	slab_free(ac->slab, ref, node_size(node));
}

/* Takes the node out of the table, so that a later node of this handle knows
 * nothing of it; it lives on while names point to it. */
void attrcache_dead(struct attrcache *ac, struct node *node)
{
	slab_ref ref = slab_ref_of(node);
	uint64_t us = node_changed_us(ac, node);

	assert(!node->grants);
	ac->forgotten_us = us;
	reftab_remove(&ac->nodes, ref, node_hash(&ac->nodes, node));
	node_forget_attrs(ac, node);
	node->flags |= NODE_DEAD;
	if (node_idle(ac, node))
		node_free(ac, ref);
}

static size_t death_place(const nfs3_fh *fh)
{
	return hash_number(fh_key(fh)) & (DEATHS - 1);
}

void attrcache_died(struct attrcache *ac, const nfs3_fh *fh, uint64_t now_us)
{
	ac->died_us = now_us;
	ac->deaths[death_place(fh)] = now_us;
}

bool attrcache_has_died(
    const struct attrcache *ac, const nfs3_fh *fh, uint64_t sent_us)
{
	return sent_us < ac->died_us && sent_us < ac->deaths[death_place(fh)];
}

void attrcache_hold(struct attrcache *ac, slab_ref ref)
{
	struct node *n = attrcache_node(ac, ref);

	if (n->refs < REFS_TOP)
		n->refs++;
}

static void node_let_go(struct attrcache *ac, slab_ref ref)
{
	struct node *n = attrcache_node(ac, ref);

	if ((n->flags & NODE_DEAD) && node_idle(ac, n))
		node_free(ac, ref);
}

void attrcache_release(struct attrcache *ac, slab_ref ref)
{
	struct node *n = attrcache_node(ac, ref);

	if (n->refs < REFS_TOP)
		n->refs--;
	node_let_go(ac, ref);
}

void attrcache_release_dir(struct attrcache *ac, slab_ref ref)
{
	attrcache_ext(ac, attrcache_node(ac, ref))->nchildren--;
	node_let_go(ac, ref);
}

/* ---- giving up, saving ------------------------------------------------ */

bool attrcache_is_idle(struct attrcache *ac, const struct node *node)
{
	return !(node->flags & NODE_USED) && node_idle(ac, node);
}

struct node *attrcache_sweep(struct attrcache *ac, size_t *steps)
{
	for (; *steps > 0; --*steps) {
		size_t at = ac->hand % ac->nodes.n;
		slab_ref ref = ac->nodes.buckets[at];

		for (; ref != 0; ref = reftab_next(&ac->nodes, ref))
			if (attrcache_is_idle(ac, attrcache_node(ac, ref)))
				return attrcache_node(ac, ref);
		/* All nodes of this bucket were used since the hand passed
		 * last. They must be used again before it comes back, or one of
		 * them goes then. */
		for (ref = ac->nodes.buckets[at]; ref != 0;
		     ref = reftab_next(&ac->nodes, ref))
			attrcache_node(ac, ref)->flags &= (uint16_t)~NODE_USED;
		ac->hand = at + 1;
	}
	return NULL;
}

void attrcache_remove(struct attrcache *ac, struct node *node)
{
	slab_ref ref = slab_ref_of(node);

	assert(node_idle(ac, node) && !node->grants);
	ac->forgotten_us = node_changed_us(ac, node);
	reftab_remove(&ac->nodes, ref, node_hash(&ac->nodes, node));
	node_forget_attrs(ac, node);
	node_free(ac, ref);
}

bool attrcache_each(struct attrcache *ac, size_t bucket,
    void (*cb)(void *arg, struct node *node), void *arg)
{
	slab_ref ref, next;

	if (bucket >= ac->nodes.n)
		return false;
	for (ref = ac->nodes.buckets[bucket]; ref != 0; ref = next) {
		next = reftab_next(&ac->nodes, ref);
		cb(arg, attrcache_node(ac, ref));
	}
	return true;
}

void attrcache_load(struct attrcache *ac, struct node *node, const fattr3 *a,
    uint64_t sent_us, uint64_t now_us)
{
	if (!node_store(ac, node, a))
		return;
	/* Nobody knows any more who changed it before, so it may have been us.
	 */
	node->flags |= NODE_WRITTEN;
	node->sent_us = TIME48(sent_us);
	node->seen_us = TIME48(now_us);
	srvclock_show(
	    &node_slot(ac, node)->clock, nfstime_ns(&a->ctime), now_us);
}

size_t attrcache_count(const struct attrcache *ac)
{
	return ac->nodes.entries;
}

size_t attrcache_bytes(const struct attrcache *ac)
{
	return reftab_bytes(&ac->nodes) + reftab_bytes(&ac->profiles) +
	       ac->nfsys * sizeof(struct fsys_slot) +
	       ac->fsys_room *
		   (sizeof(struct fsys_slot *) + 2 * sizeof(uint32_t)) +
	       (size_t)ac->nchanges * CHANGES * sizeof(struct change);
}
