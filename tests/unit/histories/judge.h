/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says whether a reply to a client was right. The judge knows every state that
 * the server's file system was in, when, and what the server did for whom.
 *
 *	a change	the reply is what the server answered when it did this
 *			client's change; it was done once, unless the server
 *			lost its reply cache; OK means that it was done
 *	a look		each fact of the reply was so in some state within the
 *			bound of the mode, and no earlier than our own changes
 *			of that object or name which were answered before the
 *			client asked. Name, attributes and each entry of a
 *			listing are facts of their own; the bytes and the
 *			attributes of one READ are one fact.
 */
#ifndef FOREFETCH_TESTS_JUDGE_H
#define FOREFETCH_TESTS_JUDGE_H

#include "scenario/calltext.h"

struct judge;

/* A call of a client's. `args` point into `text` and the server's objects. */
struct judge_op {
	char text[CALLTEXT_MAX]; /* the words, cut apart */
	char *words[8];
	unsigned nwords;
	const struct nfs_proc *proc;
	union nfs_args args;
	unsigned uid;
	uint64_t sent_ns;
	unsigned sent_state;
	unsigned sent_seq;
	bool away; /* the server was away while it waited */
};

enum judge_mode { JUDGE_STRICT, JUDGE_BOUNDED, JUDGE_FROZEN, JUDGE_OFFLINE };

struct judge *judge_new(enum judge_mode mode, const struct memfs *fs);
void judge_free(struct judge *j);

bool judge_is_change(const struct nfs_proc *proc);

/* A stranger changed `fs`, which has the new state. */
void judge_changed(struct judge *j, const struct memfs *fs);
/* The server is about to do a call, which is not in its reply cache; the state
 * behind it is known from now on. `status`: what it answers instead of its
 * results, or NFS3_OK. */
void judge_serve(struct judge *j, const struct memfs *fs,
    const struct nfs_proc *proc, const union nfs_args *args, unsigned uid,
    nfsstat3 status);
/* It answers a call by an error and does not do it. */
void judge_refuse(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, nfsstat3 status);
/* It forgot its replies; or the daemon was killed. */
void judge_reboot(struct judge *j, const struct memfs *fs);
void judge_killed(struct judge *j);

/* The client is about to send: fills the last five fields. */
void judge_sent(struct judge *j, struct judge_op *op);
/* NULL, or what was wrong, until the next call. */
const char *judge_reply(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got);

#endif
