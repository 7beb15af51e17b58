/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to merge*.c: the state of a merge.
 *
 *	merge.c         bytes -> message; phases, a step at a time
 *	merge_runs.c    which runs are missing here; their uses -> trails
 *	merge_object.c  objects, directories, pieces of files
 *	merge_session.c sessions
 */
#ifndef FOREFETCH_MERGE_PRIVATE_H
#define FOREFETCH_MERGE_PRIVATE_H

#include "predictor/persist/merge.h"
#include "predictor/persist/persist_private.h"

enum {
	MERGE_STEP = 32, /* objects or uses */
	MERGE_SESSIONS = SESSION_BOOKS * SESSIONS_KEPT,
};

/* A run of theirs. */
struct merge_run {
	uint32_t first, n; /* in the column `trail` */
	uint32_t theirs;   /* how many of these are equal: in the first one */
	uint32_t ours;     /* how many here begin like it: in the first one */
	uint64_t hash;     /* of its keys */
	bool take;
};

struct predictor_merge {
	struct persist_message message;
	const Forefetch__TreeFile *f;
	uint64_t uid;
	uint16_t theirs; /* the uid's bits in the message */
	uint16_t bit;    /* the uid's bit here */
	bool begun;
	uint32_t era;
	int error;
	unsigned phase;
	size_t at, sub; /* where the phase is; 0 when it begins */
	/* By object: the key that it has here, 0 if it is left out; and its
	 * uses in runs here. */
	uint64_t *keys;
	uint8_t *uses;
	bool *counted;  /* by object: it counts as one that will be made */
	uint32_t *dirs; /* by directory: the one here, or DIR_NONE */
	bool *dirs_made;
	struct keymap *by_key; /* key -> object */
	struct merge_run *runs;
	size_t nruns;
	struct keymap *wholes; /* hash -> the first run that has it */
	struct keymap *ends;   /* hash of a run here -> its last place */
	struct trails_at walk;
	bool full, log_full; /* objects, or the log, when it began */
	uint32_t here;       /* objects of the run that are known */
	uint64_t here_hash;  /* the hash of these objects */
	bool walking, choosing, taking, writing, joining;
	uint32_t few, none;   /* objects of the run with few uses, and none */
	uint64_t hash;        /* of the run that is looked at */
	uint32_t tail;        /* the place that was written last */
	uint32_t tail_object; /* the object at that place */
	uint32_t from;        /* of the run that is written */
	size_t objects, uses_left, dirs_left; /* that may be made */
	struct session_use *session;
	uint32_t nsession;
	uint64_t
	    sessions[MERGE_SESSIONS]; /* hashes of those that came before */
	uint32_t nsessions;
	struct predictor_merge_stats stats;
};

/* A phase does one step: 1 if there is more to do, 0 at its end, or -errno. */
typedef int (*merge_phase)(struct predictor_merge *m, struct predictor *p);

static inline uint64_t merge_hash(uint64_t h, uint64_t key)
{
	h = (h ^ key) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* merge_object.c */
int merge_resolve(struct predictor_merge *m, struct predictor *p);
int merge_objects(struct predictor_merge *m, struct predictor *p);
int merge_extents(struct predictor_merge *m, struct predictor *p);
int merge_orders(struct predictor_merge *m, struct predictor *p);
/* The object here, made if it is missing; OBJECT_NONE where it is left out. */
uint32_t merge_make(
    struct predictor_merge *m, struct predictor *p, uint32_t object);
/* Takes it out of what may be made; false where nothing more may. */
bool merge_counts(
    struct predictor_merge *m, const struct predictor *p, uint32_t object);

/* merge_runs.c */
bool merge_find_runs(struct predictor_merge *m);
int merge_hash_runs(struct predictor_merge *m, struct predictor *p);
int merge_walk(struct predictor_merge *m, struct predictor *p);
int merge_choose(struct predictor_merge *m, struct predictor *p);
int merge_write(struct predictor_merge *m, struct predictor *p);

/* merge_session.c */
int merge_sessions(struct predictor_merge *m, struct predictor *p);

#endif
