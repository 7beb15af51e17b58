/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where keys go in hash tables, by a secret of the process.
 *
 * Users choose names, servers choose handles, and files that somebody imports
 * have keys of their author's choice. Whoever knows how a table places its keys
 * can choose such that go to one place, and then each look-up passes all of
 * them. So every table that has foreign keys places them by these functions.
 *
 * The results are of this process alone: what is written to disk, sent or shown
 * never depends on them, nor does what comes first where order matters.
 *
 * The secret is the same in every run until hash_key_draw() draws one, so that
 * tests and simulations can be repeated. Programs that face others draw one
 * before anything else, while they have one thread.
 */
#ifndef FOREFETCH_HASH_KEY_H
#define FOREFETCH_HASH_KEY_H

#include <stddef.h>
#include <stdint.h>

/* The secret: an offset, and two multipliers. */
struct hash_key {
	uint64_t add;
	uint64_t times[2]; /* odd */
};

/* For the functions below alone. It is here because they are in the innermost
 * loops. */
extern struct hash_key hash_key;

/* Draws a secret at random, by getrandom(2); nobody may have placed a key
 * before. */
void hash_key_draw(void);

/*
 * A number of 64 bits to a place: any of its bits will do. Multiplication by a
 * secret odd number is nearly universal in its upper half (Dietzfelbinger,
 * Hagerup, Katajainen and Penttonen 1997), which the shifts bring down.
 */
static inline uint64_t hash_number(uint64_t n)
{
	n = (n ^ hash_key.add) * hash_key.times[0];
	n = (n ^ n >> 32) * hash_key.times[1];
	return n ^ n >> 32;
}

/* Two numbers, in this order. */
static inline uint64_t hash_numbers(uint64_t a, uint64_t b)
{
	return hash_number(hash_number(a) + b);
}

/* Bytes, and a number that belongs to them or 0. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t with);

#endif
