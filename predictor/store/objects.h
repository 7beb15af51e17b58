/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects by number: what is known of each, in 48 bytes, in an arena that
 * grows to a limit and then takes back what was not used for longest (a
 * clock hand, second chance).
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
	uint32_t last;    /* place in the trail log, TRAIL_NONE if none; of a
			   * free object: the next free one */
	uint32_t dir;     /* DIR_NONE if unknown */
	uint32_t name;    /* low half of its name's hash */
	uint32_t size;    /* bytes, clipped */
	uint32_t seen_at; /* event; 0: never used */
	uint32_t born_at; /* event: trails before it mean another object */
	uint32_t edges;   /* of the graph, GRAPH_NONE until seen twice */
	uint16_t rank;    /* in its directory's listing, RANK_NONE */
	uint16_t type;
	uint16_t known;    /* a bit for each uid that has met it, wall.c */
	uint8_t stream;    /* that used it last */
	uint8_t count;     /* uses, up to 255 */
	uint8_t hits : 4;  /* of its predictions, halved at 15 tries */
	uint8_t tries : 4; /* of them */
	uint8_t needs;     /* of its last access: PREDICTOR_NEEDS_… */
	uint8_t first;     /* FIRST_UNITs that its first READ asked for; 0 */
	uint8_t exec : 1;
	uint8_t recent : 1; /* second chance */
	uint8_t free : 1;
	uint8_t absent : 1;
	uint8_t directory : 1;
	uint8_t unused : 3; /* fetches in a row that were for nothing */
};

_Static_assert(sizeof(struct object) == 48, "what an object costs");

enum { FIRST_UNIT = 4096, UNUSED_MAX = 7 };
/* Trails keep as many bits of a number. */
#define OBJECTS_MAX ((1u << 25) - 1)

struct objects;

/* Called before an object's number is given to another. */
typedef void (*objects_on_evict)(void *ctx, uint32_t id, struct object *o);

struct objects *objects_new(uint32_t limit, objects_on_evict evict, void *ctx);
void objects_set_ctx(struct objects *os, void *ctx);
void objects_free(struct objects *os);

/* OBJECT_NONE if the key is not known. */
uint32_t objects_find(const struct objects *os, uint64_t key);
/* Made if it is not known; OBJECT_NONE without memory. Pointers to objects
 * are valid until the next call. */
uint32_t objects_make(struct objects *os, uint64_t key, uint32_t now);
struct object *objects_at(const struct objects *os, uint32_t id);
/* Another key for the same object. */
void objects_rekey(struct objects *os, uint32_t id, uint64_t key);
void objects_drop(struct objects *os, uint32_t id);
/* Whether a new one takes the place of another. */
bool objects_full(const struct objects *os);
/* Numbers in use are below. */
uint32_t objects_end(const struct objects *os);
/* How many there may ever be. */
size_t objects_limit(const struct objects *os);
size_t objects_count(const struct objects *os);
size_t objects_memory_bytes(const struct objects *os);

#endif
