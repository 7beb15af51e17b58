/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes and listings, as replies bring them. */
#include <string.h>

#include "nfsproto/nfs3_list.h"
#include "scenario/memfs.h"

static nfstime3 time_of(uint64_t ns)
{
	return (nfstime3){.seconds = (unsigned)(ns / 1000000000),
	    .nseconds = (unsigned)(ns % 1000000000)};
}

static uint64_t size_of(const struct memfs_object *o)
{
	return o->type == NF3DIR ? 4096 : o->size;
}

post_op_attr memfs_attr(const struct memfs *fs, const struct memfs_object *o)
{
	post_op_attr attr = {.attributes_follow = !fs->mute};

	attr.post_op_attr_u.attributes = (fattr3){.type = o->type,
	    .mode = o->mode,
	    .nlink = o->nlink,
	    .uid = o->uid,
	    .gid = o->uid,
	    .size = size_of(o),
	    .used = size_of(o),
	    .fsid = 1,
	    .fileid = o->fileid,
	    .atime = time_of(o->mtime_ns),
	    .mtime = time_of(o->mtime_ns),
	    .ctime = time_of(o->ctime_ns)};
	return attr;
}

pre_op_attr memfs_before(const struct memfs *fs, const struct memfs_object *o)
{
	pre_op_attr attr = {.attributes_follow = !fs->mute};

	attr.pre_op_attr_u.attributes = (wcc_attr){.size = size_of(o),
	    .mtime = time_of(o->mtime_ns),
	    .ctime = time_of(o->ctime_ns)};
	return attr;
}

struct memfs_room memfs_room(const struct memfs *fs)
{
	struct memfs_room room = {.bytes = MEMFS_ROOM, .files = MEMFS_OBJECTS};

	for (unsigned i = 0; i < fs->n; i++) {
		const struct memfs_object *o = &fs->objects[i];

		if (o->nlink == 0)
			continue;
		room.bytes -= size_of(o);
		room.files--;
	}
	return room;
}

bool memfs_list(struct memfs *fs, const struct memfs_object *dir, bool plus,
    uint64_t cookie, uint32_t room, struct xdr_view *list)
{
	enum { HEAD = 4 + 84 + 8 }; /* post_op_attr, cookieverf */

	struct nfs3_dirent e = {.cookie = cookie};
	bool ok = true, fits = true;
	XDR xdrs;

	xdrmem_create(&xdrs, fs->list, sizeof(fs->list), XDR_ENCODE);
	for (uint64_t i = cookie; ok && fits && i < dir->nnames; i++) {
		const struct memfs_object *o = dir->names[i].object;

		e.fileid = o->fileid;
		e.name.data = dir->names[i].name;
		e.name.len = (uint32_t)strlen(e.name.data);
		e.cookie = i + 1;
		e.attributes = memfs_attr(fs, o);
		if (fs->lists_old)
			e.attributes.post_op_attr_u.attributes.ctime =
			    time_of(o->former_ns);
		e.handle.handle_follows = TRUE;
		e.handle.post_op_fh3_u.handle = memfs_fh(o);
		fits = HEAD + xdr_getpos(&xdrs) + nfs3_dirent_size(plus, &e) +
			   NFS3_DIRLIST_END_SIZE <=
		       room;
		ok = !fits || nfs3_dirent_encode(&xdrs, plus, &e);
	}
	ok = ok && nfs3_dirlist_end(&xdrs, fits);
	list->data = fs->list;
	list->len = xdr_getpos(&xdrs);
	return ok;
}
