/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trees belong to a uid. Of the first sixteen uids it is known exactly what
 * each has met; for anything else, and for all other uids, the caller is
 * asked whether they may.
 */
#ifndef FOREFETCH_WALL_H
#define FOREFETCH_WALL_H

#include <stdbool.h>
#include <stdint.h>

struct predictor;
struct stream;

enum { WALL_UIDS = 16 };

struct wall {
	uint64_t uids[WALL_UIDS];
	uint32_t n;
};

/* The bit of `uid` in what is `known`; 0 if it has none. It gets one while
 * there are any. */
uint16_t wall_bit(struct wall *w, uint64_t uid);
/* The same, and it gets none. */
uint16_t wall_find(const struct wall *w, uint64_t uid);
/* The uid of a bit. */
uint64_t wall_uid(const struct wall *w, uint16_t bit);
/* Whether `s` may be told of `object`, in `parent`. */
bool wall_passes(struct predictor *p, const struct stream *s, uint16_t known,
    uint64_t parent, uint64_t object);
/* The directory and those above it were met by whom `bit` stands for. */
void wall_open(struct predictor *p, uint32_t dir, uint16_t bit);

#endif
