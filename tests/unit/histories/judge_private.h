/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What judge.c and judge_look.c share. */
#ifndef FOREFETCH_TESTS_JUDGE_PRIVATE_H
#define FOREFETCH_TESTS_JUDGE_PRIVATE_H

#include "histories/judge.h"

/* The server's file system, from a time on. */
struct state {
	struct memfs *fs;
	uint64_t ns;
};

/* A change that the server did, or a call that it refused. */
struct deed {
	uint64_t key; /* of the call: who sent it, and what */
	unsigned seq;
	unsigned state; /* after it */
	bool done;
	struct calltext_facts reply;
};

/* Which objects and names a change was about that was done, and that a client
 * had a reply to. */
struct ack {
	unsigned state; /* after the change */
	unsigned seq;
	uint64_t objects[3]; /* fileids; 0: none */
	struct {
		uint64_t dir; /* 0: none */
		char name[MEMFS_NAME_MAX];
	} names[2];
};

struct judge {
	enum judge_mode mode;
	struct state *states;
	unsigned nstates;
	struct deed *deeds;
	unsigned ndeeds;
	struct ack *acks;
	unsigned nacks;
	/* Counts all that happens, to tell what came before what. */
	unsigned seq;
	unsigned rebooted_seq, killed_seq;
	char why[700];
};

/* The sentence; `right` is what the server says, or NULL. */
const char *judge_wrong(struct judge *j, const char *what,
    const struct calltext_facts *got, const struct calltext_facts *right);

/* judge_look.c */
const char *judge_look(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got);

/* judge_effect.c */
/* Fills the objects and names of `k`. */
void judge_touched(
    const struct judge *j, const struct judge_op *op, struct ack *k);
/* The fileid, or 0: there never was such an object. */
uint64_t judge_id(const struct judge *j, const nfs3_fh *fh);
void judge_name(const nfs3_name *name, char to[MEMFS_NAME_MAX]);
/* What the name leads to in a state: a fileid, or 0. */
uint64_t judge_leads_to(
    const struct state *s, const nfs3_fh *dir, const char *name);
/* Whether the removal, RENAME or LINK has its effect in a state since it was
 * sent. */
bool judge_has_effect(const struct judge *j, const struct judge_op *op);

#endif
