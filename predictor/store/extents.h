/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which parts of a file its last run read: a few pieces in blocks of 4 KiB,
 * where equal pieces at equal distances are one. Of a file that is read all
 * over, the order is kept instead (order.h). The number of files and of bytes
 * is bounded; the oldest give way. A run is one access of a file, with its
 * later READs.
 */
#ifndef FOREFETCH_EXTENTS_H
#define FOREFETCH_EXTENTS_H

#include "predictor/predictor.h"
#include "predictor/store/order.h"

enum { EXTENTS_MAX = 8, EXTENT_BLOCK = 4096 };

struct extents;

/* Room for `limit` files, which are allocated as they come. Objects are numbers
 * of objects.h: whoever gives a number to another object calls extents_drop()
 * first. NULL without memory. */
struct extents *extents_new(uint32_t limit);
void extents_free(struct extents *e);

/* A new access of the object, and so a new run, begins. */
void extents_begin(struct extents *e, uint32_t object);
/* The access read there. `first_bytes` is what the file's first READ took,
 * which was not noted as long as the file had no entry. */
void extents_read(struct extents *e, uint32_t object, uint64_t offset_bytes,
    uint32_t count_bytes, uint32_t first_bytes);
/* The pieces of the last run that is over, or of the present one if there is
 * none. Returns how many, `max` at most. */
size_t extents_get(const struct extents *e, uint32_t object,
    struct predictor_extent *out, size_t max);
/* As if a run had read these pieces. */
void extents_set(struct extents *e, uint32_t object,
    const struct predictor_extent *in, size_t n);
/* A number that changes when the file has another last run. */
uint32_t extents_run(const struct extents *e, uint32_t object);
/* The order of the last run of a file that is read all over; no pieces if it is
 * not, or if they were too many. */
size_t extents_order(const struct extents *e, uint32_t object,
    struct order_piece *out, size_t max);
/* The same as bytes, for saving: see order_pack() and order_set(). */
size_t extents_order_pack(
    const struct extents *e, uint32_t object, unsigned char *out);
bool extents_order_set(
    struct extents *e, uint32_t object, const void *bytes, size_t len);
/* How many files have an entry. */
size_t extents_count(const struct extents *e);
/* Whether one more takes the place of the oldest. */
bool extents_full(const struct extents *e);
/* Forgets the file, if it has an entry. */
void extents_drop(struct extents *e, uint32_t object);
size_t extents_memory_bytes(const struct extents *e);

#endif
