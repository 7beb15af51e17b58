/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histogram in the widths that nfsload has it in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/histogram.h"

static void assert_near(double got, double want, double relative)
{
	double off = got > want ? got - want : want - got;

	if (off > want * relative)
		fail_msg(
		    "%g is not within %g %% of %g", got, relative * 100, want);
}

static void empty_has_no_percentile(void **state)
{
	struct histogram *h = calloc(1, sizeof(*h));

	(void)state;
	assert_non_null(h);
	assert_int_equal(h->count, 0);
	assert_int_equal(h->max, 0);
	assert_true((double)histogram_percentile(h, 500) == 0);
	free(h);
}

static void one_value_is_every_percentile(void **state)
{
	static const uint64_t values[] = {0, 1, 127, 128, 129, 255, 256, 257,
	    511, 512, 65535, 65536, 1000003, (1ull << 40) - 1};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct histogram *h = calloc(1, sizeof(*h));
		double v = (double)values[i];

		histogram_add(h, values[i]);
		assert_true((double)histogram_percentile(h, 0) == v);
		assert_true((double)histogram_percentile(h, 500) == v);
		assert_true((double)histogram_percentile(h, 1000) == v);
		assert_int_equal(h->max, values[i]);
		free(h);
	}
}

static void percentiles_of_a_ramp(void **state)
{
	struct histogram *h = calloc(1, sizeof(*h));

	(void)state;
	for (uint64_t v = 1; v <= 100000; v++)
		histogram_add(h, v * 10);
	assert_int_equal(h->count, 100000);
	assert_near((double)histogram_percentile(h, 500), 500000, 0.002);
	assert_near((double)histogram_percentile(h, 900), 900000, 0.002);
	assert_near((double)histogram_percentile(h, 990), 990000, 0.002);
	assert_true((double)histogram_percentile(h, 1000) == 1000000);
	free(h);
}

/* Two equal values keep their bucket's precision at every magnitude. */
static void error_is_bounded_at_every_magnitude(void **state)
{
	(void)state;
	for (uint64_t v = 3; v < 1ull << 39; v = v * 3 / 2 + 1) {
		struct histogram *h = calloc(1, sizeof(*h));

		histogram_add(h, v / 2);
		for (int i = 0; i < 8; i++)
			histogram_add(h, v);
		histogram_add(h, v * 2);
		assert_near(
		    (double)histogram_percentile(h, 500), (double)v, 0.002);
		free(h);
	}
}

/* Its bucket is the last one, but the greatest value stays exact. */
static void too_large_is_counted(void **state)
{
	struct histogram *h = calloc(1, sizeof(*h));

	(void)state;
	histogram_add(h, UINT64_MAX);
	assert_true(h->max == UINT64_MAX);
	assert_int_equal(h->bucket[HISTOGRAM_BUCKETS - 1], 1);
	free(h);
}

static void merge_adds(void **state)
{
	struct histogram *a = calloc(1, sizeof(*a));
	struct histogram *b = calloc(1, sizeof(*b));

	(void)state;
	for (uint64_t v = 1; v <= 1000; v++) {
		histogram_add(a, 1000);
		histogram_add(b, 3000);
	}
	histogram_add(b, 9000);
	histogram_merge(a, b);
	assert_int_equal(a->count, 2001);
	assert_int_equal(a->max, 9000);
	assert_near((double)histogram_percentile(a, 250), 1000, 0.002);
	assert_near((double)histogram_percentile(a, 750), 3000, 0.002);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(empty_has_no_percentile),
	    cmocka_unit_test(one_value_is_every_percentile),
	    cmocka_unit_test(percentiles_of_a_ramp),
	    cmocka_unit_test(error_is_bounded_at_every_magnitude),
	    cmocka_unit_test(too_large_is_counted),
	    cmocka_unit_test(merge_adds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
