/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns inside files: which parts of a file its last run read. Kept in
 * blocks of 4 KiB, in a few pieces a file, equal ones at equal distances as
 * one; a file read all over has no pattern. A bounded number of files; the
 * oldest gives way.
 */
#ifndef FOREFETCH_EXTENTS_H
#define FOREFETCH_EXTENTS_H

#include "predictor.h"

enum { EXTENTS_MAX = 8, EXTENT_BLOCK = 4096 };

struct extents;

struct extents *extents_new(uint32_t limit);
void extents_free(struct extents *e);

/* A new access of the object. */
void extents_begin(struct extents *e, uint32_t object);
/* It read there. What a file's first READ took before is `first_bytes`. */
void extents_read(struct extents *e, uint32_t object, uint64_t offset_bytes,
    uint32_t count_bytes, uint32_t first_bytes);
/* Of the last run that is over, else of the present one. */
size_t extents_get(const struct extents *e, uint32_t object,
    struct predictor_extent *out, size_t max);
/* As if a run had read so. */
void extents_set(struct extents *e, uint32_t object,
    const struct predictor_extent *in, size_t n);
/* Of files; some may be without a pattern. */
size_t extents_count(const struct extents *e);
void extents_drop(struct extents *e, uint32_t object);
size_t extents_memory_bytes(const struct extents *e);

#endif
