/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map: one array of slots, doubled when it is three quarters full. */
#include "predictor/store/keymap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEYMAP_FIRST_SLOTS = 64 };

/* The key is in two halves, since there are many slots: a slot has 12 bytes in
 * place of 16. */
struct slot {
	uint32_t key_lo, key_hi;
	uint32_t value; /* KEYMAP_NONE: empty */
};

struct keymap {
	struct slot *slots;
	size_t nslots, used; /* nslots is a power of two */
};

static uint64_t slot_key(const struct slot *s)
{
	return (uint64_t)s->key_hi << 32 | s->key_lo;
}

/* The finalizer of splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t key_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static struct slot *slots_new(size_t n)
{
	struct slot *s = malloc(n * sizeof(*s));

	if (s)
		memset(s, 0xff, n * sizeof(*s));
	return s;
}

struct keymap *keymap_new(void)
{
	struct keymap *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->nslots = KEYMAP_FIRST_SLOTS;
	m->slots = slots_new(m->nslots);
	if (!m->slots) {
		free(m);
		errno = ENOMEM;
		return NULL;
	}
	return m;
}

void keymap_free(struct keymap *m)
{
	if (!m)
		return;
	free(m->slots);
	free(m);
}

/* The key's slot, or the empty one where it would go. */
static struct slot *keymap_find(struct slot *slots, size_t nslots, uint64_t key)
{
	size_t i = key_mix(key) & (nslots - 1);

	while (slots[i].value != KEYMAP_NONE && slot_key(&slots[i]) != key)
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

uint32_t keymap_get(const struct keymap *m, uint64_t key)
{
	return keymap_find(m->slots, m->nslots, key)->value;
}

static int keymap_grow(struct keymap *m)
{
	size_t n = m->nslots * 2;
	struct slot *fresh = slots_new(n);

	if (!fresh)
		return -ENOMEM;
	for (size_t i = 0; i < m->nslots; i++) {
		struct slot *s = &m->slots[i];

		if (s->value != KEYMAP_NONE)
			*keymap_find(fresh, n, slot_key(s)) = *s;
	}
	free(m->slots);
	m->slots = fresh;
	m->nslots = n;
	return 0;
}

int keymap_put(struct keymap *m, uint64_t key, uint32_t value)
{
	struct slot *s = keymap_find(m->slots, m->nslots, key);

	if (s->value != KEYMAP_NONE) {
		s->value = value;
		return 0;
	}
	if (m->used + 1 > m->nslots / 4 * 3) {
		if (keymap_grow(m))
			return -ENOMEM;
		s = keymap_find(m->slots, m->nslots, key);
	}
	s->key_lo = (uint32_t)key;
	s->key_hi = (uint32_t)(key >> 32);
	s->value = value;
	m->used++;
	return 0;
}

void keymap_del(struct keymap *m, uint64_t key)
{
	size_t mask = m->nslots - 1;
	size_t hole, i;
	struct slot *s = keymap_find(m->slots, m->nslots, key);

	if (s->value == KEYMAP_NONE)
		return;
	/* Close the gap: a key whose probing led across it moves into it. */
	hole = i = (size_t)(s - m->slots);
	for (;;) {
		size_t home;

		i = (i + 1) & mask;
		s = &m->slots[i];
		if (s->value == KEYMAP_NONE)
			break;
		home = key_mix(slot_key(s)) & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = *s;
		hole = i;
	}
	m->slots[hole].value = KEYMAP_NONE;
	m->used--;
}

size_t keymap_memory_bytes(const struct keymap *m)
{
	return sizeof(*m) + m->nslots * sizeof(*m->slots);
}
