/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers divide a size between them: none is left with less than an equal part
 * that it needs, and the sum is never more than the whole. */
#include "daemon/shares.h"

#include "unittest.h"

static void divides(uint64_t total, const uint64_t *want, size_t n, ...)
{
	uint64_t get[64], sum = 0;
	va_list ap;

	shares_divide(total, want, get, n);
	va_start(ap, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(get[i], va_arg(ap, int));
		sum += get[i];
	}
	va_end(ap);
	assert_true(sum <= total);
}

TEST(test_divide)
{
	divides(100, (uint64_t[]){0}, 1, 100);
	divides(100, (uint64_t[]){500}, 1, 100);
	/* All servers get an equal part of the rest when each has what it
	 * wants. */
	divides(100, (uint64_t[]){10, 30}, 2, 40, 60);
	/* Who wants little gets that, the rest is for who wants more. */
	divides(100, (uint64_t[]){10, 500}, 2, 10, 90);
	divides(100, (uint64_t[]){500, 10, 500}, 3, 45, 10, 45);
	divides(100, (uint64_t[]){500, 30, 10, 500}, 4, 30, 30, 10, 30);
	/* All want more than there is. */
	divides(100, (uint64_t[]){500, 500, 500}, 3, 33, 33, 33);
	divides(1, (uint64_t[]){5, 5}, 2, 0, 0);
	shares_divide(100, NULL, NULL, 0);
}

TEST(test_random)
{
	uint64_t want[64], get[64];

	srand(1);
	for (int round = 0; round < 10000; round++) {
		uint64_t total = (uint64_t)rand() << (rand() % 20), sum = 0;
		size_t n = 1 + (size_t)rand() % 64;

		for (size_t i = 0; i < n; i++)
			want[i] = (uint64_t)rand() << (rand() % 20);
		shares_divide(total, want, get, n);
		for (size_t i = 0; i < n; i++) {
			/* An equal part, or all that it wants. */
			assert_true(get[i] >= want[i] || get[i] >= total / n);
			sum += get[i];
		}
		assert_true(sum <= total && sum + n > total);
	}
}
