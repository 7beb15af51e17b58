/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The map: an array of slots. When it is three quarters full, another one of
 * twice the size takes its place, and each new key moves a few slots over. As
 * long as the old array has any, a key that is not in the new one is looked for
 * there, too.
 */
#include "predictor/store/keymap.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "hashing/hash_key.h"

enum {
	KEYMAP_FIRST_SLOTS = 64,
	/* Slots that a new key moves. The new array has room for three keys in
	 * place of four slots of the old one, so two would be enough. */
	MOVED_AT_ONCE = 8,
};

/* The key is in two halves, since there are many slots: a slot has 12 bytes in
 * place of 16. Zeros are an empty slot: a large array needs not be written
 * before it is used. */
struct slot {
	uint32_t key_lo, key_hi;
	uint32_t mark; /* the value + 1 */
};

/* As a mark: searches go on behind it, but it holds no key any more. */
#define MARK_GONE UINT32_MAX

struct table {
	struct slot *slots;
	size_t n; /* a power of two; 0: none */
};

/* While `old` has slots, keys may be in either array, but in one only. */
struct keymap {
	struct table now, old;
	size_t moved; /* slots of the old one */
	size_t used;  /* keys, in both */
};

static uint64_t slot_key(const struct slot *s)
{
	return (uint64_t)s->key_hi << 32 | s->key_lo;
}

static bool table_make(struct table *t, size_t n)
{
	t->slots = calloc(n, sizeof(*t->slots));
	t->n = t->slots ? n : 0;
	return t->slots != NULL;
}

struct keymap *keymap_new(void)
{
	struct keymap *m = calloc(1, sizeof(*m));

	if (m && table_make(&m->now, KEYMAP_FIRST_SLOTS))
		return m;
	free(m);
	errno = ENOMEM;
	return NULL;
}

void keymap_free(struct keymap *m)
{
	if (!m)
		return;
	free(m->now.slots);
	free(m->old.slots);
	free(m);
}

/* The key's slot, or the empty one behind those where it could be. A value that
 * is gone does not belong to the key, even if it once did. */
static struct slot *table_find(
    const struct table *t, uint64_t key, uint64_t hash)
{
	size_t i = hash & (t->n - 1);

	while (t->slots[i].mark != 0 &&
	       (slot_key(&t->slots[i]) != key || t->slots[i].mark == MARK_GONE))
		i = (i + 1) & (t->n - 1);
	return &t->slots[i];
}

/* The key's slot in either array; NULL: it is in none. */
static struct slot *keymap_find(const struct keymap *m, uint64_t key)
{
	uint64_t hash = hash_number(key);
	struct slot *s = table_find(&m->now, key, hash);

	if (s->mark == 0 && m->old.n > 0)
		s = table_find(&m->old, key, hash);
	return s->mark != 0 ? s : NULL;
}

uint32_t keymap_get(const struct keymap *m, uint64_t key)
{
	const struct slot *s = keymap_find(m, key);

	return s ? s->mark - 1 : KEYMAP_NONE;
}

/* Each new key pays for a few slots of the old array, which is free behind the
 * last one. */
static void keymap_move(struct keymap *m)
{
	for (int i = 0; i < MOVED_AT_ONCE && m->moved < m->old.n; i++) {
		struct slot *s = &m->old.slots[m->moved++];
		uint64_t key = slot_key(s);

		if (s->mark == 0 || s->mark == MARK_GONE)
			continue;
		*table_find(&m->now, key, hash_number(key)) = *s;
		s->mark = MARK_GONE;
	}
	if (m->moved < m->old.n)
		return;
	free(m->old.slots);
	m->old = (struct table){0};
}

/* Room for one more key. */
static bool keymap_grow(struct keymap *m)
{
	struct table more;

	if (m->old.n > 0)
		keymap_move(m);
	if (m->used + 1 <= m->now.n / 4 * 3)
		return true;
	if (!table_make(&more, m->now.n * 2))
		return false;
	assert(m->old.n == 0);
	m->old = m->now;
	m->now = more;
	m->moved = 0;
	return true;
}

int keymap_put(struct keymap *m, uint64_t key, uint32_t value)
{
	struct slot *s = keymap_find(m, key);

	assert(value < KEYMAP_NONE - 1);
	if (s) {
		s->mark = value + 1;
		return 0;
	}
	if (!keymap_grow(m))
		return -ENOMEM;
	s = table_find(&m->now, key, hash_number(key));
	s->key_lo = (uint32_t)key;
	s->key_hi = (uint32_t)(key >> 32);
	s->mark = value + 1;
	m->used++;
	return 0;
}

/* Closes the gap: a key whose probing led across it moves into it. */
static void table_close(struct table *t, struct slot *gap)
{
	size_t mask = t->n - 1, hole = (size_t)(gap - t->slots), i = hole;

	for (;;) {
		struct slot *s;
		size_t home;

		i = (i + 1) & mask;
		s = &t->slots[i];
		if (s->mark == 0)
			break;
		home = hash_number(slot_key(s)) & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		t->slots[hole] = *s;
		hole = i;
	}
	t->slots[hole].mark = 0;
}

void keymap_del(struct keymap *m, uint64_t key)
{
	struct slot *s = keymap_find(m, key);

	if (!s)
		return;
	m->used--;
	if (s == table_find(&m->now, key, hash_number(key)))
		table_close(&m->now, s);
	else
		s->mark = MARK_GONE;
}

size_t keymap_memory_bytes(const struct keymap *m)
{
	return sizeof(*m) + (m->now.n + m->old.n) * sizeof(*m->now.slots);
}
