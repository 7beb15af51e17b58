/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies to changes of our own. Their attributes from before and after the
 * change (wcc_data, RFC 1813 section 2.6) tell which bindings stay valid; if
 * there are none, all bindings of the object are dropped.
 *
 * In each of these functions the names are asked for first (learn_name_was()),
 * then directories and objects get their new state, and the new names are bound
 * last: only so what is bound is of the state after the change.
 */
#include <string.h>

#include "cache/known.h"
#include "cache/learn_private.h"

/* A directory after a change of our own in it, as far as it is known. */
struct own_dir {
	bool preserved; /* nobody else has changed it */
	/* Two changes overlapped: nobody knows where the changed name leads. */
	bool crossed;
};

void learn_data_drop(const struct learn *l, const struct node *node)
{
	struct data_key key = caches_data_key(node);

	if (l->caches->data)
		datacache_drop(l->caches->data, &key);
}

/* Applies the attributes from after a change (attrcache_apply_wcc()), and
 * returns whether nobody else changed the object. Where somebody did, its
 * rights may be others, too. */
static bool apply_own(const struct learn *l, struct node *node,
    const wcc_data *wcc, bool contents_stay)
{
	const fattr3 *after = &wcc->after.post_op_attr_u.attributes;
	bool had = node->flags & NODE_ATTRS, own;
	fattr3 old = {0};

	if (had)
		attrcache_fattr(l->caches->attr, node, &old);
	own = attrcache_apply_wcc(
	    l->caches->attr, node, wcc, contents_stay, l->sent_us, l->now_us);
	/* Its client knows of the change, whatever it was told before. */
	attrcache_tell(l->caches->attr, node, l->machine, NULL, l->now_us, 0);
	if (own)
		return true;
	if (wcc->before.attributes_follow || !wcc->after.attributes_follow ||
	    !had || learn_rights_differ(&old, after))
		accesscache_changed(l->caches->access, node);
	return false;
}

/* Whether another change of our own was answered while this one was under way:
 * which of the two the server did last is not known. */
static bool changes_crossed(const struct learn *l, const struct node *dir)
{
	const struct node_ext *x = attrcache_ext(l->caches->attr, dir);

	return x && x->changed_us >= l->sent_us;
}

/* Notes that the names of a directory were changed. Returns it, for the caller
 * to bind the new ones, or NULL without memory. */
static struct node *dir_changed(const struct learn *l, const nfs3_fh *fh,
    const wcc_data *wcc, struct own_dir *own)
{
	struct attrcache *ac = l->caches->attr;
	struct node *dir = attrcache_get(ac, fh);
	const struct fsys *fs;

	if (!dir)
		return NULL;
	own->crossed = changes_crossed(l, dir);
	own->preserved = apply_own(l, dir, wcc, false);
	listcache_drop(l->caches->lists, dir);
	fs = attrcache_fsys(ac, dir);
	/* Where case may not count, the name may be cached in another
	 * spelling, too. */
	if (!fsys_lists_all(fs)) {
		attrcache_changed(ac, dir, l->sent_us, l->now_us);
		own->preserved = false;
	}
	if (wcc->after.attributes_follow)
		learn_answered(l, dir, false);
	return dir;
}

/* Binds a name that a change of our own made, moved or removed (`child` NULL).
 * Where two changes overlapped, it is forgotten: it may be the other one's. */
static void bind_own(const struct learn *l, struct node *dir,
    const struct own_dir *own, const nfs3_name *name, struct node *child)
{
	if (own->crossed)
		namecache_forget(l->caches->names, dir, name);
	else
		namecache_bind(
		    l->caches->names, dir, name, child, l->sent_us, false);
}

struct learn_was learn_name_was(const struct learn *l, const diropargs3 *where)
{
	struct attrcache *ac = l->caches->attr;
	struct node *dir = attrcache_find(ac, &where->dir);
	struct learn_was w = {.child = NULL};
	struct named to;

	if (!dir)
		return w;
	to = known_name(l->caches, dir, &where->name);
	w.child = to.child;
	w.known =
	    to.known && to.bound.generation == attrcache_generation(ac, dir);
	w.firm = w.known && to.bound.firm &&
		 to.bound.sent_us > attrcache_ext(ac, dir)->changed_us;
	return w;
}

void learn_lost_name(const struct learn *l, const nfs3_fh *fh,
    const struct learn_was *was, bool preserved)
{
	struct attrcache *ac = l->caches->attr;
	struct node *dir = attrcache_find(ac, fh);

	if (was->child)
		attrcache_moved(ac, was->child, l->sent_us, l->now_us);
	if (dir && !(was->firm && preserved))
		attrcache_changed_some(
		    ac, dir, was->known && preserved, l->now_us);
}

void learn_forget_name(const struct learn *l, const diropargs3 *where)
{
	struct node *dir = attrcache_find(l->caches->attr, &where->dir);

	if (dir)
		namecache_forget(l->caches->names, dir, &where->name);
}

/* ---- well done -------------------------------------------------------- */

/* CREATE, MKDIR, SYMLINK or MKNOD succeeded. The reply need not have a handle
 * (RFC 1813 section 3.3.8); then nobody knows which object it is. */
static void own_create(const struct learn *l)
{
	/* The directory and name stand first in the arguments of all four. */
	const diropargs3 *where = &l->args->dirop;
	const newobj3resok *r = &l->res->newobj.newobj3res_u.resok;
	wcc_data wcc = {.after = r->obj_attributes};
	struct own_dir own = {0};
	struct node *dir = dir_changed(l, &where->dir, &r->dir_wcc, &own);
	struct node *child = NULL;

	if (r->obj.handle_follows)
		child = attrcache_get(
		    l->caches->attr, &r->obj.post_op_fh3_u.handle);
	if (!child) {
		learn_forget_name(l, where);
		/* The CREATE may have found some file there, and cut it short.
		 */
		if (l->proc->proc == NFSPROC3_CREATE &&
		    l->args->create.how.mode == UNCHECKED)
			learn_unknown(l);
		return;
	}
	/* The CREATE may have found the file there, and cut it short. */
	(void)apply_own(l, child, &wcc, false);
	if (l->proc->proc == NFSPROC3_MKDIR)
		child->flags |= NODE_OURS;
	learn_data_drop(l, child);
	if (wcc.after.attributes_follow)
		learn_answered(l, child, false);
	if (dir)
		bind_own(l, dir, &own, &where->name, child);
}

/* REMOVE or RMDIR succeeded: the name is absent, and its object has one name
 * less. */
static void own_remove(const struct learn *l)
{
	const diropargs3 *where = &l->args->dirop;
	struct learn_was was = learn_name_was(l, where);
	struct own_dir own = {0};
	struct node *dir =
	    dir_changed(l, &where->dir, &l->res->wccstat.wcc, &own);

	learn_lost_name(l, &where->dir, &was, own.preserved);
	if (dir)
		bind_own(l, dir, &own, &where->name, NULL);
}

static bool same_handle(const nfs3_fh *a, const nfs3_fh *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/*
 * Binds what RENAME moved to its new name. If the old name led there for sure,
 * that is an answer; else the name is bound as a guess, as of time 0: nothing
 * is answered by it, and it only tells a later change which object that may be
 * about.
 */
static void bind_moved(const struct learn *l, struct node *dir,
    const nfs3_name *name, const struct learn_was *was, bool preserved)
{
	if (!dir || !was->child)
		return;
	namecache_bind(l->caches->names, dir, name, was->child,
	    was->firm && preserved ? l->sent_us : 0, false);
}

/* Whether a RENAME of the node may have done nothing, since both names led to
 * it. */
static bool may_have_other_names(const struct learn *l, const struct node *node)
{
	fattr3 a;

	if (!node || !(node->flags & NODE_ATTRS))
		return true;
	attrcache_fattr(l->caches->attr, node, &a);
	return a.type != NF3DIR && a.nlink > 1;
}

/*
 * RENAME succeeded. Onto another name of the same file it does nothing (RFC
 * 1813 section 3.3.14), so the old name may still be there; and an object that
 * it replaced may have other names. The next attributes tell which it was.
 */
static void own_rename(const struct learn *l)
{
	const diropargs3 *from = &l->args->rename.from;
	const diropargs3 *to = &l->args->rename.to;
	struct learn_was moved = learn_name_was(l, from);
	struct learn_was over = learn_name_was(l, to);
	struct own_dir own = {0}, own_to;
	struct node *dir =
	    dir_changed(l, &from->dir, &l->res->rename.fromdir_wcc, &own);

	if (may_have_other_names(l, moved.child))
		learn_forget_name(l, from);
	else if (dir)
		bind_own(l, dir, &own, &from->name, NULL);
	own_to = own;
	if (!same_handle(&from->dir, &to->dir))
		dir = dir_changed(
		    l, &to->dir, &l->res->rename.todir_wcc, &own_to);
	learn_lost_name(l, &from->dir, &moved, own.preserved);
	learn_lost_name(l, &to->dir, &over, own_to.preserved);
	learn_forget_name(l, to);
	if (!own.crossed && !own_to.crossed)
		bind_moved(l, dir, &to->name, &moved, own.preserved);
}

/* Notes a change of our own that left the contents, so the data stays good. */
static void object_moved(
    const struct learn *l, struct node *node, const wcc_data *wcc)
{
	struct data_version from;
	bool had = learn_version(l, node, &from);

	if (apply_own(l, node, wcc, true) && had)
		learn_data_moved(l, node, &from);
}

/* The server did a LINK, so the file has one more name. */
static void own_link(const struct learn *l)
{
	const LINK3res *r = &l->res->link;
	struct attrcache *ac = l->caches->attr;
	struct node *file = attrcache_get(ac, &l->args->link.file);
	wcc_data wcc = {.after = r->file_attributes};
	struct own_dir own = {0};
	struct node *dir;

	if (file && wcc.after.attributes_follow)
		object_moved(l, file, &wcc);
	else if (file)
		attrcache_moved(ac, file, l->sent_us, l->now_us);
	dir = dir_changed(l, &l->args->link.link.dir, &r->linkdir_wcc, &own);
	if (dir && file)
		bind_own(l, dir, &own, &l->args->link.link.name, file);
}

/* The file has another size. The bytes below both sizes are as they were, so
 * only those above are forgotten. */
static void own_truncate(const struct learn *l, struct node *node)
{
	struct data_version from;
	struct data_key key = caches_data_key(node);
	bool had = learn_version(l, node, &from);
	uint64_t size = l->args->setattr.new_attributes.size.set_size3_u.size;

	if (!apply_own(l, node, &l->res->wccstat.wcc, false) || !had ||
	    !l->caches->data) {
		learn_data_drop(l, node);
		return;
	}
	if (from.size < size)
		size = from.size;
	datacache_cut(l->caches->data, &key, size, UINT64_MAX - size);
	learn_data_moved(l, node, &from);
}

/* SETATTR succeeded. Who may do what is asked for again. */
static void own_setattr(const struct learn *l)
{
	const wcc_data *wcc = &l->res->wccstat.wcc;
	struct attrcache *ac = l->caches->attr;
	struct node *node = attrcache_get(ac, &l->args->setattr.object);

	if (!node)
		return;
	/* Modes and owners decide who may do what, and are part of ACLs. */
	accesscache_drop(l->caches->access, node);
	listcache_drop(l->caches->lists, node);
	answercache_drop(l->caches->answers, node);
	if (l->args->setattr.new_attributes.size.set_it)
		own_truncate(l, node);
	else if (wcc->after.attributes_follow)
		object_moved(l, node, wcc);
	else
		attrcache_changed(ac, node, l->sent_us, l->now_us);
	if (wcc->after.attributes_follow)
		learn_answered(l, node, false);
}

static void own_setacl(const struct learn *l)
{
	const post_op_attr *attr = &l->res->setacl.SETACL3res_u.attributes;
	wcc_data wcc = {.after = *attr};
	struct node *node =
	    attrcache_get(l->caches->attr, &l->args->setacl.object);

	if (!node)
		return;
	accesscache_drop(l->caches->access, node);
	listcache_drop(l->caches->lists, node);
	answercache_drop(l->caches->answers, node);
	if (attr->attributes_follow)
		(void)apply_own(l, node, &wcc, false);
	else
		attrcache_changed(l->caches->attr, node, l->sent_us, l->now_us);
}

/* WRITE succeeded: the bytes in its range are forgotten, all others stay good
 * if nobody else wrote in between. */
static void own_write(const struct learn *l)
{
	const WRITE3resok *r = &l->res->write.WRITE3res_u.resok;
	struct node *node =
	    attrcache_get(l->caches->attr, &l->args->write.file);
	struct data_key key;
	struct data_version from;
	bool had;

	if (!node)
		return;
	key = caches_data_key(node);
	had = learn_version(l, node, &from);
	if (!apply_own(l, node, &r->file_wcc, false) || !had ||
	    !l->caches->data) {
		learn_data_drop(l, node);
		return;
	}
	/* Nobody knows what the server made of a count that differs from the
	 * data's length, so the longer one counts. */
	datacache_cut(l->caches->data, &key, l->args->write.offset,
	    l->args->write.count > l->args->write.data.len
		? l->args->write.count
		: l->args->write.data.len);
	learn_data_moved(l, node, &from);
}

/* COMMIT changes no contents. But a server may give the file its blocks now, so
 * the room in its file system is another one. */
static void learn_commit(const struct learn *l)
{
	const wcc_data *wcc = l->res->status == NFS3_OK
				  ? &l->res->commit.COMMIT3res_u.resok.file_wcc
				  : &l->res->commit.COMMIT3res_u.file_wcc;

	learn_attr(l, &l->args->commit.file, &wcc->after);
	learn_room(l);
}

static void learn_done(const struct learn *l)
{
	if (l->proc->prog == NFSACL_PROGRAM) {
		own_setacl(l);
		return;
	}
	switch (l->proc->proc) {
	case NFSPROC3_SETATTR:
		own_setattr(l);
		break;
	case NFSPROC3_WRITE:
		own_write(l);
		break;
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
		own_create(l);
		break;
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		own_remove(l);
		break;
	case NFSPROC3_RENAME:
		own_rename(l);
		break;
	case NFSPROC3_LINK:
		own_link(l);
		break;
	default:
		break;
	}
}

void learn_change(const struct learn *l)
{
	if (l->proc->prog == NFS_PROGRAM && l->proc->proc == NFSPROC3_COMMIT) {
		learn_commit(l);
	} else if (l->res->status == NFS3_OK) {
		learn_done(l);
		learn_room(l);
	} else if (!learn_certainly_not_done(l->res->status)) {
		learn_unknown(l);
	} else {
		learn_not_done(l);
	}
}
