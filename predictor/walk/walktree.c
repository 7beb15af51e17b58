/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories by their keys, by their places, and by when they were in use: a
 * hash table, a list of those below each, and a queue by age. */
#include "predictor/walk/walktree.h"

#include <stdlib.h>

#include "hashing/hash_key.h"

enum { BUCKETS = 4096 };

LIST_HEAD(walkdir_list, walkdir);

struct walktree {
	struct walkdir_list hash[BUCKETS];
	struct walkdirs age; /* the one in use longest ago comes first */
	size_t n;
};

struct walktree *walktree_new(void)
{
	struct walktree *t = calloc(1, sizeof(*t));

	if (t)
		TAILQ_INIT(&t->age);
	return t;
}

static struct walkdir_list *bucket(
    const struct walktree *t, uint64_t key, uint32_t cred)
{
	uint64_t h = hash_numbers(key, cred);

	/* Constness is that of what the caller has. */
	return (struct walkdir_list *)&t->hash[h % BUCKETS];
}

/* Takes the directory out of the one above. */
static void unhang(struct walkdir *d)
{
	if (d->above)
		TAILQ_REMOVE(&d->above->below, d, beside);
	d->above = NULL;
}

void walktree_clear(struct walkdir *above)
{
	while (!TAILQ_EMPTY(&above->below))
		unhang(TAILQ_FIRST(&above->below));
	above->listed = false;
}

static void drop(struct walktree *t, struct walkdir *d)
{
	walktree_clear(d);
	/* The directory above is not listed completely any more. */
	if (d->above)
		d->above->listed = false;
	unhang(d);
	LIST_REMOVE(d, hash_link);
	TAILQ_REMOVE(&t->age, d, age);
	t->n--;
	free(d);
}

void walktree_free(struct walktree *t)
{
	if (!t)
		return;
	while (!TAILQ_EMPTY(&t->age))
		drop(t, TAILQ_FIRST(&t->age));
	free(t);
}

struct walkdir *walktree_find(
    const struct walktree *t, uint64_t key, uint32_t cred)
{
	struct walkdir *d;

	LIST_FOREACH (d, bucket(t, key, cred), hash_link)
		if (d->key == key && d->cred == cred)
			return d;
	return NULL;
}

struct walkdir *walktree_get(struct walktree *t, uint64_t key, uint32_t cred)
{
	struct walkdir *d = walktree_find(t, key, cred);

	if (d) {
		TAILQ_REMOVE(&t->age, d, age);
		TAILQ_INSERT_TAIL(&t->age, d, age);
		return d;
	}
	if (t->n == WALKTREE_MAX)
		drop(t, TAILQ_FIRST(&t->age));
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->key = key;
	d->cred = cred;
	TAILQ_INIT(&d->below);
	LIST_INSERT_HEAD(bucket(t, key, cred), d, hash_link);
	TAILQ_INSERT_TAIL(&t->age, d, age);
	t->n++;
	return d;
}

void walktree_hang(struct walkdir *above, struct walkdir *d)
{
	if (d == above)
		return;
	unhang(d);
	d->above = above;
	TAILQ_INSERT_TAIL(&above->below, d, beside);
}

size_t walktree_count(const struct walktree *t)
{
	return t->n;
}
