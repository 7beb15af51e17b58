/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys that follow from names: see portable.h. */
#include "predictor/persist/portable.h"

#include <xxhash.h>

enum { LEVELS_MAX = 64, SEED = 0x666f7265 };

/* Whoever makes a file can choose names, and so some keys; but not keys that
 * mean given objects, since those are hashes of handles. */
static uint64_t key_below(uint64_t parent, uint64_t name)
{
	uint64_t pair[2] = {parent, name};
	uint64_t key = XXH3_64bits_withSeed(pair, sizeof(pair), SEED);

	return key ? key : 1;
}

/* `dir` counts from 1. Deeper than LEVELS_MAX the names above do not count,
 * which also ends a circle. */
static uint64_t dir_key(const Forefetch__TreeFile *f, uint32_t dir)
{
	uint32_t names[LEVELS_MAX];
	uint64_t key;
	int n = 0;

	while (f->dir_parent[dir - 1] && n < LEVELS_MAX) {
		names[n++] = f->dir_name[dir - 1];
		dir = f->dir_parent[dir - 1];
	}
	key = key_below(0, f->dir_key[dir - 1]);
	while (n > 0)
		key = key_below(key, names[--n]);
	return key;
}

/* dir_key() reads the keys of topmost directories, so these are written last.
 */
void portable_set_keys(Forefetch__TreeFile *f)
{
	uint64_t *keys = f->dir_key;

	for (uint32_t i = 1; i <= f->n_dir_key; i++)
		if (f->dir_parent[i - 1])
			keys[i - 1] = dir_key(f, i);
	for (uint32_t i = 1; i <= f->n_dir_key; i++)
		if (!f->dir_parent[i - 1])
			keys[i - 1] = dir_key(f, i);
	for (size_t i = 0; i < f->n_object_key; i++)
		f->object_key[i] = f->object_dir[i]
				       ? key_below(keys[f->object_dir[i] - 1],
					     f->object_name[i])
				       : key_below(0, f->object_key[i]);
}
