/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small file system in memory, which answers NFSv3 calls as a Linux server
 * does: what is changed there is changed, time stamps move, replies bring
 * wcc_data. Objects are never reused, so a handle tells one from all others.
 */
#ifndef FOREFETCH_TESTS_MEMFS_H
#define FOREFETCH_TESTS_MEMFS_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsproto/nfs_proc.h"

enum {
	MEMFS_OBJECTS = 256,
	MEMFS_NAMES = 16, /* in a directory */
	MEMFS_NAME_MAX = 32,
	MEMFS_PATH_MAX = 128,
	MEMFS_DATA_MAX = 64 << 10,
	MEMFS_ROOM = 1 << 30, /* bytes of the file system */
};

struct memfs_object {
	char fh[16];
	char path[MEMFS_PATH_MAX]; /* the last one it had */
	ftype3 type;
	uint64_t fileid;
	unsigned mode, nlink, uid;
	bool private; /* its owner's alone */
	uint64_t mtime_ns, ctime_ns;
	uint64_t former_ns; /* the ctime before the last change */
	char *data;         /* of a file, or what a link leads to */
	uint64_t size;
	struct {
		char name[MEMFS_NAME_MAX];
		struct memfs_object *object;
	} names[MEMFS_NAMES];
	unsigned nnames;
};

struct memfs {
	struct memfs_object objects[MEMFS_OBJECTS]; /* the first is "/" */
	unsigned n;
	uint64_t now_ns;    /* of the wall clock; the caller's to set */
	uint64_t behind_ns; /* by so much the server's own is behind it */
	unsigned verifier;
	bool mute; /* replies bring no attributes */
	/* READDIRPLUS lists attributes as they were before an object's last
	 * change. */
	bool lists_old;
	bool folds_case;
	_Alignas(8) char list[8192]; /* encoded; of the last READDIR(PLUS) */
};

struct memfs *memfs_new(uint64_t now_ns);
void memfs_free(struct memfs *fs);

/* Returns the object that has the path, or had it last; NULL: none ever had. */
struct memfs_object *memfs_find(struct memfs *fs, const char *path);
struct memfs_object *memfs_object_of(struct memfs *fs, const nfs3_fh *fh);
nfs3_fh memfs_fh(const struct memfs_object *o);

/* Does the call, and writes its answer into `res`, with views into `fs`, valid
 * until it changes again. */
void memfs_execute(struct memfs *fs, uint32_t proc, const union nfs_args *args,
    unsigned uid, union nfs_res *res);

/* memfs_reply.c */
post_op_attr memfs_attr(const struct memfs *fs, const struct memfs_object *o);
pre_op_attr memfs_before(const struct memfs *fs, const struct memfs_object *o);
/* Bytes and files that there is room for. */
struct memfs_room {
	uint64_t bytes, files;
};
struct memfs_room memfs_room(const struct memfs *fs);
/* The entries behind a cookie, as many as fit into a reply of `room` bytes. */
bool memfs_list(struct memfs *fs, const struct memfs_object *dir, bool plus,
    uint64_t cookie, uint32_t room, struct xdr_view *list);

#endif
