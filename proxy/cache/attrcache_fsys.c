/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores once what many objects share: their file system, and their profile,
 * which is type, mode, links and owner. In a tree of sources a handful of
 * profiles serves a hundred thousand objects.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/attrcache_private.h"
#include "hashing/hash_key.h"

/* Servers that export one file system for each user have thousands; there is a
 * bound because a server may invent an fsid for each reply. */
enum { FSYS_MAX = 1 << 16 };

/* ---- file systems ------------------------------------------------------ */

/* Returns the place where the fsid stands, or is to stand; there is always a
 * free one, since at most half of them are taken. */
static uint32_t *fsys_place(const struct attrcache *ac, uint64_t fsid)
{
	uint32_t mask = 2 * ac->fsys_room - 1;
	uint32_t at = (uint32_t)hash_number(fsid) & mask;

	while (ac->fsys_places[at] != 0 &&
	       ac->fsys[ac->fsys_places[at] - 1]->fs.fsid != fsid)
		at = (at + 1) & mask;
	return &ac->fsys_places[at];
}

/* Doubles the room for file systems; false without memory or at FSYS_MAX. */
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

/* The number of the file system, which is made where it is missing; UINT32_MAX
 * without memory or where there are too many. */
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

struct fsys *attrcache_get_fsys(struct attrcache *ac, uint64_t fsid)
{
	uint32_t i = fsys_index(ac, fsid);

	return i == UINT32_MAX ? NULL : &ac->fsys[i]->fs;
}

struct fsys *attrcache_find_fsys(struct attrcache *ac, uint64_t fsid)
{
	uint32_t *place = ac->fsys_room ? fsys_place(ac, fsid) : NULL;

	return place && *place != 0 ? &ac->fsys[*place - 1]->fs : NULL;
}

struct fsys *attrcache_fsys_at(struct attrcache *ac, uint32_t i)
{
	return i < ac->nfsys ? &ac->fsys[i]->fs : NULL;
}

struct fsys *attrcache_fsys(const struct attrcache *ac, const struct node *node)
{
	struct fsys_slot *fs = node_slot(ac, node);

	return fs ? &fs->fs : NULL;
}

/* ---- profiles ---------------------------------------------------------- */

/* Hashes what a profile says, without its place in the table and its count. */
uint64_t profile_hash(const struct reftab *t, const void *item)
{
	const struct profile *p = item;

	(void)t;
	return hash_bytes(
	    &p->type, sizeof(*p) - offsetof(struct profile, type), 0);
}

void profile_drop(struct attrcache *ac, slab_ref ref)
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

slab_ref profile_get(struct attrcache *ac, const fattr3 *a)
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
		if (!reftab_insert(&ac->profiles, ref, hash)) {
			slab_free(ac->slab, ref, sizeof(want));
			return 0;
		}
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

	/* Zeros in its padding as well, because it is written to disk as it
	 * lies here. */
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
