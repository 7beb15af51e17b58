/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wall between uids: what was learned from one uid is told to another only
 * if it has met the object itself, or the caller says that it may search the
 * directory. Root and the first fifteen other uids have a bit each in `met_by`
 * of objects and directories; for all others the caller is always asked.
 */
#ifndef FOREFETCH_WALL_H
#define FOREFETCH_WALL_H

#include <stdbool.h>
#include <stdint.h>

struct predictor;
struct stream;

enum { WALL_UIDS = 16 };

/* Sizes of everything that imports of a uid have added. */
struct brought {
	uint32_t objects, dirs, uses;
	uint32_t since; /* how many events had been observed when it began */
};

/* The uids that have a bit, by the number of the bit. */
struct wall {
	uint64_t uids[WALL_UIDS];
	struct brought brought[WALL_UIDS];
	uint32_t n;
};

/* The bit of `uid`, which is given one if any is left; else 0. */
uint16_t wall_bit(struct wall *w, uint64_t uid);
/* The bit of `uid`, 0 if it has none. */
uint16_t wall_find(const struct wall *w, uint64_t uid);
/* The uid of a bit. */
uint64_t wall_uid(const struct wall *w, uint16_t bit);
struct brought *wall_brought(struct wall *w, uint16_t bit);
/* Whether `s` may be told of `object` in `parent`, which `met_by` have met. */
bool wall_passes(struct predictor *p, const struct stream *s, uint16_t met_by,
    uint64_t parent, uint64_t object);
/* The uid of `bit` has met the directory, and so those above it. */
void wall_open(struct predictor *p, uint32_t dir, uint16_t bit);

#endif
