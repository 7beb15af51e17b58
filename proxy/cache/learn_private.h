/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to learn*.c, which share the ways in which one reply, `l`, changes
 * the caches: learn.c has replies to calls that change nothing, learn_rights.c
 * what they say of rights, learn_change.c changes of our own, learn_failed.c
 * those that failed or are in doubt, learn_shared.c what other machines had. */
#ifndef FOREFETCH_LEARN_PRIVATE_H
#define FOREFETCH_LEARN_PRIVATE_H

#include "cache/learn.h"
#include "datacache/datacache.h"

struct node;

/* learn.c */
/* Attributes of an object that is known already, from a reply that is otherwise
 * of no use; nothing where there are none. */
void learn_attr(
    const struct learn *l, const nfs3_fh *fh, const post_op_attr *attr);
/* Learns the attributes of the object that a successful reply was about
 * (NULL: none came), and returns its node; NULL without memory, and where the
 * server has called the handle stale since the call was sent. */
struct node *learn_node(
    const struct learn *l, const nfs3_fh *fh, const post_op_attr *attr);
/* Whether the reply is of the version that is known. It is not where the
 * attributes in it are others: the call was sent before that version was first
 * seen, or before a change of our own, and names, rights and answers of then
 * are not bound to it. */
bool learn_is_of_version(
    const struct learn *l, const struct node *node, const post_op_attr *attr);
/* The version that is known of the node; false where none is. */
bool learn_version(
    const struct learn *l, const struct node *node, struct data_version *v);
/* Binds the node's data to the version that it has now, since it is still good;
 * `from` is the version before. */
void learn_data_moved(const struct learn *l, const struct node *node,
    const struct data_version *from);

/* learn_rights.c */
/* Notes that a call of the credential about the node succeeded; `own` where it
 * was a READ or LOOKUP. Nothing for NULL. */
void learn_answered(const struct learn *l, struct node *node, bool own);
/* Learns a reply to ACCESS that gave rights, or denied them. */
void learn_access(const struct learn *l);
/* Notes that the server refused the credential what it asked about the handle
 * (NFS3ERR_ACCES). */
void learn_refused(const struct learn *l, const nfs3_fh *fh);
/* Whether mode or owner differ, and so who may do what. */
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
	uint64_t again_us; /* time to have the bytes again; see datacache_add */
	bool firm;         /* any later change would show as another version */
	bool ahead, shared;
};
/* Keeps them in the data cache, and tells the hooks. */
void learn_bytes(const struct learn_bytes *b);

/* learn_change.c */
/* Learns the reply to a change of our own, or to a COMMIT. */
void learn_change(const struct learn *l);
/* Forgets all data of the node's file. */
void learn_data_drop(const struct learn *l, const struct node *node);

/* The object that a name led to, as far as is known. */
struct learn_was {
	struct node *child; /* NULL: not known, or absent */
	bool known; /* the name is of the directory's present generation */
	bool firm;  /* the name was bound for good, so it led there for sure */
};

/* Where a name led before the change, to be asked before anything is changed.
 */
struct learn_was learn_name_was(const struct learn *l, const diropargs3 *where);
/*
 * A name of an object is gone, so its links and its ctime changed. Where nobody
 * knows which object that was, any may be it: the name was not known, or
 * somebody else changed the directory (not `preserved`) and may have led the
 * name to another one. Even where it is known, the object may have been
 * exchanged within a tick for one with other names, unless the name was firm.
 */
void learn_lost_name(const struct learn *l, const nfs3_fh *fh,
    const struct learn_was *was, bool preserved);
/* Forgets the name: nobody knows whether it is there. */
void learn_forget_name(const struct learn *l, const diropargs3 *where);

/* learn_failed.c: whether a change failed by an error that a server finds
 * before it does anything. */
bool learn_certainly_not_done(nfsstat3 status);
/* Notes that a change was answered, or never will be: how much room its file
 * system has is not what it was. */
void learn_room(const struct learn *l);
/* Learns from a change that was answered by such an error. */
void learn_not_done(const struct learn *l);
/* Learns that the handle, or one of the two, of a call is stale or bad. */
void learn_stale(const struct learn *l);

#endif
