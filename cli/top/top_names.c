/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of names by their objects, in which a new name takes the place of any
 * other with its slot: a display needs the names of some hundred rows, and one
 * that is lost is asked for again. */
#include "top/top_names.h"

#include <stdlib.h>
#include <string.h>

#include "hashing/hash_key.h"

/* The size of the table, and milliseconds after which an object that has no
 * name is asked for again: it may get one. */
enum {
	SLOTS = 8192,
	AGAIN_MS = 60000, /* when what has no name is asked for again */
};

/* An object that the daemon was asked for. */
struct name_slot {
	/* The key that key_of() makes; 0: the slot is free. */
	uint64_t key;
	/* When the daemon was asked last. */
	uint64_t asked_ms;
	/* Allocated; empty: it has none. */
	ProtobufCBinaryData name;
	/* The directory in which it has that name; may be empty. */
	ProtobufCBinaryData dir;
};

struct top_names {
	struct name_slot slots[SLOTS];
};

struct top_names *top_names_new(void)
{
	return calloc(1, sizeof(struct top_names));
}

void top_names_free(struct top_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < SLOTS; i++) {
		free(n->slots[i].name.data);
		free(n->slots[i].dir.data);
	}
	free(n);
}

/* Replaces the bytes of `to`, which are allocated; false without memory, and
 * `to` is as it was. */
static bool copy(ProtobufCBinaryData *to, const ProtobufCBinaryData *from)
{
	uint8_t *data = malloc(from->len + 1);

	if (!data)
		return false;
	if (from->len > 0)
		memcpy(data, from->data, from->len);
	free(to->data);
	*to = (ProtobufCBinaryData){.len = from->len, .data = data};
	return true;
}

/* A hash of server and object: two servers may have objects of one number.
 * Never 0. */
static uint64_t key_of(const Forefetch__ServerActivity *srv, uint64_t object)
{
	return hash_bytes(srv->name.data, srv->name.len, object) | 1;
}

static struct name_slot *slot_of(struct top_names *n, uint64_t key)
{
	return &n->slots[(key >> 1) % SLOTS];
}

/* ---- each row that is about an object ----------------------------------- */

/* One walk over the rows of an answer. */
struct name_walk {
	struct top_names *names;
	const Forefetch__ServerActivity *srv;
	uint64_t now_ms;
	bool missing;
};

/* Called for each row that is about an object; `name` and `dir` are the row's,
 * and are freed with the answer. */
typedef void (*visit)(struct name_walk *w, uint64_t object,
    ProtobufCBinaryData *name, ProtobufCBinaryData *dir);

static void each(struct name_walk *w, visit see)
{
	const Forefetch__ServerActivity *srv = w->srv;

	for (size_t i = 0; i < srv->n_calls; i++)
		see(w, srv->calls[i]->object, &srv->calls[i]->name,
		    &srv->calls[i]->dir);
	for (size_t i = 0; i < srv->n_ahead; i++)
		see(w, srv->ahead[i]->object, &srv->ahead[i]->name,
		    &srv->ahead[i]->dir);
	for (size_t i = 0; i < srv->n_outcomes; i++)
		see(w, srv->outcomes[i]->object, &srv->outcomes[i]->name,
		    &srv->outcomes[i]->dir);
}

/* Notes what the row says of its object. An answer without a name does not take
 * a known one away: the daemon's own cache may have lost it. */
static void learn_one(struct name_walk *w, uint64_t object,
    ProtobufCBinaryData *name, ProtobufCBinaryData *dir)
{
	uint64_t key = key_of(w->srv, object);
	struct name_slot *s = slot_of(w->names, key);

	if (object == 0 || (s->key == key && name->len == 0 && s->name.len > 0))
		return;
	if (!copy(&s->dir, dir) || !copy(&s->name, name))
		return;
	s->key = key;
	s->asked_ms = w->now_ms;
}

/* Puts a known name into a row that has none, or notes that one is missing. */
static void fill_one(struct name_walk *w, uint64_t object,
    ProtobufCBinaryData *name, ProtobufCBinaryData *dir)
{
	uint64_t key = key_of(w->srv, object);
	const struct name_slot *s = slot_of(w->names, key);

	if (object == 0 || name->len > 0)
		return;
	if (s->key != key ||
	    (s->name.len == 0 && w->now_ms - s->asked_ms > AGAIN_MS))
		w->missing = true;
	else if (s->name.len > 0 && copy(name, &s->name))
		(void)copy(dir, &s->dir);
}

void top_names_learn(
    struct top_names *n, const Forefetch__ServerActivity *srv, uint64_t now_ms)
{
	struct name_walk w = {.names = n, .srv = srv, .now_ms = now_ms};

	each(&w, learn_one);
}

bool top_names_fill(
    struct top_names *n, Forefetch__ServerActivity *srv, uint64_t now_ms)
{
	struct name_walk w = {.names = n, .srv = srv, .now_ms = now_ms};

	each(&w, fill_one);
	return w.missing;
}
