/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to learn*.c. */
#ifndef FOREFETCH_LEARN_PRIVATE_H
#define FOREFETCH_LEARN_PRIVATE_H

#include "cache/learn.h"
#include "datacache/datacache.h"

struct node;

/* learn.c */
void learn_attr(
    const struct learn *l, const nfs3_fh *fh, const post_op_attr *attr);
void learn_answered(const struct learn *l, struct node *node, bool own);
bool learn_version(
    const struct learn *l, const struct node *node, struct data_version *v);
/* The node has a new version, and its data is still good. */
void learn_data_moved(const struct learn *l, const struct node *node,
    const struct data_version *from);

/* Whether they say different things of who may do what. */
bool learn_rights_differ(const fattr3 *x, const fattr3 *y);

/* learn_shared.c */
/* Bytes of a file, of the version that is known of it. */
struct learn_bytes {
	struct caches *caches;
	struct node *node;
	uint32_t cred;
	uint64_t offset;
	const void *data;
	uint32_t len;
	struct rbuf *hold; /* NULL: copy */
	uint64_t sent_us;
	bool firm; /* bound to the version for good */
	bool ahead, shared;
};
void learn_bytes(const struct learn_bytes *b);

/* learn_change.c */
void learn_change(const struct learn *l);
void learn_data_drop(const struct learn *l, const struct node *node);

/* Where a name led, as far as is known. */
struct learn_was {
	struct node *child; /* NULL: not known, or absent */
	bool known; /* the name is of the directory's present generation */
	bool firm;  /* the name was bound for good, so it led there for sure */
};

struct learn_was learn_name_was(const struct learn *l, const diropargs3 *where);
/*
 * A name of an object is gone: its links and its ctime changed. Where it is not
 * known which object that was, any may be it: the name was not known, or
 * somebody else changed the directory (not `preserved`) and may have led the
 * name to another one. Even where it is known, the object may have been
 * exchanged within a tick for one with other names, unless the name was firm.
 */
void learn_lost_name(const struct learn *l, const nfs3_fh *fh,
    const struct learn_was *was, bool preserved);
void learn_forget_name(const struct learn *l, const diropargs3 *where);

/* learn_failed.c: errors that a server finds before it does anything. */
bool learn_certainly_not_done(nfsstat3 status);
/* A change was answered, or never will be: how much room its file system has is
 * not what it was. */
void learn_room(const struct learn *l);
/* A change that was answered by one. */
void learn_not_done(const struct learn *l);
/* STALE or BADHANDLE. */
void learn_stale(const struct learn *l);

#endif
