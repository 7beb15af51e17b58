/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trail log: what each stream used, in order. These are the access trees
 * of its programs, flattened. A place in the log is a number.
 *
 *	chunk 3 [a b c ... ] <-> chunk 7 [f g a ... ] <-> chunk 8 [...]
 *	         ^                            |
 *	         +--------- earlier ----------+   each entry knows the place
 *	                                          of its object before
 *	index: (before, object) -> the last place of that pair
 *
 * Each stream writes into chunks of its own, which are linked; when the log is
 * full, the oldest chunk is taken back. An entry has the object, what was
 * needed of it (six bits, PREDICTOR_NEEDS_…), and whether a run begins with
 * it.
 */
#ifndef FOREFETCH_TRAILS_H
#define FOREFETCH_TRAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAIL_NONE    UINT32_MAX
/* A bit beside those of what was needed, in struct trail_part. */
#define TRAIL_BEGINS  64u
/* In the place of an object: the entry was cut, and means nothing. No object
 * has this number. */
#define TRAIL_NOTHING ((1u << 25) - 1)

struct trails;

/* A use that is to be appended. */
struct trail_use {
	uint32_t object;
	uint32_t last;  /* its last place, TRAIL_NONE if it has none */
	uint32_t now;   /* number of the event */
	uint16_t owner; /* wall_bit() of the uid, 0 if it has none */
	uint8_t needs;
	bool begins; /* a run */
};

/* Room for `limit` entries, and for 2,048 in any case; chunks are allocated as
 * they come. NULL without memory. */
struct trails *trails_new(uint32_t limit);
void trails_free(struct trails *t);

/*
 * Appends behind `tail`, which is the stream's last place, or TRAIL_NONE for a
 * new trail. Returns the new place, or TRAIL_NONE without memory.
 */
uint32_t trails_append(
    struct trails *t, uint32_t tail, const struct trail_use *use);

/* The places behind and before; TRAIL_NONE at the end. */
uint32_t trails_next(const struct trails *t, uint32_t place);
uint32_t trails_prev(const struct trails *t, uint32_t place);
/* The object at the place, which must hold one: trails_holds() tells. */
uint32_t trails_object(const struct trails *t, uint32_t place);
/* Whether a run begins there, so that what stands before has nothing to do with
 * it. */
bool trails_begins(const struct trails *t, uint32_t place);
uint8_t trails_needs(const struct trails *t, uint32_t place);
/* The access at that place needed these, too. */
void trails_add_needs(struct trails *t, uint32_t place, uint8_t needs);
/* Whether new entries take the room of old ones. */
bool trails_full(const struct trails *t);
/* The entry was written before that event; that is, before the next chunk of
 * the trail began. UINT32_MAX if there is none yet. */
uint32_t trails_time(const struct trails *t, uint32_t place);
/* The place that the same object had before; TRAIL_NONE if it was taken back.
 */
uint32_t trails_earlier(const struct trails *t, uint32_t place);
/* The last place of `object` right behind `before`. */
uint32_t trails_pair(const struct trails *t, uint32_t before, uint32_t object);
/* Whether the place still holds the object. */
bool trails_holds(const struct trails *t, uint32_t place, uint32_t object);
/* How many entries the chunks in use have room for. */
size_t trails_entries(const struct trails *t);
/* How many entries there may ever be. */
size_t trails_limit(const struct trails *t);
size_t trails_memory_bytes(const struct trails *t);

enum { TRAIL_PART = 32 };

/* A part of a trail: one chunk of it. */
struct trail_part {
	uint32_t objects[TRAIL_PART];
	uint8_t needs[TRAIL_PART]; /* and TRAIL_BEGINS */
	uint32_t n;
	uint32_t place;    /* of the first entry */
	uint32_t begun_at; /* event of the first entry */
	uint32_t ended_at; /* no entry is younger; UINT32_MAX: it goes on */
	uint16_t owner;
	bool more; /* it goes on with the trail of the part before */
};

/*
 * A walk over all trails, the oldest first, part by part. The log may change
 * between two parts: what is taken back meanwhile is left out, and a trail that
 * has lost its middle counts as two.
 */
struct trails_at {
	uint32_t first, n, done; /* chunks looked at for heads of trails */
	uint32_t chunk;          /* the next one of this trail, or TRAIL_NONE */
	uint32_t prev, begun_at; /* the values of that chunk by which it is
				    known to be the same */
};

void trails_begin(const struct trails *t, struct trails_at *at);
/* The next part; false at the end. */
bool trails_part(
    const struct trails *t, struct trails_at *at, struct trail_part *part);
/* A walk over the rest of one trail, from a part on that another walk has met;
 * false if that was taken back. */
bool trails_seek(const struct trails *t, uint32_t place, uint32_t begun_at,
    struct trails_at *at);

/*
 * Forgetting, where all other entries keep their places. Whoever cuts entries
 * mends the places of each object that lost some, and sweeps at the end.
 */
void trails_cut(struct trails *t, uint32_t place);
/* Takes entries that were cut out of the places of an object, whose last one is
 * `last`: of as many as anybody looks back on. Returns the last one that is
 * left, if trails_holds() says that it is. */
uint32_t trails_mend(struct trails *t, uint32_t object, uint32_t last);
/* Gives back the room of chunks of which everything was cut: looks at `n`
 * chunks from number `*chunk` on, and moves that; false at the end. No stream
 * may go on behind a cut entry. */
bool trails_sweep(struct trails *t, uint32_t *chunk, uint32_t n);

#endif
