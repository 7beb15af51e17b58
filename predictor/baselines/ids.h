/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys into small numbers, in the order in which they come. */
#ifndef FOREFETCH_IDS_H
#define FOREFETCH_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/store/keymap.h"

struct ids {
	struct keymap *map;
	uint64_t *keys;
	uint32_t n, cap;
};

int ids_init(struct ids *ids); /* 0 or -errno */
void ids_done(struct ids *ids);
/* KEYMAP_NONE without memory. */
uint32_t ids_get(struct ids *ids, uint64_t key);
size_t ids_memory_bytes(const struct ids *ids);

/*
 * Make room for number `n` in an array whose elements have `each` bytes; what
 * is new is zero. False, and nothing changed, without memory.
 */
int ids_room(void **vec, uint32_t *cap, uint32_t n, size_t each);
#define IDS_ROOM(vec, cap, n)                                                  \
	(ids_room((void **)&(vec), &(cap), n, sizeof(*(vec))) == 0)

#endif
