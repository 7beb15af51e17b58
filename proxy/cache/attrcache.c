/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cache/attrcache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/reftab.h"
#include "nfsproto/nfs3_object.h"

enum {
	FSYS_MAX = 1 << 16, /* a server may export a file system a user */
	CHANGES = 4096, /* a power of two: files with own changes, per fsys */
	CHANGES_FSYS = 64, /* file systems that keep a list of them */
	REFS_TOP = UINT16_MAX,
};

/* What many objects have in common, once. */
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

/* A file changed through one handle: others of it must be asked anew. */
struct change {
	uint64_t fileid;
	uint64_t us;
	slab_ref node;
};

struct fsys_slot {
	struct fsys fs;    /* first: it is given out */
	uint64_t floor_us; /* changes that were forgotten are no younger */
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
	/* Nodes that are gone may have been changed no later than this. */
	uint64_t forgotten_us;
	size_t hand; /* of the clock: a bucket */
};

/* ---- nodes ------------------------------------------------------------ */

static uint64_t node_key(const struct node *n)
{
	nfs3_fh fh = {.len = n->fh_len, .data = (const char *)n->fh};

	return fh_key(&fh);
}

static uint64_t node_hash(const struct reftab *t, const void *item)
{
	const struct node *n = item;

	(void)t;
	return node_key(n);
}

static uint64_t profile_hash(const struct reftab *t, const void *item)
{
	const struct profile *p = item;

	(void)t;
	return XXH3_64bits(
	    &p->type, sizeof(*p) - offsetof(struct profile, type));
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

static slab_ref find_ref(
    const struct attrcache *ac, const nfs3_fh *fh, uint64_t hash)
{
	slab_ref ref = *reftab_head(&ac->nodes, hash);

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
	slab_ref ref = *reftab_head(&ac->nodes, key);

	for (; ref != 0; ref = reftab_next(&ac->nodes, ref)) {
		struct node *n = attrcache_node(ac, ref);
		nfs3_fh fh = node_fh(n);

		if (!(n->flags & NODE_DEAD) && fh_key(&fh) == key)
			return n;
	}
	return NULL;
}

slab_ref attrcache_ref(const struct attrcache *ac, const struct node *node)
{
	nfs3_fh fh = node_fh(node);

	return find_ref(ac, &fh, node_key(node));
}

struct node *attrcache_find(struct attrcache *ac, const nfs3_fh *fh)
{
	slab_ref ref = find_ref(ac, fh, fh_key(fh));
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
	reftab_insert(&ac->nodes, ref, node_key(n));
	return n;
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

	return x ? x->generation : 0;
}

/* What hangs on the node counts no more. A node on which nothing hangs has
 * no generation to count. */
static void next_generation(struct attrcache *ac, struct node *node)
{
	struct node_ext *x = attrcache_ext(ac, node);

	if (!x)
		return;
	x->generation++;
	x->first_sent_us = 0;
}

/* ---- profiles and file systems ---------------------------------------- */

/* Where the fsid stands, or is to stand. */
static uint32_t *fsys_place(const struct attrcache *ac, uint64_t fsid)
{
	uint32_t mask = 2 * ac->fsys_room - 1;
	uint32_t at = (uint32_t)XXH3_64bits(&fsid, sizeof(fsid)) & mask;

	while (ac->fsys_places[at] != 0 &&
	       ac->fsys[ac->fsys_places[at] - 1]->fs.fsid != fsid)
		at = (at + 1) & mask;
	return &ac->fsys_places[at];
}

static bool fsys_grow(struct attrcache *ac)
{
	uint32_t room = ac->fsys_room ? 2 * ac->fsys_room : 8;
	uint32_t *places;
	void *more;

	if (room > FSYS_MAX)
		return false;
	more = realloc(ac->fsys, room * sizeof(struct fsys_slot *));
	if (!more)
		return false;
	ac->fsys = more;
	places = calloc((size_t)2 * room, sizeof(*places));
	if (!places)
		return false;
	free(ac->fsys_places);
	ac->fsys_places = places;
	ac->fsys_room = room;
	for (uint32_t i = 0; i < ac->nfsys; i++)
		*fsys_place(ac, ac->fsys[i]->fs.fsid) = i + 1;
	return true;
}

static uint32_t fsys_index(struct attrcache *ac, uint64_t fsid)
{
	uint32_t *place = ac->fsys_room ? fsys_place(ac, fsid) : NULL;
	struct fsys_slot *fs;

	if (place && *place != 0)
		return *place - 1;
	if (ac->nfsys == ac->fsys_room && !fsys_grow(ac))
		return UINT32_MAX;
	fs = calloc(1, sizeof(*fs));
	if (!fs)
		return UINT32_MAX;
	fs->fs.fsid = fsid;
	*fsys_place(ac, fsid) = ac->nfsys + 1;
	ac->fsys[ac->nfsys] = fs;
	return ac->nfsys++;
}

struct fsys *attrcache_find_fsys(struct attrcache *ac, uint64_t fsid)
{
	uint32_t i = fsys_index(ac, fsid);

	return i == UINT32_MAX ? NULL : &ac->fsys[i]->fs;
}

struct fsys *attrcache_fsys_at(struct attrcache *ac, uint32_t i)
{
	return i < ac->nfsys ? &ac->fsys[i]->fs : NULL;
}

static struct profile *node_profile(
    const struct attrcache *ac, const struct node *node)
{
	return slab_ptr(ac->slab, node->profile);
}

static struct fsys_slot *node_slot(
    const struct attrcache *ac, const struct node *node)
{
	return node->profile ? ac->fsys[node_profile(ac, node)->fsys] : NULL;
}

struct fsys *attrcache_fsys(const struct attrcache *ac, const struct node *node)
{
	struct fsys_slot *fs = node_slot(ac, node);

	return fs ? &fs->fs : NULL;
}

static void profile_drop(struct attrcache *ac, slab_ref ref)
{
	struct profile *p;

	if (!ref)
		return;
	p = slab_ptr(ac->slab, ref);
	if (--p->users > 0)
		return;
	reftab_remove(&ac->profiles, ref, profile_hash(&ac->profiles, p));
	slab_free(ac->slab, ref, sizeof(*p));
}

static slab_ref profile_find(
    const struct attrcache *ac, const struct profile *want, uint64_t hash)
{
	slab_ref ref = *reftab_head(&ac->profiles, hash);

	for (; ref != 0; ref = reftab_next(&ac->profiles, ref)) {
		const struct profile *p = slab_ptr(ac->slab, ref);

		if (memcmp(&p->type, &want->type,
			sizeof(*p) - offsetof(struct profile, type)) == 0)
			return ref;
	}
	return 0;
}

static slab_ref profile_get(struct attrcache *ac, const fattr3 *a)
{
	struct profile want;
	slab_ref ref;
	uint64_t hash;

	memset(&want, 0, sizeof(want));
	want.type = a->type;
	want.mode = a->mode;
	want.nlink = a->nlink;
	want.uid = a->uid;
	want.gid = a->gid;
	want.rdev = a->rdev;
	want.fsys = fsys_index(ac, a->fsid);
	if (want.fsys == UINT32_MAX)
		return 0;
	hash = profile_hash(&ac->profiles, &want);
	ref = profile_find(ac, &want, hash);
	if (!ref) {
		ref = slab_alloc(ac->slab, sizeof(want));
		if (!ref)
			return 0;
		memcpy(slab_ptr(ac->slab, ref), &want, sizeof(want));
		reftab_insert(&ac->profiles, ref, hash);
	}
	((struct profile *)slab_ptr(ac->slab, ref))->users++;
	return ref;
}

ftype3 attrcache_type(const struct attrcache *ac, const struct node *node)
{
	return (ftype3)node_profile(ac, node)->type;
}

void attrcache_fattr(
    const struct attrcache *ac, const struct node *node, fattr3 *out)
{
	const struct profile *p = node_profile(ac, node);

	/* Its padding goes to disk, too. */
	memset(out, 0, sizeof(*out));
	*out = (fattr3){.type = (ftype3)p->type,
	    .mode = p->mode,
	    .nlink = p->nlink,
	    .uid = p->uid,
	    .gid = p->gid,
	    .size = node->size,
	    .used = node->used,
	    .rdev = p->rdev,
	    .fsid = ac->fsys[p->fsys]->fs.fsid,
	    .fileid = node->fileid,
	    .atime = node->atime,
	    .mtime = node->mtime,
	    .ctime = node->ctime};
}

/* ---- applying --------------------------------------------------------- */

static bool time_equal(const nfstime3 *a, const nfstime3 *b)
{
	return a->seconds == b->seconds && a->nseconds == b->nseconds;
}

static bool same_version(
    const struct attrcache *ac, const struct node *n, const fattr3 *a)
{
	const struct profile *p = node_profile(ac, n);

	return n->size == a->size && n->fileid == a->fileid &&
	       time_equal(&n->mtime, &a->mtime) &&
	       time_equal(&n->ctime, &a->ctime) && p->type == a->type &&
	       ac->fsys[p->fsys]->fs.fsid == a->fsid;
}

static bool same_contents(const struct node *n, const fattr3 *a)
{
	return (n->flags & NODE_ATTRS) && n->size == a->size &&
	       n->fileid == a->fileid && time_equal(&n->mtime, &a->mtime);
}

static void forget_attrs(struct attrcache *ac, struct node *node)
{
	node->flags &= (uint16_t)~NODE_ATTRS;
	node->sent_us = 0;
	profile_drop(ac, node->profile);
	node->profile = 0;
}

static bool store(struct attrcache *ac, struct node *node, const fattr3 *a)
{
	slab_ref profile = profile_get(ac, a);
	struct fsys_slot *fs;

	if (!profile) {
		forget_attrs(ac, node);
		return false;
	}
	profile_drop(ac, node->profile);
	node->profile = profile;
	node->flags |= NODE_ATTRS;
	node->size = a->size;
	node->used = a->used;
	node->fileid = a->fileid;
	node->atime = a->atime;
	node->mtime = a->mtime;
	node->ctime = a->ctime;
	fs = node_slot(ac, node);
	if (a->ctime.nseconds != 0)
		fs->fs.subseconds = true;
	return true;
}

static uint64_t node_changed_us(
    const struct attrcache *ac, const struct node *node)
{
	const struct node_ext *x =
	    node->ext ? slab_ptr(ac->slab, node->ext) : NULL;
	uint64_t us = x ? x->changed_us : 0;

	return us > ac->forgotten_us ? us : ac->forgotten_us;
}

bool attrcache_may_fill(
    const struct attrcache *ac, const struct node *node, uint64_t sent_us)
{
	return sent_us > node_changed_us(ac, node);
}

enum attr_result attrcache_apply(struct attrcache *ac, struct node *node,
    const fattr3 *a, uint64_t sent_us, uint64_t now_us)
{
	bool had = node->flags & NODE_ATTRS, moved;
	bool same = had && same_version(ac, node, a);

	if (!attrcache_may_fill(ac, node, sent_us) ||
	    (!same && sent_us < node->seen_us)) {
		/* Which is the later state must be asked: calls overtake each
		 * other on their way. */
		if (!same)
			node->sent_us = 0;
		return ATTR_IGNORED;
	}
	if (same) {
		if (sent_us >= node->sent_us && store(ac, node, a))
			node->sent_us = TIME48(sent_us);
		return ATTR_SAME;
	}
	moved = (node->flags & NODE_MOVED) && same_contents(node, a);
	if (!moved)
		next_generation(ac, node);
	node->flags &= (uint16_t)~NODE_MOVED;
	if (!store(ac, node, a))
		return ATTR_IGNORED;
	node->sent_us = TIME48(sent_us);
	node->seen_us = TIME48(now_us);
	if (moved)
		return ATTR_MOVED;
	return had ? ATTR_CHANGED : ATTR_NEW;
}

/* Other handles of the same file know nothing of the change. */
static void note_change(
    struct attrcache *ac, const struct node *node, uint64_t now_us)
{
	struct fsys_slot *fs = node_slot(ac, node);
	struct change *c;

	if (!fs) {
		/* Which file it is, and where, is not known: any may be it. */
		attrcache_changed_some(ac, node, false, now_us);
		return;
	}
	if (!fs->changes && ac->nchanges < CHANGES_FSYS) {
		fs->changes = calloc(CHANGES, sizeof(*fs->changes));
		ac->nchanges += fs->changes != NULL;
	}
	if (!fs->changes) {
		fs->floor_us = now_us;
		return;
	}
	c = &fs->changes[XXH3_64bits(&node->fileid, sizeof(node->fileid)) &
			 (CHANGES - 1)];
	if (c->fileid != node->fileid && c->us > fs->floor_us)
		fs->floor_us = c->us;
	*c = (struct change){.fileid = node->fileid,
	    .us = now_us,
	    .node = attrcache_ref(ac, node)};
}

static void mark_changed(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us)
{
	struct node_ext *x = attrcache_make_ext(ac, node);

	note_change(ac, node, now_us);
	if (x) {
		if (x->first_sent_us == 0)
			x->first_sent_us = sent_us;
		x->changed_us = now_us;
	} else {
		ac->forgotten_us = now_us;
	}
}

static bool matches_before(const struct node *node, const pre_op_attr *before)
{
	const wcc_attr *w = &before->pre_op_attr_u.attributes;

	return before->attributes_follow && (node->flags & NODE_ATTRS) &&
	       node->size == w->size && time_equal(&node->mtime, &w->mtime) &&
	       time_equal(&node->ctime, &w->ctime);
}

bool attrcache_apply_wcc(struct attrcache *ac, struct node *node,
    const wcc_data *wcc, bool contents_stay, uint64_t sent_us, uint64_t now_us)
{
	const fattr3 *after = &wcc->after.post_op_attr_u.attributes;
	bool ours = wcc->after.attributes_follow &&
		    node->fileid == after->fileid &&
		    (matches_before(node, &wcc->before) ||
			(contents_stay && same_contents(node, after)));
	bool older = sent_us < node->seen_us;

	/* So that it is known which file was changed. */
	if (!(node->flags & NODE_ATTRS) && wcc->after.attributes_follow)
		(void)store(ac, node, after);
	mark_changed(ac, node, sent_us, now_us);
	if (!ours)
		next_generation(ac, node);
	if (!wcc->after.attributes_follow || (older && !ours)) {
		/* Which of two replies tells the later state is not known. */
		node->sent_us = 0;
		return false;
	}
	node->seen_us = TIME48(now_us);
	if (store(ac, node, after) && !older)
		node->sent_us = TIME48(sent_us);
	return ours;
}

void attrcache_changed(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us)
{
	mark_changed(ac, node, sent_us, now_us);
	next_generation(ac, node);
	node->sent_us = 0;
}

void attrcache_moved(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us)
{
	mark_changed(ac, node, sent_us, now_us);
	node->sent_us = 0;
	node->flags |= NODE_MOVED;
}

void attrcache_changed_some(
    struct attrcache *ac, const struct node *node, bool links, uint64_t now_us)
{
	struct fsys_slot *fs = node_slot(ac, node);

	/* Without attributes it is of any file system. */
	for (uint32_t i = 0; i < ac->nfsys; i++) {
		if (fs && ac->fsys[i] != fs)
			continue;
		if (links)
			ac->fsys[i]->fs.links_us = TIME48(now_us);
		else
			ac->fsys[i]->floor_us = now_us;
	}
}

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

/* Out of the table, so that a later node of this handle knows nothing of it;
 * it lives on while names point to it. */
void attrcache_dead(struct attrcache *ac, struct node *node)
{
	slab_ref ref = attrcache_ref(ac, node);
	uint64_t us = node_changed_us(ac, node);

	assert(!node->grants);
	ac->forgotten_us = us;
	reftab_remove(&ac->nodes, ref, node_key(node));
	forget_attrs(ac, node);
	node->flags |= NODE_DEAD;
	if (node_idle(ac, node))
		node_free(ac, ref);
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

/* ---- asking ----------------------------------------------------------- */

uint64_t attrcache_sent(const struct attrcache *ac, const struct node *node)
{
	const struct fsys_slot *fs = node_slot(ac, node);
	const struct change *c;

	if (!(node->flags & NODE_ATTRS) || !fs ||
	    node->sent_us <= fs->floor_us ||
	    (node_profile(ac, node)->nlink > 1 &&
		node_profile(ac, node)->type != NF3DIR &&
		node->sent_us <= fs->fs.links_us))
		return 0;
	if (!fs->changes)
		return node->sent_us;
	c = &fs->changes[XXH3_64bits(&node->fileid, sizeof(node->fileid)) &
			 (CHANGES - 1)];
	if (c->fileid == node->fileid && node->sent_us <= c->us &&
	    attrcache_node(ac, c->node) != node)
		return 0;
	return node->sent_us;
}

bool attrcache_firm(
    const struct attrcache *ac, const struct node *node, uint64_t sent_us)
{
	const struct fsys_slot *fs = node_slot(ac, node);

	return fs &&
	       sent_us >= node->seen_us +
			      (fs->fs.subseconds ? GRAIN_US : GRAIN_COARSE_US);
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
		/* As in namecache_evict(). */
		for (ref = ac->nodes.buckets[at]; ref != 0;
		     ref = reftab_next(&ac->nodes, ref))
			attrcache_node(ac, ref)->flags &= (uint16_t)~NODE_USED;
		ac->hand = at + 1;
	}
	return NULL;
}

void attrcache_remove(struct attrcache *ac, struct node *node)
{
	slab_ref ref = attrcache_ref(ac, node);

	assert(node_idle(ac, node) && !node->grants);
	ac->forgotten_us = node_changed_us(ac, node);
	reftab_remove(&ac->nodes, ref, node_key(node));
	forget_attrs(ac, node);
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
	if (!store(ac, node, a))
		return;
	node->sent_us = TIME48(sent_us);
	node->seen_us = TIME48(now_us);
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
