/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map against a plain array that has the same, while it grows. */
#include "unittest.h"
#include "hashing/hash_key.h"
#include "predictor/store/keymap.h"

enum { KEYS = 5000, STEPS = 400000 };

/* Keys that differ in few bits, in the upper half as well. */
static uint64_t key_of(uint32_t i)
{
	return (uint64_t)(i % 70) << 50 | i / 70;
}

static uint32_t random_next(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

/* Most are put at first, most are taken away at last. */
static void play(struct keymap *m, uint32_t *values, uint32_t seed)
{
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t i = random_next(&seed) % KEYS;

		assert_int_equal(keymap_get(m, key_of(i)), values[i]);
		if (random_next(&seed) % STEPS < step) {
			keymap_del(m, key_of(i));
			values[i] = KEYMAP_NONE;
		} else {
			values[i] = random_next(&seed);
			assert_int_equal(
			    keymap_put(m, key_of(i), values[i]), 0);
		}
	}
}

TEST(test_same_as_an_array)
{
	static uint32_t values[KEYS];
	struct keymap *m = AFTER(keymap_free, keymap_new());

	for (uint32_t i = 0; i < KEYS; i++)
		values[i] = KEYMAP_NONE;
	for (uint32_t seed = 1; seed <= 3; seed++)
		play(m, values, seed);
	for (uint32_t i = 0; i < KEYS; i++)
		assert_int_equal(keymap_get(m, key_of(i)), values[i]);
}

/* At each size, among them those at which a part of the keys has moved. */
TEST(test_each_size)
{
	struct keymap *m = AFTER(keymap_free, keymap_new());

	for (uint32_t n = 0; n < KEYS; n++) {
		assert_int_equal(keymap_put(m, key_of(n), n), 0);
		/* One that was taken away before it moved does not come back.
		 */
		keymap_del(m, key_of(n / 2));
		assert_int_equal(keymap_get(m, key_of(n / 2)), KEYMAP_NONE);
		assert_int_equal(keymap_put(m, key_of(n / 2), n / 2), 0);
		if (n % 97 != 0)
			continue;
		for (uint32_t i = 0; i <= n; i++)
			assert_int_equal(keymap_get(m, key_of(i)), i);
	}
	for (uint32_t n = 0; n < KEYS; n++)
		keymap_del(m, key_of(n));
	for (uint32_t n = 0; n < KEYS; n++)
		assert_int_equal(keymap_get(m, key_of(n)), KEYMAP_NONE);
}

/* Two processes place the same keys elsewhere. */
TEST(test_secret)
{
	uint64_t here[64], same = 0;

	for (uint64_t i = 0; i < 64; i++)
		here[i] = hash_number(i);
	hash_key_draw();
	for (uint64_t i = 0; i < 64; i++)
		same += (hash_number(i) & 0xffff) == (here[i] & 0xffff);
	assert_true(same < 8);
	test_same_as_an_array(state);
}
