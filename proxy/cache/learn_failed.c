/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of our own that failed, or whose effect nobody knows. Everything that
 * they may have changed is forgotten. Attributes that the server sent with an
 * error are learned, since the client has seen them, too. Handles that the
 * server calls stale end here as well.
 *
 * learn_change.c comes here by the status of a reply, and svc/ by
 * learn_unknown() where no reply came.
 */
#include "cache/known.h"
#include "cache/learn_private.h"

static bool has_bytes(const nfs3_fh *fh)
{
	return fh->len > 0;
}

/* Forgets what hangs on an object that may have been changed, nobody knows how.
 */
static void object_unknown(const struct learn *l, const nfs3_fh *fh)
{
	struct node *node = attrcache_get(l->caches->attr, fh);

	if (!node)
		return;
	learn_data_drop(l, node);
	accesscache_drop(l->caches->access, node);
	listcache_drop(l->caches->lists, node);
	attrcache_changed(l->caches->attr, node, l->sent_us, l->now_us);
}

/* Gives the one or two names that a change was about, and returns how many; 0
 * where it was about an object only. */
static unsigned change_names(const struct learn *l, const diropargs3 *names[2])
{
	if (l->proc->prog != NFS_PROGRAM)
		return 0;
	switch (l->proc->proc) {
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		/* The name stands first in all of these. */
		names[0] = &l->args->dirop;
		return 1;
	case NFSPROC3_RENAME:
		names[0] = &l->args->rename.from;
		names[1] = &l->args->rename.to;
		return 2;
	case NFSPROC3_LINK:
		names[0] = &l->args->link.link;
		return 1;
	default:
		return 0;
	}
}

/* Returns the handle of the object that a change was about, beside names; an
 * empty one where there is none. */
static nfs3_fh change_object(const struct learn *l)
{
	if (l->proc->prog == NFSACL_PROGRAM)
		return l->args->setacl.object;
	switch (l->proc->proc) {
	case NFSPROC3_SETATTR:
		return l->args->setattr.object;
	case NFSPROC3_WRITE:
		return l->args->write.file;
	case NFSPROC3_LINK:
		return l->args->link.file;
	case NFSPROC3_COMMIT:
		return l->args->commit.file;
	default:
		return (nfs3_fh){0};
	}
}

void learn_room(const struct learn *l)
{
	struct attrcache *ac = l->caches->attr;
	const diropargs3 *names[2];
	nfs3_fh fh = change_object(l);
	struct node *node;

	/* Both names of a RENAME are of one file system. */
	if (change_names(l, names) > 0)
		fh = names[0]->dir;
	node = has_bytes(&fh) ? attrcache_find(ac, &fh) : NULL;
	if (node)
		attrcache_changed_room(ac, node, l->now_us);
}

void learn_unknown(const struct learn *l)
{
	const diropargs3 *names[2];
	unsigned n = change_names(l, names);
	nfs3_fh object = change_object(l);

	/* The caches forget something here that the saved file still has, so
	 * that file must not count as all that is known. */
	l->caches->dirty = true;
	learn_room(l);
	for (unsigned i = 0; i < n; i++) {
		struct learn_was was = learn_name_was(l, names[i]);

		learn_lost_name(l, &names[i]->dir, &was, false);
	}
	for (unsigned i = 0; i < n; i++) {
		learn_forget_name(l, names[i]);
		object_unknown(l, &names[i]->dir);
	}
	if (has_bytes(&object))
		object_unknown(l, &object);
}

/* A server finds these errors before it does anything. All others, such as IO,
 * NOSPC or SERVERFAULT, may come when a part of the change was made. */
bool learn_certainly_not_done(nfsstat3 status)
{
	switch (status) {
	case NFS3ERR_PERM:
	case NFS3ERR_NOENT:
	case NFS3ERR_ACCES:
	case NFS3ERR_EXIST:
	case NFS3ERR_XDEV:
	case NFS3ERR_NOTDIR:
	case NFS3ERR_ISDIR:
	case NFS3ERR_INVAL:
	case NFS3ERR_ROFS:
	case NFS3ERR_MLINK:
	case NFS3ERR_NAMETOOLONG:
	case NFS3ERR_NOTEMPTY:
	case NFS3ERR_NOT_SYNC:
	case NFS3ERR_NOTSUPP:
	case NFS3ERR_BADTYPE:
	case NFS3ERR_JUKEBOX:
		return true;
	default:
		return false;
	}
}

/* Returns the attributes that the server sent of a directory whose names it did
 * not change. */
static const post_op_attr *dir_after(const struct learn *l, unsigned i)
{
	switch (l->proc->proc) {
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		return &l->res->wccstat.wcc.after;
	case NFSPROC3_RENAME:
		return i == 0 ? &l->res->rename.fromdir_wcc.after
			      : &l->res->rename.todir_wcc.after;
	case NFSPROC3_LINK:
		return &l->res->link.linkdir_wcc.after;
	default:
		return &l->res->newobj.newobj3res_u.dir_wcc.after;
	}
}

/* Forgets cached names that may have made the client send a call that failed,
 * and each listing that contains or lacks one of them. */
static void names_failed(const struct learn *l)
{
	const diropargs3 *names[2];
	unsigned n = change_names(l, names);

	for (unsigned i = 0; i < n; i++) {
		struct learn_was was = learn_name_was(l, names[i]);
		struct node *dir =
		    attrcache_find(l->caches->attr, &names[i]->dir);

		learn_forget_name(l, names[i]);
		if (dir && (l->res->status == NFS3ERR_EXIST ||
			       l->res->status == NFS3ERR_NOENT))
			listcache_drop(l->caches->lists, dir);
		learn_attr(l, &names[i]->dir, dir_after(l, i));
		/* CREATE may have found a file there and cut it short before
		 * it failed. */
		if (was.child && l->proc->proc == NFSPROC3_CREATE &&
		    l->res->status != NFS3ERR_EXIST) {
			nfs3_fh fh = node_fh(was.child);

			object_unknown(l, &fh);
		}
	}
}

/* Whether nothing at all has changed. The version alone does not tell: a ctime
 * may stay the same within a tick of the server's clock. */
static bool is_unchanged(
    const struct learn *l, const struct node *node, const fattr3 *after)
{
	fattr3 was;

	if (!attrcache_is_version(l->caches->attr, node, after))
		return false;
	attrcache_fattr(l->caches->attr, node, &was);
	return !learn_rights_differ(&was, after);
}

/* A SETATTR failed. It is several changes in one, and some may have been made.
 */
static void setattr_failed(const struct learn *l)
{
	const post_op_attr *after = &l->res->wccstat.wcc.after;
	struct node *node =
	    attrcache_find(l->caches->attr, &l->args->setattr.object);

	if (!node)
		return;
	if (after->attributes_follow &&
	    is_unchanged(l, node, &after->post_op_attr_u.attributes))
		learn_attr(l, &l->args->setattr.object, after);
	else
		learn_unknown(l);
}

void learn_not_done(const struct learn *l)
{
	if (l->proc->prog != NFS_PROGRAM)
		return;
	if (l->proc->proc == NFSPROC3_SETATTR) {
		setattr_failed(l);
		return;
	}
	names_failed(l);
	/* The client has these attributes as well, and may be told no older
	 * ones afterwards. */
	if (l->proc->proc == NFSPROC3_LINK)
		learn_attr(
		    l, &l->args->link.file, &l->res->link.file_attributes);
	else if (l->proc->proc == NFSPROC3_WRITE)
		learn_attr(l, &l->args->write.file,
		    &l->res->write.WRITE3res_u.file_wcc.after);
}

/* ---- handles that are of no use --------------------------------------- */

/* Gives the handles that a call was about, a directory's first, and returns how
 * many there are. The error does not say which of two is stale, so both go. */
static unsigned call_handles(const struct learn *l, nfs3_fh fh[2])
{
	const diropargs3 *names[2];
	unsigned n = change_names(l, names);
	nfs3_fh object = change_object(l);

	for (unsigned i = 0; i < n; i++)
		fh[i] = names[i]->dir;
	if (n == 2)
		return n;
	if (n == 0 && !has_bytes(&object))
		/* The handle stands first in all other arguments. */
		object = l->args->object;
	if (has_bytes(&object))
		fh[n++] = object;
	return n;
}

void learn_stale(const struct learn *l)
{
	nfs3_fh fh[2];
	unsigned n = l->proc->prog == MOUNT_PROGRAM ? 0 : call_handles(l, fh);

	for (unsigned i = 0; i < n; i++)
		caches_dead(l->caches, &fh[i], l->now_us);
}
