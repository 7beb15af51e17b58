/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map from 64-bit keys to 32-bit numbers: open addressing with linear
 * probing, at most three quarters full. Keys are placed by a secret of the
 * process (hash_key.h), so any keys will do, whoever chose them. It grows in
 * small steps, so that no insertion pays for all.
 */
#ifndef FOREFETCH_KEYMAP_H
#define FOREFETCH_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

/* OBJECT_NONE, DIR_NONE and TRAIL_NONE are the same. */
#define KEYMAP_NONE UINT32_MAX

struct keymap;

struct keymap *keymap_new(void); /* NULL and errno without memory */
void keymap_free(struct keymap *m);

/* KEYMAP_NONE if absent. */
uint32_t keymap_get(const struct keymap *m, uint64_t key);
/* Replaces what the key had; `value` is below KEYMAP_NONE - 1. 0 or -ENOMEM. */
int keymap_put(struct keymap *m, uint64_t key, uint32_t value);
/* Forgets the key, if it is there. */
void keymap_del(struct keymap *m, uint64_t key);
size_t keymap_memory_bytes(const struct keymap *m);

#endif
