/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects by number: what is known of each, in 48 bytes. The arena grows up to
 * a limit; then a new object gets the number of one that was not used for long.
 * A clock hand finds it, and gives each object a second chance.
 */
#ifndef FOREFETCH_OBJECTS_H
#define FOREFETCH_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/store/names.h" /* RANK_NONE */

#define OBJECT_NONE UINT32_MAX

struct object {
	uint64_t key;
	uint32_t last;     /* its last place in the trail log, or TRAIL_NONE; a
			    * free object has the next free one here */
	uint32_t dir;      /* DIR_NONE if unknown */
	uint32_t name;     /* low half of its name's hash */
	uint32_t size;     /* bytes, clipped */
	uint32_t seen_at;  /* event of its last use; 0: never used */
	uint32_t born_at;  /* event; what is older means another object */
	uint32_t edges;    /* its node of the graph, or GRAPH_NONE */
	uint16_t rank;     /* in its directory's listing, or RANK_NONE */
	uint16_t type;     /* low bits of the hash of its name's extension */
	uint16_t met_by;   /* wall_bit() of each uid that has met it */
	uint8_t stream;    /* the one that used it last */
	uint8_t count;     /* uses, up to 255 */
	uint8_t hits : 4;  /* predictions of it that came true */
	uint8_t tries : 4; /* of so many predictions; halved at 15 */
	uint8_t needs;     /* of its last access: PREDICTOR_NEEDS_… */
	uint8_t first;     /* FIRST_UNITs that its first READ asked for, or 0 */
	uint8_t exec : 1;
	uint8_t recent : 1; /* second chance */
	uint8_t free : 1;
	uint8_t absent : 1;
	uint8_t directory : 1;
	uint8_t unused : 3; /* fetches in a row that nobody used */
};

_Static_assert(sizeof(struct object) == 48, "what an object costs");

enum { FIRST_UNIT = 4096, UNUSED_MAX = 7 };
/* A trail's entry has 25 bits for a number, trails.c. */
#define OBJECTS_MAX ((1u << 25) - 1)

/* The kind of an object, as odds have it (store/nameodds.h). */
static inline uint16_t object_kind(const struct object *o)
{
	return o->directory ? 1 : o->type;
}

struct objects;

/* Called before an object's number becomes free. */
typedef void (*objects_on_evict)(void *ctx, uint32_t id, struct object *o);

/* Room for `limit` objects, OBJECTS_MAX at most, which are allocated as they
 * come. `evict` gets `ctx`. NULL without memory. */
struct objects *objects_new(uint32_t limit, objects_on_evict evict, void *ctx);
/* The owner that `evict` gets has moved. */
void objects_set_ctx(struct objects *os, void *ctx);
void objects_free(struct objects *os);

/* OBJECT_NONE if the key is not known. */
uint32_t objects_find(const struct objects *os, uint64_t key);
/* The object is made, in event `now`, if its key is not known; OBJECT_NONE
 * without memory. Pointers to objects are valid until the next call. */
uint32_t objects_make(struct objects *os, uint64_t key, uint32_t now);
/* The number has to be below objects_end(); it may be a free one. */
struct object *objects_at(const struct objects *os, uint32_t id);
/* Gives the object another key. */
void objects_rekey(struct objects *os, uint32_t id, uint64_t key);
/* Gives up the object and its number, behind a call of `evict`. */
void objects_drop(struct objects *os, uint32_t id);
/* Whether a new object would take the number of another. */
bool objects_full(const struct objects *os);
/* All numbers in use are below this one. */
uint32_t objects_end(const struct objects *os);
/* How many objects there may ever be. */
size_t objects_limit(const struct objects *os);
size_t objects_count(const struct objects *os);
size_t objects_memory_bytes(const struct objects *os);

#endif
