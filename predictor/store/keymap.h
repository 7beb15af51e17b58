/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map of 64-bit keys to 32-bit numbers: open addressing, linear probing,
 * at most three quarters full. Keys are mixed first, so any keys will do.
 */
#ifndef FOREFETCH_KEYMAP_H
#define FOREFETCH_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

#define KEYMAP_NONE UINT32_MAX

struct keymap;

/* `limit` entries at most, 0 for no limit. NULL and ENOMEM. */
struct keymap *keymap_new(size_t limit);
void keymap_free(struct keymap *m);

/* KEYMAP_NONE if absent. */
uint32_t keymap_get(const struct keymap *m, uint64_t key);
/* 0, -ENOSPC at the limit, or -ENOMEM; replaces what the key had. */
int keymap_put(struct keymap *m, uint64_t key, uint32_t value);
void keymap_del(struct keymap *m, uint64_t key);
void keymap_clear(struct keymap *m);
size_t keymap_count(const struct keymap *m);
size_t keymap_memory_bytes(const struct keymap *m);

#endif
