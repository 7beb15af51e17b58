/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What judge.c and judge_look.c share. */
#ifndef FOREFETCH_TESTS_JUDGE_PRIVATE_H
#define FOREFETCH_TESTS_JUDGE_PRIVATE_H

#include "histories/judge.h"

enum { ACKS = 1024, TOUCHED = 3 };

/* The server's file system, from a time on. */
struct state {
	struct memfs *fs;
	uint64_t ns;
};

/* A change that the server did, or refused. */
struct deed {
	uint64_t key; /* who, and what */
	unsigned seq;
	unsigned state; /* behind it */
	bool done;
	struct calltext_facts facts; /* its reply */
};

/* A change of ours that was answered: what it was about. */
struct ack {
	uint32_t proc;
	unsigned state, seq;
	uint64_t objects[TOUCHED]; /* fileids; 0: none */
	struct {
		uint64_t dir;
		char name[MEMFS_NAME_MAX];
	} names[2];
};

struct judge {
	enum judge_mode mode;
	struct state *states;
	unsigned nstates;
	struct deed *deeds;
	unsigned ndeeds;
	struct ack acks[ACKS];
	unsigned nacks;
	unsigned seq;
	unsigned rebooted_seq, killed_seq;
	char why[700];
};

const char *judge_wrong(struct judge *j, const char *what,
    const struct calltext_facts *got, const struct calltext_facts *right);
const char *judge_change(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got);
const char *judge_look(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got);

/* Changes that make a difference when they are done twice. */
bool judge_is_once(const struct nfs_proc *proc);
/* Which objects and names the change is about. */
void judge_touched(const struct judge_op *op, struct ack *k);

#endif
