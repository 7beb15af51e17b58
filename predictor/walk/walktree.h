/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories as they hang in each other: what listings and lookups told one
 * credential, and what walks (source_walk.c) note about each. Of at most
 * WALKTREE_MAX directories; the one that was touched longest ago gives way.
 *
 * A server may tell of directories that hang in themselves, or in two places.
 * Each hangs in the place that was told last, and whoever follows the links
 * counts its steps.
 */
#ifndef FOREFETCH_PREDICTOR_WALKTREE_H
#define FOREFETCH_PREDICTOR_WALKTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum { WALKTREE_MAX = 16384 };

struct walktree;

TAILQ_HEAD(walkdirs, walkdir);

/* A directory as one credential sees it. */
struct walkdir {
	uint64_t key;  /* fh_key() */
	uint32_t cred; /* caches_cred() */
	bool hidden;   /* its name begins with a dot */
	bool listed;   /* `below` is complete, as of … */
	uint32_t generation;
	struct walkdir *above; /* NULL: not known */
	struct walkdirs below; /* in the order of READDIR */

	/* Notes of walks; 0 in a new one. Walks go by their numbers. */
	uint32_t walk;       /* that was here last */
	uint32_t below_walk; /* that was in some of `below` last */
	uint32_t below_seen; /* in how many of them */
	uint32_t told_walk;  /* that expects to come here, and has not yet */
	uint32_t lead;       /* after so many directories */
	uint64_t told_us;
	uint64_t good_us;    /* when it was last counted as told */
	uint32_t names_told; /* which of the walk's names, one bit each */
	uint64_t seen_us;    /* when a walk was here */
	uint64_t listed_us;  /* when a client read its listing */

	/* walktree.c's */
	TAILQ_ENTRY(walkdir) beside;
	TAILQ_ENTRY(walkdir) age;
	LIST_ENTRY(walkdir) hash_link;
};

/* NULL without memory. */
struct walktree *walktree_new(void);
void walktree_free(struct walktree *t);

/* NULL: it is not known. */
struct walkdir *walktree_find(
    const struct walktree *t, uint64_t key, uint32_t cred);
/* Made where it is missing; NULL without memory. It is in use: others give
 * way first, so that the last WALKTREE_MAX - 1 that were got are still there.
 */
struct walkdir *walktree_get(struct walktree *t, uint64_t key, uint32_t cred);
/* From now on `d` hangs in `above`, behind all others there; not in itself. */
void walktree_hang(struct walkdir *above, struct walkdir *d);
/* Nothing hangs in it any more. */
void walktree_clear(struct walkdir *above);
size_t walktree_count(const struct walktree *t);

#endif
