/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says whether a reply to a client was right. The judge keeps every state of
 * the server's file system with the time when it began, and every change that
 * the server did or refused.
 *
 * The reply to a change is right if the server gave that reply to this call.
 * The server may do the change twice only if it rebooted after the client sent
 * it. If the reply was lost, and nobody can know whether the change was done,
 * the errors of a repeat are right, too; and OK is right if the change was
 * done, or had its effect by whomever. IO is right for a SETATTR without a
 * guard if somebody else has changed the object since the daemon noted what it
 * was, which may have been long before.
 *
 * A WRITE may be refused by IO, and not be done, if somebody else has changed
 * the file since this or another client was told attributes of it, or if the
 * reply to such a change of a client's was lost; and by JUKEBOX at any time.
 *
 * A reply to any other call, a look, is taken apart into facts. Each fact must
 * have been true in at least one state that the mode allows:
 *
 *	strict	the state when the client sent the call, or a later one
 *	bounded	a state that ended at most attr_timeout before that
 *	frozen	any state
 *
 * Where ages count, a version of an object that ended (by a change of whatever
 * attributes) may be told in bounded mode for a tenth of the time that it had
 * been there, and no longer; names and absences are of the directory's version.
 * It holds for files that the daemon knows to have been changed by a client. A
 * version of a directory that came by a call of a client's is left out.
 *
 * That state is no older than the last change of the same object or name that
 * was done and that some client had a reply to, and no older than attributes of
 * the object that some client was told, each before this call was sent.
 *
 * A look behind a change of a name that its client had sent before, and that
 * the server had, is answered by the server when it has done that change.
 *
 * Facts of one reply may come from different states, because the daemon caches
 * them apart: the attributes of each object, the presence of each name in a
 * listing, what a name leads to, how much room there is, and the right to READ.
 * The bytes and the attributes of one READ are one fact. The room is no older
 * than the last change that took or gave some, and was answered.
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
	uint32_t address; /* where the client was when it asked (IPv4) */
	/* The daemon took the server for away at some time while the call
	 * waited, so cached answers of any age, and IO, are right. */
	bool away;
	/* The daemon lost the reply to the change, and could not repeat it: see
	 * "A lost connection" in docs/CONTRACT.md. */
	bool doubtful;
	/* In doubt, the daemon still knew which object the change was about. */
	bool noted;
	/* The server had another call of the client's, a change of a name in
	 * the directory that this call looks at, and no reply had come. */
	struct {
		uint64_t key; /* of that call; 0: there was none */
		unsigned seq; /* when it was sent */
		bool sure;    /* neither can have been sent again */
	} behind;
	/* Set by judge_sent(). */
	uint64_t key;
	uint64_t sent_ns;
	unsigned sent_state;
	unsigned sent_seq;
};

enum judge_mode { JUDGE_STRICT, JUDGE_BOUNDED, JUDGE_FROZEN, JUDGE_OFFLINE };

struct judge_rules {
	enum judge_mode mode;
	bool ages; /* see above */
};

struct judge *judge_new(struct judge_rules rules, const struct memfs *fs);
void judge_free(struct judge *j);

/* Returns a hash of who calls, and of the arguments as they are on the wire, by
 * which the judge tells calls apart. */
uint64_t judge_key(
    const struct nfs_proc *proc, const union nfs_args *args, unsigned uid);

/* A stranger changed `fs`, which has the new state. */
void judge_changed(struct judge *j, const struct memfs *fs);
/* The server is about to do a call that its reply cache does not answer. It
 * will answer `status`, or, if that is NFS3_OK, what the call results in. */
void judge_serve(struct judge *j, const struct memfs *fs,
    const struct nfs_proc *proc, const union nfs_args *args, unsigned uid,
    nfsstat3 status);
/* The reply to such a call, which the server has done, does not come; `gone`:
 * nor does the daemon run any more that sent it. */
void judge_lose(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, bool gone);
/* The server answers an error, and does not do the call. */
void judge_refuse(struct judge *j, const struct nfs_proc *proc,
    const union nfs_args *args, unsigned uid, nfsstat3 status);
/* The server lost its reply cache. */
void judge_reboot(struct judge *j, const struct memfs *fs);
/* The daemon was killed. */
void judge_killed(struct judge *j);
/* It knows nothing any more of who changed what until now. */
void judge_forgot(struct judge *j);

/* The client is about to send the call. */
void judge_sent(struct judge *j, struct judge_op *op);
/* NULL if the reply is right; else a sentence, valid until the next reply. */
const char *judge_reply(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got);

#endif
