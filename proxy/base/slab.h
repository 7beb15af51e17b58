/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small items by the million: eight bytes of grain, no header, and a
 * reference of 32 bits in place of a pointer of 64.
 */
#ifndef FOREFETCH_SLAB_H
#define FOREFETCH_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slab;

/* 0 is no item. Valid until slab_free(); items never move. */
typedef uint32_t slab_ref;

enum { SLAB_ITEM_MAX = 512 }; /* bytes */

/* Makes an empty slab; NULL without memory. */
struct slab *slab_new(void);
/* Frees all items at once. NULL is allowed. */
void slab_delete(struct slab *s);
/* Frees 1 MiB of a slab that is to be deleted, of which nothing is used any
 * more, so that no turn of the loop is long; false where none is left. */
bool slab_shed(struct slab *s);

/* Returns an item of `size` bytes, 1 to SLAB_ITEM_MAX, all zero; 0 where there
 * is no memory. */
slab_ref slab_alloc(struct slab *s, size_t size);
/* Frees an item; `size` as it was allocated. */
void slab_free(struct slab *s, slab_ref ref, size_t size);
/* The item's address, aligned to eight bytes; `ref` must not be 0. */
void *slab_ptr(const struct slab *s, slab_ref ref);

/* Returns the reference with which slab_alloc() gave out the item at this
 * address. */
slab_ref slab_ref_of(const void *item);

/* Returns the bytes of all items that are not free, rounded up to the grain. */
size_t slab_used_bytes(const struct slab *s);

#endif
