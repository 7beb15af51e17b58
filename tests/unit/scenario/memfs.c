/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file system: objects, names, and what each call does to them. */
#include "scenario/memfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { GRAIN_NS = 4000000 /* what Linux's time stamps move by */ };

/* ---- objects ----------------------------------------------------------- */

static uint64_t stamp(const struct memfs *fs)
{
	uint64_t ns = fs->now_ns - fs->behind_ns;

	return ns - ns % GRAIN_NS;
}

static struct memfs_object *object_new(
    struct memfs *fs, ftype3 type, unsigned mode, unsigned uid)
{
	struct memfs_object *o = &fs->objects[fs->n];

	if (fs->n == MEMFS_OBJECTS)
		abort();
	snprintf(o->fh, sizeof(o->fh), "object-%06u", fs->n);
	o->type = type;
	o->fileid = 100 + fs->n++;
	o->mode = mode;
	o->nlink = 0;
	o->uid = uid;
	o->mtime_ns = o->ctime_ns = o->former_ns = stamp(fs);
	return o;
}

struct memfs *memfs_new(uint64_t now_ns)
{
	struct memfs *fs = calloc(1, sizeof(*fs));
	struct memfs_object *root;

	fs->now_ns = now_ns;
	fs->verifier = 1;
	root = object_new(fs, NF3DIR, 0777, 0);
	root->nlink = 2;
	strcpy(root->path, "/");
	return fs;
}

void memfs_free(struct memfs *fs)
{
	for (unsigned i = 0; fs && i < fs->n; i++)
		free(fs->objects[i].data);
	free(fs);
}

nfs3_fh memfs_fh(const struct memfs_object *o)
{
	return (nfs3_fh){.len = 16, .data = o->fh};
}

struct memfs_object *memfs_object_of(struct memfs *fs, const nfs3_fh *fh)
{
	for (unsigned i = 0; i < fs->n; i++)
		if (fh->len == 16 &&
		    memcmp(fh->data, fs->objects[i].fh, 16) == 0)
			return &fs->objects[i];
	return NULL;
}

struct memfs_object *memfs_find(struct memfs *fs, const char *path)
{
	struct memfs_object *found = NULL;

	for (unsigned i = 0; i < fs->n; i++)
		if (strcmp(fs->objects[i].path, path) == 0 &&
		    (!found || fs->objects[i].nlink > 0))
			found = &fs->objects[i];
	return found;
}

/* ---- names ------------------------------------------------------------- */

static bool name_is(
    const struct memfs *fs, const char *name, const nfs3_name *asked)
{
	if (strlen(name) != asked->len)
		return false;
	return fs->folds_case ? strncasecmp(name, asked->data, asked->len) == 0
			      : memcmp(name, asked->data, asked->len) == 0;
}

/* Its place in the directory, or nnames. */
static unsigned place_of(const struct memfs *fs, const struct memfs_object *dir,
    const nfs3_name *name)
{
	unsigned i = 0;

	while (i < dir->nnames && !name_is(fs, dir->names[i].name, name))
		i++;
	return i;
}

static void touch(struct memfs *fs, struct memfs_object *o, bool contents)
{
	o->former_ns = o->ctime_ns;
	o->ctime_ns = stamp(fs);
	if (contents)
		o->mtime_ns = o->ctime_ns;
}

static void name_add(struct memfs *fs, struct memfs_object *dir,
    const nfs3_name *name, struct memfs_object *o)
{
	unsigned i = dir->nnames++;

	if (i == MEMFS_NAMES || name->len >= MEMFS_NAME_MAX)
		abort();
	snprintf(dir->names[i].name, MEMFS_NAME_MAX, "%.*s", (int)name->len,
	    name->data);
	dir->names[i].object = o;
	snprintf(o->path, sizeof(o->path), "%.90s%s%s",
	    dir->nlink > 0 && dir->path[1] ? dir->path : "", "/",
	    dir->names[i].name);
	o->nlink += o->type == NF3DIR ? 2 : 1;
	touch(fs, dir, true);
}

static void name_remove(struct memfs *fs, struct memfs_object *dir, unsigned i)
{
	struct memfs_object *o = dir->names[i].object;

	o->nlink -= o->type == NF3DIR ? 2 : 1;
	touch(fs, o, false);
	dir->nnames--;
	memmove(&dir->names[i], &dir->names[i + 1],
	    (dir->nnames - i) * sizeof(dir->names[0]));
	touch(fs, dir, true);
}

/* ---- calls ------------------------------------------------------------- */

struct call {
	struct memfs *fs;
	const union nfs_args *args;
	unsigned uid;
	struct memfs_object *object; /* that the arguments begin with */
	pre_op_attr before;          /* of that one */
};

/* A file has one right here: whoever may read it may also write it. */
static bool may(const struct call *c, const struct memfs_object *o)
{
	bool all = o->type != NF3REG || (o->mode & 04);

	return c->uid == o->uid || (all && !o->private);
}

static wcc_data wcc(const struct call *c)
{
	return (wcc_data){
	    .before = c->before, .after = memfs_attr(c->fs, c->object)};
}

/* Returns the error that a server with little room answers to a new name. */
static nfsstat3 refusal(const struct memfs *fs, const struct memfs_object *dir,
    const nfs3_name *name)
{
	if (!dir || dir->nlink == 0)
		return NFS3ERR_STALE;
	if (dir->type != NF3DIR)
		return NFS3ERR_NOTDIR;
	if (name->len >= MEMFS_NAME_MAX)
		return NFS3ERR_NAMETOOLONG;
	if (name->len == 0 || memchr(name->data, '/', name->len) ||
	    memchr(name->data, '\0', name->len) ||
	    strncmp(name->data, "..", name->len) == 0)
		return NFS3ERR_INVAL;
	if (fs->n == MEMFS_OBJECTS || dir->nnames == MEMFS_NAMES)
		return NFS3ERR_NOSPC;
	return NFS3_OK;
}

static bool has_room(uint64_t offset, uint64_t len)
{
	return offset <= MEMFS_DATA_MAX && len <= MEMFS_DATA_MAX - offset;
}

static void set_size(struct memfs_object *o, uint64_t size)
{
	if (size > MEMFS_DATA_MAX)
		abort();
	o->data = realloc(o->data, MEMFS_DATA_MAX);
	if (size > o->size)
		memset(o->data + o->size, 0, size - o->size);
	o->size = size;
}

static void set_attributes(
    struct memfs *fs, struct memfs_object *o, const sattr3 *a)
{
	touch(fs, o, a->size.set_it);
	if (a->mode.set_it)
		o->mode = a->mode.set_uint32_u.value;
	if (a->uid.set_it)
		o->uid = a->uid.set_uint32_u.value;
	if (a->size.set_it)
		set_size(o, a->size.set_size3_u.size);
	if (a->mtime.set_it == SET_TO_CLIENT_TIME)
		o->mtime_ns =
		    a->mtime.set_time_u.time.seconds * UINT64_C(1000000000) +
		    a->mtime.set_time_u.time.nseconds;
}

static nfsstat3 do_getattr(struct call *c, union nfs_res *res)
{
	post_op_attr attr = memfs_attr(c->fs, c->object);

	res->getattr.GETATTR3res_u.resok.obj_attributes =
	    attr.post_op_attr_u.attributes;
	return NFS3_OK;
}

static nfsstat3 do_setattr(struct call *c, union nfs_res *res)
{
	const SETATTR3args *a = &c->args->setattr;
	const wcc_attr *is = &c->before.pre_op_attr_u.attributes;
	const nfstime3 *guard = &a->guard.sattrguard3_u.obj_ctime;
	nfsstat3 status = NFS3_OK;

	if (a->guard.check && (guard->seconds != is->ctime.seconds ||
				  guard->nseconds != is->ctime.nseconds))
		status = NFS3ERR_NOT_SYNC;
	else if (a->new_attributes.size.set_it &&
		 (c->object->type != NF3REG ||
		     !has_room(0, a->new_attributes.size.set_size3_u.size)))
		status = NFS3ERR_FBIG;
	else
		set_attributes(c->fs, c->object, &a->new_attributes);
	res->wccstat.wcc = wcc(c);
	return status;
}

static nfsstat3 do_lookup(struct call *c, union nfs_res *res)
{
	LOOKUP3resok *r = &res->lookup.LOOKUP3res_u.resok;
	unsigned i = place_of(c->fs, c->object, &c->args->dirop.name);
	const struct memfs_object *o;

	if (!may(c, c->object) || i == c->object->nnames) {
		res->lookup.LOOKUP3res_u.dir_attributes =
		    memfs_attr(c->fs, c->object);
		return may(c, c->object) ? NFS3ERR_NOENT : NFS3ERR_ACCES;
	}
	o = c->object->names[i].object;
	r->object = memfs_fh(o);
	r->obj_attributes = memfs_attr(c->fs, o);
	r->dir_attributes = memfs_attr(c->fs, c->object);
	return NFS3_OK;
}

static nfsstat3 do_access(struct call *c, union nfs_res *res)
{
	ACCESS3resok *r = &res->access.ACCESS3res_u.resok;

	r->obj_attributes = memfs_attr(c->fs, c->object);
	r->access = may(c, c->object) ? c->args->access.access : 0;
	return NFS3_OK;
}

static nfsstat3 do_readlink(struct call *c, union nfs_res *res)
{
	READLINK3resok *r = &res->readlink.READLINK3res_u.resok;

	r->symlink_attributes = memfs_attr(c->fs, c->object);
	r->data.data = c->object->data;
	r->data.len = (uint32_t)c->object->size;
	return NFS3_OK;
}

static nfsstat3 do_read(struct call *c, union nfs_res *res)
{
	const READ3args *a = &c->args->read;
	READ3resok *r = &res->read.READ3res_u.resok;
	const struct memfs_object *o = c->object;
	uint64_t end = o->size;

	if (!may(c, o) || o->type != NF3REG) {
		res->read.READ3res_u.file_attributes = memfs_attr(c->fs, o);
		return may(c, o) ? NFS3ERR_INVAL : NFS3ERR_ACCES;
	}
	if (a->offset < end && a->count < end - a->offset)
		end = a->offset + a->count;
	r->file_attributes = memfs_attr(c->fs, o);
	r->count = a->offset < end ? (unsigned)(end - a->offset) : 0;
	r->eof = end == o->size;
	r->data.len = r->count;
	r->data.data = r->count > 0 ? o->data + a->offset : NULL;
	return NFS3_OK;
}

static nfsstat3 do_write(struct call *c, union nfs_res *res)
{
	const WRITE3args *a = &c->args->write;
	WRITE3resok *r = &res->write.WRITE3res_u.resok;

	if (!may(c, c->object)) {
		res->write.WRITE3res_u.file_wcc = wcc(c);
		return NFS3ERR_ACCES;
	}
	if (c->object->type != NF3REG || a->count > a->data.len ||
	    !has_room(a->offset, a->count)) {
		res->write.WRITE3res_u.file_wcc = wcc(c);
		return c->object->type == NF3REG ? NFS3ERR_FBIG : NFS3ERR_INVAL;
	}
	if (a->offset + a->count > c->object->size)
		set_size(c->object, a->offset + a->count);
	memcpy(c->object->data + a->offset, a->data.data, a->count);
	touch(c->fs, c->object, true);
	r->file_wcc = wcc(c);
	r->count = a->count;
	r->committed = a->stable;
	r->verf[0] = (char)c->fs->verifier;
	return NFS3_OK;
}

static nfsstat3 do_commit(struct call *c, union nfs_res *res)
{
	COMMIT3resok *r = &res->commit.COMMIT3res_u.resok;

	r->file_wcc = wcc(c);
	r->verf[0] = (char)c->fs->verifier;
	return NFS3_OK;
}

/* CREATE, MKDIR, SYMLINK and MKNOD; `*made`: the new object. */
static nfsstat3 make(struct call *c, const nfs3_name *name, ftype3 type,
    unsigned mode, union nfs_res *res, struct memfs_object **made)
{
	newobj3resok *r = &res->newobj.newobj3res_u.resok;
	nfsstat3 status = refusal(c->fs, c->object, name);
	struct memfs_object *o;

	if (place_of(c->fs, c->object, name) < c->object->nnames)
		status = NFS3ERR_EXIST;
	if (status != NFS3_OK) {
		res->newobj.newobj3res_u.dir_wcc = wcc(c);
		return status;
	}
	o = object_new(c->fs, type, mode, c->uid);
	name_add(c->fs, c->object, name, o);
	r->obj.handle_follows = TRUE;
	r->obj.post_op_fh3_u.handle = memfs_fh(o);
	r->obj_attributes = memfs_attr(c->fs, o);
	r->dir_wcc = wcc(c);
	*made = o;
	return NFS3_OK;
}

static nfsstat3 do_create(struct call *c, union nfs_res *res)
{
	const CREATE3args *a = &c->args->create;
	newobj3resok *r = &res->newobj.newobj3res_u.resok;
	unsigned i = place_of(c->fs, c->object, &a->where.name);
	struct memfs_object *o;

	if (i == c->object->nnames)
		return make(c, &a->where.name, NF3REG, 0644, res, &o);
	o = c->object->names[i].object;
	if (a->how.mode == GUARDED || o->type != NF3REG) {
		res->newobj.newobj3res_u.dir_wcc = wcc(c);
		return NFS3ERR_EXIST;
	}
	r->obj.handle_follows = TRUE;
	r->obj.post_op_fh3_u.handle = memfs_fh(o);
	r->obj_attributes = memfs_attr(c->fs, o);
	r->dir_wcc = wcc(c);
	return NFS3_OK;
}

static nfsstat3 do_mkdir(struct call *c, union nfs_res *res)
{
	struct memfs_object *o;

	return make(c, &c->args->mkdir.where.name, NF3DIR, 0755, res, &o);
}

static nfsstat3 do_symlink(struct call *c, union nfs_res *res)
{
	const SYMLINK3args *a = &c->args->symlink;
	struct memfs_object *o;
	nfsstat3 status = make(c, &a->where.name, NF3LNK, 0777, res, &o);

	if (status != NFS3_OK)
		return status;
	set_size(o, a->symlink.symlink_data.len);
	memcpy(o->data, a->symlink.symlink_data.data, o->size);
	res->newobj.newobj3res_u.resok.obj_attributes = memfs_attr(c->fs, o);
	return NFS3_OK;
}

static nfsstat3 do_mknod(struct call *c, union nfs_res *res)
{
	struct memfs_object *o;

	return make(c, &c->args->mknod.where.name, NF3FIFO, 0644, res, &o);
}

static nfsstat3 do_remove(struct call *c, union nfs_res *res)
{
	unsigned i = place_of(c->fs, c->object, &c->args->dirop.name);
	nfsstat3 status = NFS3ERR_NOENT;

	if (i < c->object->nnames) {
		name_remove(c->fs, c->object, i);
		status = NFS3_OK;
	}
	res->wccstat.wcc = wcc(c);
	return status;
}

static nfsstat3 do_rename(struct call *c, union nfs_res *res)
{
	const RENAME3args *a = &c->args->rename;
	struct memfs_object *to = memfs_object_of(c->fs, &a->to.dir), *o;
	pre_op_attr before;
	unsigned i = place_of(c->fs, c->object, &a->from.name), k;
	nfsstat3 status = refusal(c->fs, to, &a->to.name);

	if (status == NFS3ERR_STALE)
		return status;
	before = memfs_before(c->fs, to);
	if (i == c->object->nnames)
		status = NFS3ERR_NOENT;
	if (status == NFS3_OK) {
		o = c->object->names[i].object;
		name_remove(c->fs, c->object, i);
		k = place_of(c->fs, to, &a->to.name);
		if (k < to->nnames)
			name_remove(c->fs, to, k);
		name_add(c->fs, to, &a->to.name, o);
	}
	res->rename.fromdir_wcc = wcc(c);
	res->rename.todir_wcc =
	    (wcc_data){.before = before, .after = memfs_attr(c->fs, to)};
	return status;
}

/* The path of the file stays the one that it had first. */
static nfsstat3 do_link(struct call *c, union nfs_res *res)
{
	const LINK3args *a = &c->args->link;
	struct memfs_object *dir = memfs_object_of(c->fs, &a->link.dir);
	nfsstat3 status = refusal(c->fs, dir, &a->link.name);
	char path[MEMFS_PATH_MAX];
	pre_op_attr before;

	if (status == NFS3ERR_STALE)
		return status;
	before = memfs_before(c->fs, dir);
	if (place_of(c->fs, dir, &a->link.name) < dir->nnames)
		status = NFS3ERR_EXIST;
	if (status == NFS3_OK) {
		memcpy(path, c->object->path, sizeof(path));
		name_add(c->fs, dir, &a->link.name, c->object);
		memcpy(c->object->path, path, sizeof(path));
		touch(c->fs, c->object, false);
	}
	res->link.file_attributes = memfs_attr(c->fs, c->object);
	res->link.linkdir_wcc =
	    (wcc_data){.before = before, .after = memfs_attr(c->fs, dir)};
	return status;
}

static nfsstat3 do_readdir(struct call *c, union nfs_res *res)
{
	READDIR3resok *r = &res->readdir.READDIR3res_u.resok;

	r->dir_attributes = memfs_attr(c->fs, c->object);
	return memfs_list(c->fs, c->object, false, c->args->readdir.cookie,
		   c->args->readdir.count, &r->reply)
		   ? NFS3_OK
		   : NFS3ERR_SERVERFAULT;
}

static nfsstat3 do_readdirplus(struct call *c, union nfs_res *res)
{
	READDIRPLUS3resok *r = &res->readdirplus.READDIRPLUS3res_u.resok;

	r->dir_attributes = memfs_attr(c->fs, c->object);
	return memfs_list(c->fs, c->object, true, c->args->readdirplus.cookie,
		   c->args->readdirplus.maxcount, &r->reply)
		   ? NFS3_OK
		   : NFS3ERR_SERVERFAULT;
}

static nfsstat3 do_fsstat(struct call *c, union nfs_res *res)
{
	FSSTAT3resok *r = &res->fsstat.FSSTAT3res_u.resok;
	struct memfs_room room = memfs_room(c->fs);

	*r = (FSSTAT3resok){.obj_attributes = memfs_attr(c->fs, c->object),
	    .tbytes = MEMFS_ROOM,
	    .fbytes = room.bytes,
	    .abytes = room.bytes,
	    .tfiles = MEMFS_OBJECTS,
	    .ffiles = room.files,
	    .afiles = room.files};
	return NFS3_OK;
}

static nfsstat3 do_fsinfo(struct call *c, union nfs_res *res)
{
	FSINFO3resok *r = &res->fsinfo.FSINFO3res_u.resok;

	*r = (FSINFO3resok){.obj_attributes = memfs_attr(c->fs, c->object),
	    .rtmax = 1 << 20,
	    .rtpref = 1 << 20,
	    .wtmax = 1 << 20,
	    .wtpref = 1 << 20,
	    .dtpref = 1 << 16,
	    .maxfilesize = 1 << 30,
	    .time_delta = {.nseconds = 1}};
	return NFS3_OK;
}

static nfsstat3 do_pathconf(struct call *c, union nfs_res *res)
{
	PATHCONF3resok *r = &res->pathconf.PATHCONF3res_u.resok;

	*r = (PATHCONF3resok){.obj_attributes = memfs_attr(c->fs, c->object),
	    .linkmax = 1000,
	    .name_max = 255,
	    .case_insensitive = c->fs->folds_case,
	    .case_preserving = TRUE};
	return NFS3_OK;
}

static nfsstat3 (*const calls[])(struct call *c, union nfs_res *res) = {
    [NFSPROC3_GETATTR] = do_getattr,
    [NFSPROC3_SETATTR] = do_setattr,
    [NFSPROC3_LOOKUP] = do_lookup,
    [NFSPROC3_ACCESS] = do_access,
    [NFSPROC3_READLINK] = do_readlink,
    [NFSPROC3_READ] = do_read,
    [NFSPROC3_WRITE] = do_write,
    [NFSPROC3_CREATE] = do_create,
    [NFSPROC3_MKDIR] = do_mkdir,
    [NFSPROC3_SYMLINK] = do_symlink,
    [NFSPROC3_MKNOD] = do_mknod,
    [NFSPROC3_REMOVE] = do_remove,
    [NFSPROC3_RMDIR] = do_remove,
    [NFSPROC3_RENAME] = do_rename,
    [NFSPROC3_LINK] = do_link,
    [NFSPROC3_READDIR] = do_readdir,
    [NFSPROC3_READDIRPLUS] = do_readdirplus,
    [NFSPROC3_FSSTAT] = do_fsstat,
    [NFSPROC3_FSINFO] = do_fsinfo,
    [NFSPROC3_PATHCONF] = do_pathconf,
    [NFSPROC3_COMMIT] = do_commit,
};

void memfs_execute(struct memfs *fs, uint32_t proc, const union nfs_args *args,
    unsigned uid, union nfs_res *res)
{
	struct call c = {.fs = fs, .args = args, .uid = uid};

	memset(res, 0, sizeof(*res));
	if (proc == NFSPROC3_NULL)
		return;
	c.object = memfs_object_of(fs, &args->object);
	if (!c.object || c.object->nlink == 0) {
		res->status = NFS3ERR_STALE;
		return;
	}
	c.before = memfs_before(fs, c.object);
	res->status = calls[proc](&c, res);
}
