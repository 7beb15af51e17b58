/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names in directories that were listed, to be found by what mentions of
 * them may look like: the whole name, the name without its last extension, and
 * what stands before its first dot (without "lib"). The directories that were
 * of no use for longest are given up when there are too many names.
 */
#ifndef FOREFETCH_NAMEINDEX_H
#define FOREFETCH_NAMEINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NAMEINDEX_DIR_MAX = 4096, /* names of a directory; else none of it */
	NAMEINDEX_HITS = 8,       /* of one word in a directory */
	/* Kinds of objects, by their extensions: 0 directories, the last one
	 * files without one. */
	NAME_KINDS = 64,
};

struct nameindex;

/* A name of a directory, and the hashes of words that may mean it. */
struct nameindex_name {
	uint64_t object;
	uint32_t size_bytes; /* UINT32_MAX: that, or more */
	uint32_t full;       /* name_hash32() of the whole name */
	uint32_t stem; /* name_hash32() of its stem; 0: the same, or none */
	uint32_t head;
	uint8_t kind;
	bool directory;
};

/* Which part of the name the word was. */
enum nameindex_part { NAME_FULL, NAME_STEM };

/* A name that a word may mean. */
struct nameindex_hit {
	const struct nameindex_name *name;
	enum nameindex_part part;
};

/* For so many names in all, some 48 bytes each. NULL without memory. */
struct nameindex *nameindex_new(size_t names_max);
void nameindex_free(struct nameindex *ix);

/* Of XXH3 of what follows the last dot; 0: nothing does. */
uint8_t name_kind(uint64_t type_hash);
/* The hashes and the kind by the name; the rest is the caller's. */
void nameindex_fill(struct nameindex_name *n, const char *name, size_t len);
/* In place of what was known of the directory. */
void nameindex_put(struct nameindex *ix, uint64_t dir,
    const struct nameindex_name *names, size_t n);
bool nameindex_has(const struct nameindex *ix, uint64_t dir);
/* Finds the names there that a word may mean; returns how many. Good until the
 * next put. */
size_t nameindex_find(struct nameindex *ix, uint64_t dir, uint32_t word,
    struct nameindex_hit hits[NAMEINDEX_HITS]);
size_t nameindex_names(const struct nameindex *ix);

#endif
