/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linear hashing over references to slab items. There are `n` buckets, of which
 * those below `n - (mask + 1) / 2` have been split in this round and take one
 * more bit of the hash. cache/ has its nodes, names and profiles in such
 * tables, and walks them bucket by bucket while they change. */
#include "base/reftab.h"

#include <stdlib.h>

enum {
	FIRST_BUCKETS = 256,
	/* The most items of a bucket. Where keys are placed at random, no
	 * bucket ever comes to so many; but a server can give handles that
	 * differ and have one key. */
	CHAIN_MAX = 64,
};

bool reftab_init(struct reftab *t, struct slab *slab,
    uint64_t (*hash)(const struct reftab *t, const void *item))
{
	t->slab = slab;
	t->hash = hash;
	t->n = FIRST_BUCKETS;
	t->room = FIRST_BUCKETS;
	t->mask = FIRST_BUCKETS - 1;
	t->entries = 0;
	t->buckets = calloc(FIRST_BUCKETS, sizeof(*t->buckets));
	return t->buckets != NULL;
}

void reftab_clear(struct reftab *t)
{
	free(t->buckets);
	t->buckets = NULL;
}

slab_ref *reftab_head(const struct reftab *t, uint64_t hash)
{
	size_t i = hash & t->mask;

	return &t->buckets[i < t->n ? i : i & (t->mask >> 1)];
}

/* Adds a bucket, which takes its share of its partner's items. */
static void reftab_split(struct reftab *t)
{
	slab_ref *link, ref;

	if (t->n == t->room) {
		size_t room = t->room + t->room / 8;
		void *more = realloc(t->buckets, room * sizeof(*t->buckets));

		/* Without memory for more buckets the chains get longer. */
		if (!more)
			return;
		t->buckets = more;
		t->room = room;
	}
	if (t->n > t->mask)
		t->mask = t->mask * 2 + 1;
	link = &t->buckets[t->n & (t->mask >> 1)];
	t->buckets[t->n++] = 0;
	while ((ref = *link) != 0) {
		slab_ref *next = slab_ptr(t->slab, ref);
		slab_ref *head = reftab_head(t, t->hash(t, next));

		if (head == &t->buckets[t->n - 1]) {
			*link = *next;
			*next = *head;
			*head = ref;
		} else {
			link = next;
		}
	}
}

bool reftab_insert(struct reftab *t, slab_ref ref, uint64_t hash)
{
	slab_ref *head, at;
	unsigned n = 0;

	/* Three items in two buckets are enough, so one more is made. */
	if (t->entries * 2 >= t->n * 3)
		reftab_split(t);
	head = reftab_head(t, hash);
	for (at = *head; at != 0; at = reftab_next(t, at))
		if (++n == CHAIN_MAX)
			return false;
	*(slab_ref *)slab_ptr(t->slab, ref) = *head;
	*head = ref;
	t->entries++;
	return true;
}

void reftab_remove(struct reftab *t, slab_ref ref, uint64_t hash)
{
	slab_ref *link = reftab_head(t, hash);

	while (*link != ref)
		link = slab_ptr(t->slab, *link);
	*link = *(slab_ref *)slab_ptr(t->slab, ref);
	t->entries--;
}
