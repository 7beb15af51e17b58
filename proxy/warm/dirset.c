/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of directories: open addressing, in tables that double. A lookup goes
 * through all tables, of which there are sixteen at most; in return adding a
 * directory never takes a long turn. */
#include "warm/dirset.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <xxhash.h>

enum { ROOM_FIRST = 64 };

/* Places of a table. */
static size_t room_of(unsigned table)
{
	return (size_t)ROOM_FIRST << table;
}

/* The place of the hash in a table, or the free one where it belongs. */
static uint64_t *place_of(const struct dirset *s, unsigned table, uint64_t hash)
{
	size_t mask = room_of(table) - 1, at = hash & mask;

	while (s->tables[table][at] && s->tables[table][at] != hash)
		at = (at + 1) & mask;
	return &s->tables[table][at];
}

/* Whether the last table has a free place that is soon found. */
static bool has_room(const struct dirset *s)
{
	return s->n > 0 && s->used < room_of(s->n - 1) / 4 * 3;
}

/* Adds a table; with the first one, the set gets its secret. False without
 * memory, or where there are enough tables. */
static bool grow(struct dirset *s)
{
	uint64_t *table;

	if (s->n == DIRSET_TABLES ||
	    (s->n == 0 && getrandom(&s->secret, sizeof(s->secret), 0) < 0))
		return false;
	table = calloc(room_of(s->n), sizeof(*table));
	if (!table)
		return false;
	s->tables[s->n++] = table;
	s->used = 0;
	return true;
}

/* A hash of 0 would be a free place, so it counts as 1. */
int dirset_add(struct dirset *s, const nfs3_fh *fh)
{
	uint64_t hash;

	if (s->n == 0 && !grow(s))
		return -ENOMEM;
	hash = XXH3_64bits_withSeed(fh->data, fh->len, s->secret);
	hash += hash == 0;
	for (unsigned i = 0; i < s->n; i++)
		if (*place_of(s, i, hash))
			return 0;
	if (!has_room(s) && !grow(s))
		return -ENOMEM;
	*place_of(s, s->n - 1, hash) = hash;
	s->used++;
	s->count++;
	return 1;
}

void dirset_clear(struct dirset *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->tables[i]);
	memset(s, 0, sizeof(*s));
}
