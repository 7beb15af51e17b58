/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash tables of slab items, which grow by one bucket at a time (linear
 * hashing: Litwin, VLDB 1980), so that no insertion pays for all. No bucket has
 * more than 64 of them. Hashes are by hash_key.h, so that nobody can choose
 * what goes into one bucket.
 *
 * Items start with the reference of the next one in their bucket.
 */
#ifndef FOREFETCH_REFTAB_H
#define FOREFETCH_REFTAB_H

#include <stdbool.h>

#include "base/slab.h"

struct reftab {
	struct slab *slab;
	/* Returns the hash of an item that is in the table. */
	uint64_t (*hash)(const struct reftab *t, const void *item);
	slab_ref *buckets;
	size_t n;    /* buckets in use */
	size_t room; /* buckets there is memory for */
	size_t mask; /* the smallest 2^k - 1 that is >= n - 1 */
	size_t entries;
};

/* Makes an empty table of items in `slab`, whose hashes `hash` returns. False
 * where there is no memory. */
bool reftab_init(struct reftab *t, struct slab *slab,
    uint64_t (*hash)(const struct reftab *t, const void *item));
/* Frees the buckets, and leaves the items as they are. */
void reftab_clear(struct reftab *t);

/* Returns where the chain of a hash begins; 0 in it: it is empty. */
slab_ref *reftab_head(const struct reftab *t, uint64_t hash);
/* Puts an item into the table; false where its bucket is full, and then the
 * item is not in there. The caller sees to it that there is no other of the
 * same key. */
bool reftab_insert(struct reftab *t, slab_ref ref, uint64_t hash);
/* Takes an item out of the table, where it must be, under the hash that it was
 * put in with. */
void reftab_remove(struct reftab *t, slab_ref ref, uint64_t hash);

/* The next item of the chain; 0 at its end. */
static inline slab_ref reftab_next(const struct reftab *t, slab_ref ref)
{
	return *(const slab_ref *)slab_ptr(t->slab, ref);
}

/* The bytes of the buckets. */
static inline size_t reftab_bytes(const struct reftab *t)
{
	return t->room * sizeof(*t->buckets);
}

#endif
