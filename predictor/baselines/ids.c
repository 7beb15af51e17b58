/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys as numbers. */
#include "predictor/baselines/ids.h"

#include <stdlib.h>

void ids_done(struct ids *ids)
{
	keymap_free(ids->map);
	free(ids->keys);
}

uint32_t ids_find(const struct ids *ids, uint64_t key)
{
	return ids->map ? keymap_get(ids->map, key) : KEYMAP_NONE;
}

uint32_t ids_get(struct ids *ids, uint64_t key)
{
	uint32_t id = ids_find(ids, key);

	if (id != KEYMAP_NONE)
		return id;
	if (!ids->map)
		ids->map = keymap_new();
	if (!ids->map || !VEC_ROOM(ids->keys, ids->cap, ids->n) ||
	    keymap_put(ids->map, key, ids->n))
		return KEYMAP_NONE;
	ids->keys[ids->n] = key;
	return ids->n++;
}

size_t ids_memory_bytes(const struct ids *ids)
{
	return (ids->map ? keymap_memory_bytes(ids->map) : 0) +
	       ids->cap * sizeof(uint64_t);
}
