/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where objects are, where names are looked up, and which names are used first
 * in directories. */
#ifndef FOREFETCH_MENTION_PLACE_H
#define FOREFETCH_MENTION_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mention;

enum {
	SEARCHED_LOOK = 8, /* directories in which words are looked for */
	FIRSTS = 64,       /* names that were used first in directories */
};

/* Where an object is. */
struct home {
	uint64_t object, dir;
	uint32_t name; /* name_hash32() */
	uint8_t kind;
};

/* m->places, to be freed; false without memory. */
bool mention_places_init(struct mention *m);
void home_put(struct mention *m, const struct home *h);
const struct home *home_find(const struct mention *m, uint64_t object);
void searched_add(struct mention *m, uint64_t dir);
/* The directories in which words are worth a look; returns how many. */
size_t searched_best(const struct mention *m, uint64_t dirs[SEARCHED_LOOK]);
/* The object was used for the first time in a while; false: not so. */
bool used_first(struct mention *m, uint64_t object, uint32_t cred);
bool used_lately(const struct mention *m, uint64_t object, uint32_t cred);
/* It is in this directory, which was entered by that. */
void firsts_seen(struct mention *m, const struct home *h);
/* The name at `i` (below FIRSTS; 0: there is none), and how likely a directory
 * that has it is entered by it. */
uint32_t first_name(const struct mention *m, int i, double *p);
/* A directory that has the name is likely entered by it. */
void first_expect(struct mention *m, uint32_t name);

#endif
