/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns inside files: which parts of a file its last run read. Kept in
 * blocks of 4 KiB, in a few pieces a file, equal ones at equal distances as
 * one; of a file read all over the order is kept instead (order.h). A bounded
 * number of files, and of bytes; the oldest gives way.
 */
#ifndef FOREFETCH_EXTENTS_H
#define FOREFETCH_EXTENTS_H

#include "predictor/predictor.h"
#include "predictor/store/order.h"

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
/* A number that is another one when the file has another last run. */
uint32_t extents_run(const struct extents *e, uint32_t object);
/* The order of the last run of a file that was read all over; 0 pieces where
 * it was not, or where there were too many. */
size_t extents_order(const struct extents *e, uint32_t object,
    struct order_piece *out, size_t max);
/* The same, for a file: see order.h. */
size_t extents_order_pack(
    const struct extents *e, uint32_t object, unsigned char *out);
bool extents_order_set(
    struct extents *e, uint32_t object, const void *bytes, size_t len);
/* Of files; some may be without a pattern. */
size_t extents_count(const struct extents *e);
void extents_drop(struct extents *e, uint32_t object);
size_t extents_memory_bytes(const struct extents *e);

#endif
