/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes the object of a change before the change is first sent, for the case
 * that it comes to be in doubt; and for SETATTR, concludes from how the object
 * is found later what became of the change. doubt.c does the looking.
 */
#include <string.h>

#include <xxhash.h>

#include "cache/caches.h"
#include "cache/known.h"
#include "nfsproto/nfs3_object.h"
#include "svc/doubt.h"

/* Returns the node that the name leads to, as far as the caches know; NULL
 * where it is absent, or not known. */
static const struct node *named_node(
    const struct caches *c, const diropargs3 *where)
{
	struct node *dir = attrcache_find(c->attr, &where->dir);
	struct named to;

	if (!dir)
		return NULL;
	to = known_name(c, dir, &where->name);
	return to.bound.generation == attrcache_generation(c->attr, dir)
		   ? to.child
		   : NULL;
}

static struct drc_object node_object(const struct node *node)
{
	struct drc_object object = {0};
	nfs3_fh fh;

	if (!node)
		return object;
	fh = node_fh(node);
	object.key = fh_key(&fh);
	return object;
}

/* For LINK, the file counts as known only with the number of its names, which
 * tells later whether one was added. Where the new name led somewhere before,
 * nothing is noted: it would prove nothing. */
static struct drc_object linked_object(
    const struct caches *c, const LINK3args *args)
{
	const struct node *node = attrcache_find(c->attr, &args->file);
	struct drc_object object = {0};
	fattr3 a;

	if (!node || attrcache_sent(c->attr, node) == 0 ||
	    named_node(c, &args->link))
		return object;
	attrcache_fattr(c->attr, node, &a);
	object = node_object(node);
	object.nlink = a.nlink;
	return object;
}

/* Whether a SETATTR asks for something that can be seen in the attributes.
 * Times that the server takes from its own clock cannot. */
static bool asks_what_shows(const sattr3 *a)
{
	return a->mode.set_it || a->uid.set_it || a->gid.set_it ||
	       a->size.set_it || a->atime.set_it == SET_TO_CLIENT_TIME ||
	       a->mtime.set_it == SET_TO_CLIENT_TIME;
}

static uint64_t time_key(const nfstime3 *t)
{
	return (uint64_t)t->seconds << 32 | t->nseconds;
}

/*
 * Returns a hash of those attributes that a SETATTR would overwrite. Data that
 * a new size would cut off shows by the size and mtime. The atime is left out,
 * since whoever reads the file changes it.
 */
static uint32_t values_of(const sattr3 *asked, const fattr3 *is)
{
	bool mtime =
	    asked->size.set_it || asked->mtime.set_it == SET_TO_CLIENT_TIME;
	uint64_t v[] = {asked->mode.set_it ? is->mode : 0,
	    asked->uid.set_it ? is->uid : 0, asked->gid.set_it ? is->gid : 0,
	    asked->size.set_it ? is->size : 0,
	    mtime ? time_key(&is->mtime) : 0};

	return (uint32_t)XXH3_64bits(v, sizeof(v));
}

static struct drc_object set_object(
    const struct caches *c, const SETATTR3args *args)
{
	const struct node *node = attrcache_find(c->attr, &args->object);
	fattr3 a;

	/* Attributes that a change of our own left open are no state to compare
	 * with. */
	if (!node || attrcache_sent(c->attr, node) == 0)
		return (struct drc_object){0};
	attrcache_fattr(c->attr, node, &a);
	return (struct drc_object){.key = time_key(&a.ctime),
	    .values = values_of(&args->new_attributes, &a)};
}

struct drc_object doubt_object(const struct caches *c,
    const struct nfs_proc *proc, const union nfs_args *args)
{
	if (proc->prog != NFS_PROGRAM)
		return (struct drc_object){0};
	switch (proc->proc) {
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		return node_object(named_node(c, &args->dirop));
	case NFSPROC3_RENAME:
		return node_object(named_node(c, &args->rename.from));
	case NFSPROC3_LINK:
		return linked_object(c, &args->link);
	case NFSPROC3_SETATTR:
		return set_object(c, &args->setattr);
	default:
		return (struct drc_object){0};
	}
}

/* Whether the time that is there may be the one that was asked for: file
 * systems cut times to what they can keep, microseconds for example. */
static bool is_cut_from(const nfstime3 *asked, const nfstime3 *is)
{
	uint32_t grain = 1;

	if (asked->seconds != is->seconds)
		return false;
	while (grain < 1000000000 &&
	       asked->nseconds - asked->nseconds % grain != is->nseconds)
		grain *= 10;
	return grain < 1000000000 || is->nseconds == 0;
}

static bool same_time(const set_time *asked, const nfstime3 *is)
{
	return asked->set_it != SET_TO_CLIENT_TIME ||
	       is_cut_from(&asked->set_time_u.time, is);
}

/* Whether the attributes are as a SETATTR asked for. An atime counts only where
 * nothing else is asked for: whoever reads the file changes it. */
static bool attributes_as_asked(const sattr3 *a, const fattr3 *is)
{
	sattr3 others = *a;

	others.atime.set_it = DONT_CHANGE;
	return asks_what_shows(a) &&
	       (!a->mode.set_it || a->mode.set_uint32_u.value == is->mode) &&
	       (!a->uid.set_it || a->uid.set_uint32_u.value == is->uid) &&
	       (!a->gid.set_it || a->gid.set_uint32_u.value == is->gid) &&
	       (!a->size.set_it || a->size.set_size3_u.size == is->size) &&
	       (asks_what_shows(&others) || same_time(&a->atime, &is->atime)) &&
	       same_time(&a->mtime, &is->mtime);
}

enum doubt_set doubt_set_found(
    const SETATTR3args *asked, const struct drc_object *was, const fattr3 *is)
{
	const sattr3 *new = &asked->new_attributes;
	const nfstime3 *guard = &asked->guard.sattrguard3_u.obj_ctime;
	bool guarded = asked->guard.check;

	if (time_key(&is->ctime) == (guarded ? time_key(guard) : was->key))
		return DOUBT_SET_NOT_DONE;
	if (attributes_as_asked(new, is))
		return DOUBT_SET_DONE;
	/* With a guard a repeat is safe, since the server compares the guard
	 * once more. */
	if (guarded || !asks_what_shows(new) ||
	    values_of(new, is) == was->values)
		return DOUBT_SET_NOT_DONE;
	return DOUBT_SET_UNKNOWN;
}
