/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trail log: what each stream used, in order, which is the access trees
 * of its programs, flattened. Streams write into chunks of their own, which
 * are linked; the oldest chunk is taken back when the log is full. A place
 * in the log is a number; each entry knows the one before of its object, and
 * an index knows the last place of each pair of neighbours. With each entry
 * stands what was needed of the object: six bits, PREDICTOR_NEEDS_…; and
 * whether a run of its stream begins there.
 */
#ifndef FOREFETCH_TRAILS_H
#define FOREFETCH_TRAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAIL_NONE   UINT32_MAX
/* Beside what was needed, where trails_walk() gives it. */
#define TRAIL_BEGINS 64u

struct trails;

struct trail_use {
	uint32_t object;
	uint32_t last;  /* its place before, TRAIL_NONE if it has none */
	uint32_t now;   /* number of the event */
	uint16_t owner; /* the bit of whose trail it is, 0 if there is none */
	uint8_t needs;
	bool begins;
};

/* `limit` entries at most. */
struct trails *trails_new(uint32_t limit);
void trails_free(struct trails *t);

/*
 * Append behind `tail`, the last place of a stream, TRAIL_NONE for a new
 * trail. Returns the new place, or TRAIL_NONE without memory.
 */
uint32_t trails_append(
    struct trails *t, uint32_t tail, const struct trail_use *use);

/* TRAIL_NONE at the end. */
uint32_t trails_next(const struct trails *t, uint32_t place);
uint32_t trails_prev(const struct trails *t, uint32_t place);
uint32_t trails_object(const struct trails *t, uint32_t place);
/* Whether a run begins there: what came before it says nothing of it. */
bool trails_begins(const struct trails *t, uint32_t place);
uint8_t trails_needs(const struct trails *t, uint32_t place);
/* The access at that place needed these too. */
void trails_add_needs(struct trails *t, uint32_t place, uint8_t needs);
/* Whether a new trail takes the place of an old one. */
int trails_full(const struct trails *t);
/* The place was taken before that event, by at most the length of a chunk. */
uint32_t trails_time(const struct trails *t, uint32_t place);
/* The place of the same object before; TRAIL_NONE if it was taken back. */
uint32_t trails_earlier(const struct trails *t, uint32_t place);
/* The last place of `object` right behind `before`. */
uint32_t trails_pair(const struct trails *t, uint32_t before, uint32_t object);
/* Whether the place still holds the object. */
int trails_holds(const struct trails *t, uint32_t place, uint32_t object);
/* How many there is room for, now. */
size_t trails_entries(const struct trails *t);
/* How many there may ever be. */
size_t trails_limit(const struct trails *t);
size_t trails_memory_bytes(const struct trails *t);

enum { TRAIL_PART = 32 };

/* Of a trail, TRAIL_PART entries at most. */
struct trail_part {
	uint32_t objects[TRAIL_PART];
	uint8_t needs[TRAIL_PART]; /* and TRAIL_BEGINS */
	uint32_t n;
	uint32_t place;    /* of the first */
	uint32_t begun_at; /* event */
	uint32_t ended_at; /* not after that event; UINT32_MAX: it goes on */
	uint16_t owner;
	bool more; /* of the same trail as the part before */
};

/*
 * A walk over all trails, oldest first, part by part. The log may change
 * between two parts: what is taken back meanwhile is left out, and a trail that
 * has lost its middle is two.
 */
struct trails_at {
	uint32_t first, n, done; /* heads: where it began, how many, so far */
	uint32_t chunk;          /* the trail goes on with, TRAIL_NONE */
	uint32_t prev, begun_at; /* … if that is still so */
};

void trails_begin(const struct trails *t, struct trails_at *at);
/* The next part; false at the end. */
bool trails_part(
    const struct trails *t, struct trails_at *at, struct trail_part *part);
/* The rest of the trail from a part on that a walk has met; false where it was
 * taken back. */
bool trails_seek(const struct trails *t, uint32_t place, uint32_t begun_at,
    struct trails_at *at);

/* All of it at once. Nonzero stops, and is returned. */
typedef int (*trails_each)(void *ctx, const struct trail_part *part);
int trails_walk(const struct trails *t, trails_each each, void *ctx);

#endif
