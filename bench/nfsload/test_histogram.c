/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "histogram.h"

static void assert_near(double got, double want, double relative)
{
	double off = got > want ? got - want : want - got;

	if (off > want * relative)
		fail_msg(
		    "%g is not within %g %% of %g", got, relative * 100, want);
}

static void empty_has_no_percentile(void **state)
{
	struct histogram *h = histogram_new();

	(void)state;
	assert_non_null(h);
	assert_int_equal(histogram_count(h), 0);
	assert_int_equal(histogram_max(h), 0);
	assert_true(histogram_percentile(h, 50) == 0);
	histogram_free(h);
}

static void one_value_is_every_percentile(void **state)
{
	static const uint64_t values[] = {0, 1, 127, 128, 129, 255, 256, 257,
	    511, 512, 65535, 65536, 1000003, (1ull << 40) - 1};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct histogram *h = histogram_new();
		double v = (double)values[i];

		histogram_record(h, values[i]);
		assert_true(histogram_percentile(h, 0) == v);
		assert_true(histogram_percentile(h, 50) == v);
		assert_true(histogram_percentile(h, 100) == v);
		assert_int_equal(histogram_max(h), values[i]);
		histogram_free(h);
	}
}

static void percentiles_of_a_ramp(void **state)
{
	struct histogram *h = histogram_new();

	(void)state;
	for (uint64_t v = 1; v <= 100000; v++)
		histogram_record(h, v * 10);
	assert_int_equal(histogram_count(h), 100000);
	assert_near(histogram_percentile(h, 50), 500000, 0.008);
	assert_near(histogram_percentile(h, 90), 900000, 0.008);
	assert_near(histogram_percentile(h, 99), 990000, 0.008);
	assert_true(histogram_percentile(h, 100) == 1000000);
	histogram_free(h);
}

/* Two equal values keep their bucket's precision at every magnitude. */
static void error_is_bounded_at_every_magnitude(void **state)
{
	(void)state;
	for (uint64_t v = 3; v < 1ull << 39; v = v * 3 / 2 + 1) {
		struct histogram *h = histogram_new();

		histogram_record(h, v / 2);
		for (int i = 0; i < 8; i++)
			histogram_record(h, v);
		histogram_record(h, v * 2);
		assert_near(histogram_percentile(h, 50), (double)v, 0.008);
		histogram_free(h);
	}
}

static void too_large_is_clamped(void **state)
{
	struct histogram *h = histogram_new();

	(void)state;
	histogram_record(h, UINT64_MAX);
	assert_int_equal(histogram_max(h), (1ull << 40) - 1);
	histogram_free(h);
}

static void merge_adds(void **state)
{
	struct histogram *a = histogram_new();
	struct histogram *b = histogram_new();

	(void)state;
	for (uint64_t v = 1; v <= 1000; v++) {
		histogram_record(a, 1000);
		histogram_record(b, 3000);
	}
	histogram_record(b, 9000);
	histogram_merge(a, b);
	assert_int_equal(histogram_count(a), 2001);
	assert_int_equal(histogram_max(a), 9000);
	assert_near(histogram_percentile(a, 25), 1000, 0.008);
	assert_near(histogram_percentile(a, 75), 3000, 0.008);
	histogram_free(a);
	histogram_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(empty_has_no_percentile),
	    cmocka_unit_test(one_value_is_every_percentile),
	    cmocka_unit_test(percentiles_of_a_ramp),
	    cmocka_unit_test(error_is_bounded_at_every_magnitude),
	    cmocka_unit_test(too_large_is_clamped),
	    cmocka_unit_test(merge_adds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
