/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log in chunks, and the index of pairs: see trails.h. */
#include "predictor/store/trails.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/store/vec.h"

enum {
	CHUNK = TRAIL_PART,
	FIRST_CHUNKS = 64,
	/* Slots of the former index that an entry takes over. It brings more
	 * than it needs: there are as many slots as entries until the index
	 * grows again. */
	MOVED_AT_ONCE = 8,
	/* Nobody looks at more older places of an object, nor, where many of
	 * them were cut, through more entries for these. */
	MENDED_PLACES = 64,
	MENDED_LOOKS = 1024,
};

#define OBJECT_BITS TRAIL_NOTHING
#define NEEDS_BITS  63u

struct trails_entry {
	uint32_t object : 25, needs : 6, begins : 1;
	uint32_t earlier;
};

_Static_assert(sizeof(struct trails_entry) == 8, "what an entry costs");

struct chunk {
	struct trails_entry at[CHUNK];
	uint32_t next, prev; /* chunks */
	uint32_t begun_at;   /* of one that is free: the next free one */
	uint16_t n, owner;   /* free ones have no entries */
};

/* A slot of the index; a newer pair simply takes the slot of an older one. */
struct pair {
	uint32_t tag;
	uint32_t mark; /* the place + 1; 0: empty */
};

struct pairs {
	struct pair *at;
	uint32_t n; /* slots; a power of two, or 0 */
};

struct trails {
	struct chunk *chunks;
	struct pairs now, old;  /* the index, and what it was before it grew */
	uint32_t moved;         /* slots of the old one */
	uint32_t n, cap, limit; /* chunks */
	uint32_t hand;          /* the oldest chunk, once all are in use */
	uint32_t free, nfree;   /* chunks that were given back */
};

struct trails *trails_new(uint32_t limit)
{
	struct trails *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->limit = limit / CHUNK < FIRST_CHUNKS ? FIRST_CHUNKS : limit / CHUNK;
	t->free = TRAIL_NONE;
	return t;
}

void trails_free(struct trails *t)
{
	if (!t)
		return;
	free(t->chunks);
	free(t->now.at);
	free(t->old.at);
	free(t);
}

static struct chunk *place_chunk(const struct trails *t, uint32_t place)
{
	return &t->chunks[place / CHUNK];
}

static struct trails_entry *place_entry(const struct trails *t, uint32_t place)
{
	return &t->chunks[place / CHUNK].at[place % CHUNK];
}

bool trails_holds(const struct trails *t, uint32_t place, uint32_t object)
{
	return place / CHUNK < t->n &&
	       place % CHUNK < place_chunk(t, place)->n &&
	       place_entry(t, place)->object == object;
}

uint32_t trails_object(const struct trails *t, uint32_t place)
{
	return place_entry(t, place)->object;
}

bool trails_begins(const struct trails *t, uint32_t place)
{
	return place_entry(t, place)->begins;
}

uint8_t trails_needs(const struct trails *t, uint32_t place)
{
	return place_entry(t, place)->needs;
}

void trails_add_needs(struct trails *t, uint32_t place, uint8_t needs)
{
	struct trails_entry *e = place_entry(t, place);

	e->needs = (e->needs | needs) & NEEDS_BITS;
}

bool trails_full(const struct trails *t)
{
	return t->n >= t->limit && t->nfree == 0;
}

uint32_t trails_time(const struct trails *t, uint32_t place)
{
	const struct chunk *c = place_chunk(t, place);

	return c->next == TRAIL_NONE ? UINT32_MAX : t->chunks[c->next].begun_at;
}

uint32_t trails_next(const struct trails *t, uint32_t place)
{
	const struct chunk *c = place_chunk(t, place);

	if (place % CHUNK + 1 < c->n)
		return place + 1;
	if (c->next == TRAIL_NONE || t->chunks[c->next].n == 0)
		return TRAIL_NONE;
	return c->next * CHUNK;
}

uint32_t trails_prev(const struct trails *t, uint32_t place)
{
	const struct chunk *c = place_chunk(t, place);

	if (place % CHUNK > 0)
		return place - 1;
	return c->prev == TRAIL_NONE
		   ? TRAIL_NONE
		   : c->prev * CHUNK + t->chunks[c->prev].n - 1;
}

uint32_t trails_earlier(const struct trails *t, uint32_t place)
{
	uint32_t e = place_entry(t, place)->earlier;

	return trails_holds(t, e, place_entry(t, place)->object) ? e
								 : TRAIL_NONE;
}

/* The pair as a number of which the lower half is the slot, and the upper half
 * tells pairs apart. */
static uint64_t pair_hash(uint32_t before, uint32_t object)
{
	uint64_t h = ((uint64_t)before << 32 | object) * 0x9e3779b97f4a7c15u;

	return h ^ h >> 29;
}

static struct pair *pair_slot(const struct pairs *ps, uint64_t hash)
{
	return &ps->at[hash & (ps->n - 1)];
}

/* The place of the pair in that index, if the log still has it there. */
static uint32_t pair_find(const struct trails *t, const struct pairs *ps,
    uint64_t hash, uint32_t object)
{
	const struct pair *p = ps->n > 0 ? pair_slot(ps, hash) : NULL;

	if (!p || p->mark == 0 || p->tag != (uint32_t)(hash >> 32) ||
	    !trails_holds(t, p->mark - 1, object))
		return TRAIL_NONE;
	return p->mark - 1;
}

uint32_t trails_pair(const struct trails *t, uint32_t before, uint32_t object)
{
	uint64_t hash = pair_hash(before, object);
	uint32_t place = pair_find(t, &t->now, hash, object);

	/* Where a slot is taken, a newer pair has it. */
	if (place == TRAIL_NONE && t->old.n > 0 &&
	    pair_slot(&t->now, hash)->mark == 0)
		place = pair_find(t, &t->old, hash, object);
	return place;
}

/* Enters the pair that ends at `place`. While an older index is moved over, its
 * pairs must not take slots of newer ones. */
static void pair_put(
    struct trails *t, uint32_t prev, uint32_t place, bool only_if_empty)
{
	uint64_t hash =
	    pair_hash(trails_object(t, prev), trails_object(t, place));
	struct pair *p = pair_slot(&t->now, hash);

	if (only_if_empty && p->mark != 0)
		return;
	p->tag = (uint32_t)(hash >> 32);
	p->mark = place + 1;
}

/* Take over a part of the former index, as far as its pairs are found again in
 * the log. */
static void pairs_move(struct trails *t, uint32_t n)
{
	for (; n > 0 && t->moved < t->old.n; n--) {
		uint32_t place = t->old.at[t->moved++].mark - 1, prev;

		if (place == TRAIL_NONE || place / CHUNK >= t->n)
			continue;
		prev = trails_prev(t, place);
		if (prev != TRAIL_NONE)
			pair_put(t, prev, place, true);
	}
	if (t->moved < t->old.n)
		return;
	free(t->old.at);
	t->old = (struct pairs){0};
}

/* The index grows to one slot an entry. */
static bool pairs_grow(struct trails *t, uint32_t want)
{
	struct pair *fresh;

	if (t->now.n >= want)
		return true;
	fresh = calloc(want, sizeof(*fresh));
	if (!fresh)
		return false;
	/* Little is left of the former one, if there is any. */
	pairs_move(t, UINT32_MAX);
	t->old = t->now;
	t->now = (struct pairs){.at = fresh, .n = want};
	t->moved = 0;
	return true;
}

static bool trails_grow(struct trails *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : FIRST_CHUNKS;
	uint32_t pairs = FIRST_CHUNKS * CHUNK;

	/* The index first: without one, no entry may be added. */
	while (pairs < (cap < t->limit ? cap : t->limit) * CHUNK)
		pairs *= 2;
	return pairs_grow(t, pairs) &&
	       VEC_GROW(t->chunks, t->cap, cap, t->limit);
}

/* Cuts the chunk out of its trail, which falls into two. */
static void chunk_unlink(struct trails *t, struct chunk *c)
{
	if (c->prev != TRAIL_NONE)
		t->chunks[c->prev].next = TRAIL_NONE;
	if (c->next != TRAIL_NONE)
		t->chunks[c->next].prev = TRAIL_NONE;
}

/* A new chunk behind `prev`, the oldest one if all are in use; TRAIL_NONE
 * without memory. */
static uint32_t trails_chunk(
    struct trails *t, uint32_t prev, const struct trail_use *use)
{
	uint32_t id = t->free;

	if (id != TRAIL_NONE) {
		t->free = t->chunks[id].begun_at;
		t->nfree--;
	} else if (t->n < t->cap || trails_grow(t)) {
		id = t->n++;
	} else if (t->n > 0) {
		id = t->hand;
		t->hand = (t->hand + 1) % t->n;
		chunk_unlink(t, &t->chunks[id]);
	} else {
		return TRAIL_NONE;
	}
	if (prev != TRAIL_NONE && (prev == id || t->chunks[prev].n == 0))
		prev = TRAIL_NONE;
	t->chunks[id].n = 0;
	t->chunks[id].next = TRAIL_NONE;
	t->chunks[id].prev = prev;
	t->chunks[id].begun_at = use->now;
	t->chunks[id].owner = use->owner;
	if (prev != TRAIL_NONE)
		t->chunks[prev].next = id;
	return id;
}

uint32_t trails_append(
    struct trails *t, uint32_t tail, const struct trail_use *use)
{
	uint32_t chunk = tail == TRAIL_NONE ? TRAIL_NONE : tail / CHUNK;
	uint32_t place, prev;
	struct chunk *c;

	if (chunk == TRAIL_NONE || t->chunks[chunk].n == CHUNK ||
	    t->chunks[chunk].n != tail % CHUNK + 1)
		chunk = trails_chunk(t, chunk, use);
	if (chunk == TRAIL_NONE)
		return TRAIL_NONE;
	c = &t->chunks[chunk];
	place = chunk * CHUNK + c->n;
	c->at[c->n++] =
	    (struct trails_entry){.object = use->object & OBJECT_BITS,
		.needs = use->needs & NEEDS_BITS,
		.begins = use->begins,
		.earlier = use->last};
	prev = trails_prev(t, place);
	if (prev != TRAIL_NONE)
		pair_put(t, prev, place, false);
	if (t->old.n > 0)
		pairs_move(t, MOVED_AT_ONCE);
	return place;
}

size_t trails_entries(const struct trails *t)
{
	return (size_t)(t->n - t->nfree) * CHUNK;
}

size_t trails_limit(const struct trails *t)
{
	return (size_t)t->limit * CHUNK;
}

size_t trails_memory_bytes(const struct trails *t)
{
	return sizeof(*t) + t->cap * sizeof(*t->chunks) +
	       (t->now.n + t->old.n) * sizeof(*t->now.at);
}

static void chunk_part(
    const struct trails *t, const struct chunk *c, struct trail_part *part)
{
	part->n = c->n;
	part->owner = c->owner;
	part->begun_at = c->begun_at;
	part->ended_at =
	    c->next == TRAIL_NONE ? UINT32_MAX : t->chunks[c->next].begun_at;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct trails_entry *e = &c->at[i];

		part->objects[i] = e->object;
		part->needs[i] = (uint8_t)(e->needs | e->begins * TRAIL_BEGINS);
	}
}

void trails_begin(const struct trails *t, struct trails_at *at)
{
	*at = (struct trails_at){
	    .first = t->hand, .n = t->n, .chunk = TRAIL_NONE};
}

/* Whether the walk's next chunk still belongs to the same trail. */
static bool goes_on(const struct trails *t, const struct trails_at *at)
{
	const struct chunk *c;

	if (at->chunk == TRAIL_NONE)
		return false;
	c = &t->chunks[at->chunk];
	return c->prev == at->prev && c->begun_at == at->begun_at;
}

/* The next chunk of the trail, or at its end the head of the next trail; heads
 * come in the order of age. */
static bool next_chunk(const struct trails *t, struct trails_at *at, bool *more)
{
	*more = goes_on(t, at);
	if (*more)
		return true;
	for (at->chunk = TRAIL_NONE; at->done < at->n; at->done++) {
		uint32_t id = (at->first + at->done) % at->n;

		if (t->chunks[id].prev != TRAIL_NONE || t->chunks[id].n == 0)
			continue;
		at->chunk = id;
		at->done++;
		return true;
	}
	return false;
}

bool trails_part(
    const struct trails *t, struct trails_at *at, struct trail_part *part)
{
	const struct chunk *c;

	if (!next_chunk(t, at, &part->more))
		return false;
	c = &t->chunks[at->chunk];
	chunk_part(t, c, part);
	part->place = at->chunk * CHUNK;
	at->prev = at->chunk;
	at->chunk = c->next;
	at->begun_at = c->next == TRAIL_NONE ? 0 : t->chunks[c->next].begun_at;
	return true;
}

bool trails_seek(const struct trails *t, uint32_t place, uint32_t begun_at,
    struct trails_at *at)
{
	uint32_t id = place / CHUNK;

	if (id >= t->n || t->chunks[id].begun_at != begun_at)
		return false;
	/* Without heads to look at, the walk ends with this trail. */
	*at = (struct trails_at){
	    .chunk = id, .prev = t->chunks[id].prev, .begun_at = begun_at};
	return true;
}

/* ---- forgetting -------------------------------------------------------- */

void trails_cut(struct trails *t, uint32_t place)
{
	struct trails_entry *e = place_entry(t, place);

	/* The place of its object before it stays, for trails_mend(). */
	e->object = TRAIL_NOTHING;
	e->needs = 0;
	e->begins = 0;
}

uint32_t trails_mend(struct trails *t, uint32_t object, uint32_t last)
{
	uint32_t *link = &last;
	int places = 0;

	for (int i = 0; i < MENDED_LOOKS && places < MENDED_PLACES; i++) {
		bool cut = trails_holds(t, *link, TRAIL_NOTHING);

		if (!cut && !trails_holds(t, *link, object))
			break;
		if (cut) {
			*link = place_entry(t, *link)->earlier;
			continue;
		}
		link = &place_entry(t, *link)->earlier;
		places++;
	}
	return last;
}

static bool chunk_is_cut(const struct chunk *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i].object != TRAIL_NOTHING)
			return false;
	return c->n > 0;
}

/* The trail goes on without it. */
static void chunk_give_back(struct trails *t, uint32_t id)
{
	struct chunk *c = &t->chunks[id];

	if (c->prev != TRAIL_NONE)
		t->chunks[c->prev].next = c->next;
	if (c->next != TRAIL_NONE)
		t->chunks[c->next].prev = c->prev;
	c->prev = c->next = TRAIL_NONE;
	c->n = 0;
	c->begun_at = t->free;
	t->free = id;
	t->nfree++;
}

bool trails_sweep(struct trails *t, uint32_t *chunk, uint32_t n)
{
	for (; n > 0 && *chunk < t->n; n--, ++*chunk)
		if (chunk_is_cut(&t->chunks[*chunk]))
			chunk_give_back(t, *chunk);
	return *chunk < t->n;
}
