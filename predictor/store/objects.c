/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arena of objects, and the map of their keys. Every other part knows an
 * object by its number here, which another object may get later; `born_at`
 * tells whether it has. */
#include "predictor/store/objects.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/store/keymap.h"
#include "predictor/store/vec.h"

enum { FIRST_OBJECTS = 256 };

struct objects {
	struct keymap *map;
	struct object *at;
	uint32_t n, cap, limit, hand, nfree;
	uint32_t free; /* a list through `last` */
	objects_on_evict evict;
	void *ctx;
};

struct objects *objects_new(uint32_t limit, objects_on_evict evict, void *ctx)
{
	struct objects *os = calloc(1, sizeof(*os));

	if (!os)
		return NULL;
	os->map = keymap_new();
	os->limit = limit < OBJECTS_MAX ? limit : OBJECTS_MAX;
	os->free = OBJECT_NONE;
	os->evict = evict;
	os->ctx = ctx;
	if (!os->map) {
		free(os);
		return NULL;
	}
	return os;
}

void objects_set_ctx(struct objects *os, void *ctx)
{
	os->ctx = ctx;
}

void objects_free(struct objects *os)
{
	if (!os)
		return;
	keymap_free(os->map);
	free(os->at);
	free(os);
}

uint32_t objects_find(const struct objects *os, uint64_t key)
{
	return keymap_get(os->map, key);
}

struct object *objects_at(const struct objects *os, uint32_t id)
{
	return &os->at[id];
}

/* Puts the number into the list of free ones. */
static void object_free(struct objects *os, uint32_t id)
{
	struct object *o = &os->at[id];

	o->free = true;
	o->recent = false;
	o->last = os->free;
	os->free = id;
	os->nfree++;
}

void objects_drop(struct objects *os, uint32_t id)
{
	struct object *o = &os->at[id];

	if (o->free)
		return;
	os->evict(os->ctx, id, o);
	keymap_del(os->map, o->key);
	object_free(os, id);
}

/* A number that is free: one that was dropped, a new one, or the one that the
 * clock hand takes from an object. */
static uint32_t objects_take(struct objects *os)
{
	uint32_t id = os->free;

	if (id == OBJECT_NONE) {
		if (os->n < os->cap ||
		    VEC_GROW(os->at, os->cap,
			os->cap ? os->cap * 2 : FIRST_OBJECTS, os->limit))
			return os->n++;
		if (os->n == 0)
			return OBJECT_NONE;
		for (; os->at[os->hand].recent;
		     os->hand = (os->hand + 1) % os->n)
			os->at[os->hand].recent = false;
		objects_drop(os, os->hand);
		os->hand = (os->hand + 1) % os->n;
		id = os->free;
	}
	os->free = os->at[id].last;
	os->nfree--;
	return id;
}

bool objects_full(const struct objects *os)
{
	return os->free == OBJECT_NONE && os->n >= os->limit;
}

uint32_t objects_make(struct objects *os, uint64_t key, uint32_t now)
{
	uint32_t id = keymap_get(os->map, key);

	if (id != KEYMAP_NONE)
		return id;
	id = objects_take(os);
	if (id == OBJECT_NONE)
		return id;
	os->at[id] = (struct object){.key = key,
	    .last = UINT32_MAX,
	    .dir = UINT32_MAX,
	    .edges = UINT32_MAX,
	    .rank = RANK_NONE,
	    .born_at = now};
	if (keymap_put(os->map, key, id)) {
		object_free(os, id);
		return OBJECT_NONE;
	}
	return id;
}

void objects_rekey(struct objects *os, uint32_t id, uint64_t key)
{
	keymap_del(os->map, os->at[id].key);
	os->at[id].key = key;
	keymap_put(os->map, key, id);
}

uint32_t objects_end(const struct objects *os)
{
	return os->n;
}

size_t objects_limit(const struct objects *os)
{
	return os->limit;
}

size_t objects_count(const struct objects *os)
{
	return os->n - os->nfree;
}

size_t objects_memory_bytes(const struct objects *os)
{
	return sizeof(*os) + keymap_memory_bytes(os->map) +
	       os->cap * sizeof(*os->at);
}
