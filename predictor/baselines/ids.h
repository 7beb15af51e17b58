/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers keys in the order in which they come, so that a baseline can keep
 * what it knows of an object in an array. */
#ifndef FOREFETCH_IDS_H
#define FOREFETCH_IDS_H

#include "predictor/store/keymap.h"
#include "predictor/store/vec.h"

/* Zeroed, it is empty. */
struct ids {
	struct keymap *map;
	uint64_t *keys; /* by number */
	uint32_t n, cap;
};

/* Frees what it has. */
void ids_done(struct ids *ids);
/* The key's number, made if it has none; KEYMAP_NONE without memory. */
uint32_t ids_get(struct ids *ids, uint64_t key);
/* KEYMAP_NONE if it has none. */
uint32_t ids_find(const struct ids *ids, uint64_t key);
size_t ids_memory_bytes(const struct ids *ids);

#endif
