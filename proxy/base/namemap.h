/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short names by a number that stands for them, such as a hash. It holds
 * NAMEMAP_NAMES of them, in 2 MiB that are taken as they are used; after that a
 * new one replaces one of the oldest.
 */
#ifndef FOREFETCH_NAMEMAP_H
#define FOREFETCH_NAMEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct namemap;

enum {
	NAMEMAP_NAMES = 1 << 15,
	NAMEMAP_LEN_MAX = 55, /* bytes; a longer name is not kept */
};

/* Makes an empty map; NULL without memory. */
struct namemap *namemap_new(void);
void namemap_free(struct namemap *m); /* or NULL */

/* Keeps a copy of a name, `len` bytes, under its number. The number 0, and a
 * name that is empty or too long, are left out; a number that has a name keeps
 * it. */
void namemap_put(
    struct namemap *m, uint64_t number, const char *name, size_t len);
/* Returns the name, without a zero behind it, and its length in bytes; NULL
 * where there is none. It is good until the next namemap_put(). */
const char *namemap_get(const struct namemap *m, uint64_t number, size_t *len);

#endif
