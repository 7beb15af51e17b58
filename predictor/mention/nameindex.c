/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of directories, by hashes: a small table for each directory, which is
 * one block of memory and goes as a whole.
 */
#include "predictor/mention/nameindex.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <xxhash.h>

#include "hashing/hash_key.h"
#include "predictor/mention/tokens.h"

enum {
	BUCKETS = 4096,
	/* No word is looked for any further: many names may have one stem. */
	PROBES = 64,
};

struct nameindex_dir {
	LIST_ENTRY(nameindex_dir) hash_link;
	TAILQ_ENTRY(nameindex_dir) link; /* the one used last comes first */
	uint64_t key;
	uint32_t n;
	uint32_t mask;   /* of the slots */
	uint16_t *slots; /* number of a name + 1; 0: free */
	struct nameindex_name names[];
};

LIST_HEAD(dir_list, nameindex_dir);
TAILQ_HEAD(dir_queue, nameindex_dir);

/* A directory takes as much as so many names, even an empty one. */
enum { DIR_NAMES = 3 };

struct nameindex {
	size_t names_max, names;
	size_t weight; /* names, and DIR_NAMES for each directory */
	struct dir_queue dirs;
	struct dir_list buckets[BUCKETS];
};

struct nameindex *nameindex_new(size_t names_max)
{
	struct nameindex *ix = calloc(1, sizeof(*ix));

	if (!ix)
		return NULL;
	ix->names_max = names_max;
	TAILQ_INIT(&ix->dirs);
	return ix;
}

/* Gives up the directory with all of its names. */
static void dir_drop(struct nameindex *ix, struct nameindex_dir *d)
{
	LIST_REMOVE(d, hash_link);
	TAILQ_REMOVE(&ix->dirs, d, link);
	ix->names -= d->n;
	ix->weight -= d->n + DIR_NAMES;
	free(d);
}

void nameindex_free(struct nameindex *ix)
{
	struct nameindex_dir *d;

	if (!ix)
		return;
	while ((d = TAILQ_FIRST(&ix->dirs)) != NULL)
		dir_drop(ix, d);
	free(ix);
}

size_t nameindex_names(const struct nameindex *ix)
{
	return ix->names;
}

/* ---- names ------------------------------------------------------------ */

uint8_t name_kind(uint64_t type_hash)
{
	return type_hash ? (uint8_t)(1 + type_hash % (NAME_KINDS - 2))
			 : NAME_KINDS - 1;
}

/* Where the last dot of the name is, but for one at its beginning; 0: none. */
static size_t last_dot(const char *name, size_t len)
{
	while (len > 1 && name[len - 1] != '.')
		len--;
	return len > 1 ? len - 1 : 0;
}

static bool is_number(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] < '0' || at[i] > '9')
			return false;
	return len > 0;
}

void nameindex_fill(struct nameindex_name *n, const char *name, size_t len)
{
	size_t dot = last_dot(name, len), end = len, at = dot;
	const char *first = len > 1 ? memchr(name + 1, '.', len - 1) : NULL;
	size_t head = first ? (size_t)(first - name) : len;

	n->full = name_hash32(name, len);
	n->stem = dot ? name_hash32(name, dot) : 0;
	n->head = 0;
	if (first && len > 3 && head > 3 && !memcmp(name, "lib", 3))
		n->head = name_hash32(name + 3, head - 3);
	else if (first && head != dot)
		n->head = name_hash32(name, head);
	/* libz.so.1.2 is of the kind of libz.so. */
	while (at > 0 && is_number(name + at + 1, end - at - 1) &&
	       last_dot(name, at) > 0) {
		end = at;
		at = last_dot(name, at);
	}
	n->kind = n->directory ? 0
		  : at > 0
		      ? name_kind(XXH3_64bits(name + at + 1, end - at - 1) | 1)
		      : NAME_KINDS - 1;
}

/* ---- directories ------------------------------------------------------ */

static struct dir_list *bucket(struct nameindex *ix, uint64_t key)
{
	return &ix->buckets[hash_number(key) % BUCKETS];
}

static struct nameindex_dir *dir_find(const struct nameindex *ix, uint64_t key)
{
	struct nameindex_dir *d;

	LIST_FOREACH (d, bucket((struct nameindex *)ix, key), hash_link)
		if (d->key == key)
			return d;
	return NULL;
}

bool nameindex_has(const struct nameindex *ix, uint64_t dir)
{
	return dir_find(ix, dir) != NULL;
}

/* Whether the word is the name, or one of the two parts that are indexed. */
static bool is_part(const struct nameindex_name *n, uint32_t word)
{
	return n->full == word || n->stem == word || n->head == word;
}

/* A word that many names have is kept for the first of them. */
static void slot_put(struct nameindex_dir *d, uint32_t word, uint16_t number)
{
	uint32_t i = word & d->mask;
	unsigned same = 0;

	if (word == 0)
		return;
	for (int probes = 0; probes < PROBES; probes++) {
		if (d->slots[i] == 0) {
			d->slots[i] = number;
			return;
		}
		if (is_part(&d->names[d->slots[i] - 1], word) &&
		    ++same == NAMEINDEX_HITS)
			return;
		i = (i + 1) & d->mask;
	}
}

/* One block for names and slots; at most a quarter of the slots are whole
 * names, so that probes are short. */
static struct nameindex_dir *dir_new(size_t n)
{
	size_t slots = 16, size;
	struct nameindex_dir *d;

	while (slots < n * 4)
		slots *= 2;
	size = sizeof(*d) + n * sizeof(d->names[0]);
	d = calloc(1, size + slots * sizeof(d->slots[0]));
	if (!d)
		return NULL;
	d->slots = (uint16_t *)((char *)d + size);
	d->mask = (uint32_t)slots - 1;
	d->n = (uint32_t)n;
	return d;
}

void nameindex_put(struct nameindex *ix, uint64_t dir,
    const struct nameindex_name *names, size_t n)
{
	struct nameindex_dir *d = dir_find(ix, dir);

	if (d)
		dir_drop(ix, d);
	if (n > NAMEINDEX_DIR_MAX || n + DIR_NAMES > ix->names_max)
		return;
	while (ix->weight + n + DIR_NAMES > ix->names_max)
		dir_drop(ix, TAILQ_LAST(&ix->dirs, dir_queue));
	d = dir_new(n);
	if (!d)
		return;
	d->key = dir;
	if (n > 0)
		memcpy(d->names, names, n * sizeof(*names));
	/* Whole names first: a stem must not take their room. */
	for (size_t i = 0; i < n; i++)
		slot_put(d, names[i].full, (uint16_t)(i + 1));
	for (size_t i = 0; i < n; i++) {
		slot_put(d, names[i].stem, (uint16_t)(i + 1));
		slot_put(d, names[i].head, (uint16_t)(i + 1));
	}
	LIST_INSERT_HEAD(bucket(ix, dir), d, hash_link);
	TAILQ_INSERT_HEAD(&ix->dirs, d, link);
	ix->names += n;
	ix->weight += n + DIR_NAMES;
}

size_t nameindex_find(struct nameindex *ix, uint64_t dir, uint32_t word,
    struct nameindex_hit hits[NAMEINDEX_HITS])
{
	struct nameindex_dir *d = dir_find(ix, dir);
	uint32_t i = d ? word & d->mask : 0;
	size_t n = 0;

	if (!d || word == 0)
		return 0;
	if (d != TAILQ_FIRST(&ix->dirs)) {
		TAILQ_REMOVE(&ix->dirs, d, link);
		TAILQ_INSERT_HEAD(&ix->dirs, d, link);
	}
	for (int probes = 0; probes < PROBES && n < NAMEINDEX_HITS; probes++) {
		const struct nameindex_name *name;

		if (d->slots[i] == 0)
			break;
		name = &d->names[d->slots[i] - 1];
		if (is_part(name, word))
			hits[n++] = (struct nameindex_hit){
			    name, name->full == word ? NAME_FULL : NAME_STEM};
		i = (i + 1) & d->mask;
	}
	return n;
}
