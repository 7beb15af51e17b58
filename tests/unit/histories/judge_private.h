/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of the judge share its states, and the questions that it asks of
 * them. */
#ifndef FOREFETCH_TESTS_JUDGE_PRIVATE_H
#define FOREFETCH_TESTS_JUDGE_PRIVATE_H

#include "histories/judge.h"

/* The server's file system, from a time on. */
struct state {
	struct memfs *fs;
	uint64_t ns;
	bool ours; /* by a call of a client's */
	/* The reply to that call was lost, so the daemon cannot tell the state
	 * from a stranger's. */
	bool lost;
	/* The daemon knows which objects that changed, since the call or its
	 * reply had their handles. If it had names only, these may lead to
	 * objects of which the daemon has never heard. */
	bool known;
};

/* A change that the server did, or a call that it refused. */
struct deed {
	uint64_t key; /* of the call: who sent it, and what */
	unsigned seq;
	unsigned state; /* after it */
	bool done;
	struct calltext_facts reply;
};

enum { ACK_OBJECTS = 5, ACK_NAMES = 2 };

/* Which objects and names a change was about that was done, and that a client
 * had a reply to. */
struct ack {
	bool rights;    /* it may have changed who may do what */
	bool room;      /* it changed how much room there is */
	unsigned state; /* after the change */
	unsigned seq;
	uint64_t objects[ACK_OBJECTS]; /* fileids; 0: none */
	struct {
		uint64_t dir; /* 0: none */
		char name[MEMFS_NAME_MAX];
	} names[ACK_NAMES];
};

/* A client was told attributes that the object has had since this state, or
 * since a later one. */
struct told {
	uint64_t object;
	unsigned uid; /* whose the client is */
	uint32_t address;
	unsigned state;
	unsigned seq;
	bool refused; /* a WRITE was, so that it will ask again */
};

struct judge {
	struct judge_rules rules;
	struct state *states;
	unsigned nstates;
	struct deed *deeds;
	unsigned ndeeds;
	struct ack *acks;
	unsigned nacks;
	struct told *told;
	unsigned ntold;
	/* Counts all that happens, to tell what came before what. */
	unsigned seq;
	unsigned rebooted_seq, killed_seq;
	unsigned known_state; /* later ones the daemon has seen come */
	char why[700];
};

/* The sentence; `right` is what the server says, or NULL. */
const char *judge_wrong(struct judge *j, const char *what,
    const struct calltext_facts *got, const struct calltext_facts *right);

/* Room for one more than `n`; it is doubled whenever `n` is a power of two. */
void *judge_grow(void *list, unsigned n, size_t size);

/* Returns the deed of the server for the change that the call is behind; NULL:
 * the server has not had it yet. */
const struct deed *judge_before(
    const struct judge *j, const struct judge_op *op);

/* judge_state.c */
/* The oldest state that an answer about the object, or about the name in it,
 * may be of. */
unsigned judge_first(const struct judge *j, const struct judge_op *op,
    uint64_t object, const char *name);
/* The oldest that a right may be of. It has an age of its own, and only a
 * SETATTR of ours ends it at once. */
unsigned judge_first_right(const struct judge *j, const struct judge_op *op);
/* The oldest that an answer may be of that says how much room there is. */
unsigned judge_first_room(const struct judge *j, const struct judge_op *op);
/* Whether what the object was in that state is not told for too long. The
 * object of a name is its directory. */
bool judge_may(const struct judge *j, const struct judge_op *op,
    uint64_t object, unsigned state);

/* Whether somebody else has changed the object since what the daemon noted of
 * it before it sent this SETATTR first. It may have known any state since the
 * last change that it was told of. */
bool judge_changed_before(
    const struct judge *j, const struct judge_op *op, uint64_t object);

/* Whether somebody else has changed the object since some client was told
 * attributes of it last, or the reply to a change of it was lost. All may be
 * users of one kernel, which has one copy. */
bool judge_changed_behind(const struct judge *j, uint64_t object);

/* judge_look.c */
/* The client was told of the object, in that state or a later one. */
void judge_add_told(struct judge *j, const struct judge_op *op, uint64_t object,
    unsigned state);
const char *judge_look(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got);
/* The attributes of a reply, of whichever objects; those of a change's are of a
 * state since it was sent. */
const char *judge_attrs(struct judge *j, const struct judge_op *op,
    const struct calltext_facts *got);

/* judge_effect.c */
/* Fills the objects and names of `k`, for a change that was done with
 * `k->state` after it. */
void judge_touched(
    const struct judge *j, const struct judge_op *op, struct ack *k);
/* The fileid, or 0: there never was such an object. */
uint64_t judge_id(const struct judge *j, const nfs3_fh *fh);
const struct memfs_object *judge_object(const struct state *s, uint64_t fileid);
void judge_name(const nfs3_name *name, char to[MEMFS_NAME_MAX]);
/* Returns the fileid that the name leads to in a state, or 0. */
uint64_t judge_leads_to(
    const struct state *s, const nfs3_fh *dir, const char *name);
/* Returns the object that the REMOVE, RMDIR or RENAME removed or moved, in the
 * state before it; 0: another change, or nothing. */
uint64_t judge_victim(const struct state *before, const struct nfs_proc *proc,
    const union nfs_args *args);
/* Whether the removal, RENAME or LINK has its effect in a state since it was
 * sent. */
bool judge_has_effect(const struct judge *j, const struct judge_op *op);

#endif
