/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says whether a reply to a client was right. The judge keeps every state of
 * the server's file system with the time when it began, and every change that
 * the server did or refused.
 *
 * The reply to a change is right if the server gave that reply to this call, or
 * if it is OK and the server did the change. The server may do the change twice
 * only if it rebooted after the client sent it. If the reply was lost, and
 *nobody can know whether the change was done, the errors of a repeat are right,
 *too; and OK is right if the change had its effect, by whomever.
 *
 * The reply to any other call, a look, consists of facts: a name, the
 *attributes of an object, the presence of a name in a listing, what its name
 *leads to there and the attributes of that; the bytes and the attributes of one
 *READ are one fact. A fact is right if it was true in a state that the mode
 *still allows:
 *
 *	strict	the state when the client sent the call, or a later one
 *	bounded	a state that ended at most attr_timeout before that
 *	frozen	any state
 *
 * and that is no older than the last change of the same object or name that
 * was done, and that some client had a reply to by then.
 */
#ifndef FOREFETCH_TESTS_JUDGE_H
#define FOREFETCH_TESTS_JUDGE_H

#include "scenario/calltext.h"

struct judge;

/* A call of a client's. `args` point into `text` and the server's objects. */
struct judge_op {
	char text[CALLTEXT_MAX]; /* cut into words */
	char *words[8];
	unsigned nwords;
	const struct nfs_proc *proc;
	union nfs_args args;
	unsigned uid;
	/* The daemon took the server for away at some time while the call
	 * waited, so cached answers of any age, and IO, are right. */
	bool away;
	/* The daemon lost the reply to the change, and could not repeat it: see
	 * "A lost connection" in docs/CONTRACT.md. */
	bool doubtful;
	/* Set by judge_sent(). */
	uint64_t sent_ns;
	unsigned sent_state;
	unsigned sent_seq;
};

enum judge_mode { JUDGE_STRICT, JUDGE_BOUNDED, JUDGE_FROZEN, JUDGE_OFFLINE };

struct judge *judge_new(enum judge_mode mode, const struct memfs *fs);
void judge_free(struct judge *j);

bool judge_is_change(const struct nfs_proc *proc);

/* A stranger changed `fs`, which has the new state. */
void judge_changed(struct judge *j, const struct memfs *fs);
/* The server is about to do a call that its reply cache does not answer. It
 * will answer `status`, or, if that is NFS3_OK, what the call results in. */
void judge_serve(struct judge *j, const struct memfs *fs,
    const struct nfs_proc *proc, const union nfs_args *args, unsigned uid,
    nfsstat3 status);
/* The server answers an error, and does not do the call. */
void judge_refuse(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, nfsstat3 status);
/* The server lost its reply cache. */
void judge_reboot(struct judge *j, const struct memfs *fs);
/* The daemon was killed. */
void judge_killed(struct judge *j);

/* The client is about to send the call. */
void judge_sent(struct judge *j, struct judge_op *op);
/* NULL if the reply is right; else a sentence, valid until the next reply. */
const char *judge_reply(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got);

#endif
