/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "predictor/baselines/ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ids_init(struct ids *ids)
{
	memset(ids, 0, sizeof(*ids));
	ids->map = keymap_new(0);
	return ids->map ? 0 : -ENOMEM;
}

void ids_done(struct ids *ids)
{
	keymap_free(ids->map);
	free(ids->keys);
}

int ids_room(void **vec, uint32_t *cap, uint32_t n, size_t each)
{
	uint32_t want = *cap ? *cap : 256;
	char *more;

	if (n < *cap)
		return 0;
	while (want <= n)
		want *= 2;
	more = realloc(*vec, want * each);
	if (!more)
		return -ENOMEM;
	memset(more + *cap * each, 0, (want - *cap) * each);
	*vec = more;
	*cap = want;
	return 0;
}

uint32_t ids_get(struct ids *ids, uint64_t key)
{
	uint32_t id = keymap_get(ids->map, key);

	if (id != KEYMAP_NONE)
		return id;
	if (!IDS_ROOM(ids->keys, ids->cap, ids->n) ||
	    keymap_put(ids->map, key, ids->n))
		return KEYMAP_NONE;
	ids->keys[ids->n] = key;
	return ids->n++;
}

size_t ids_memory_bytes(const struct ids *ids)
{
	return keymap_memory_bytes(ids->map) + ids->cap * sizeof(uint64_t);
}
