/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histogram and metrics table. */
#include "unittest.h"
#include "base/histogram.h"
#include "base/metrics.h"

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

TEST(test_buckets_tile)
{
	uint64_t next = 0;
	size_t i;

	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t low = histogram_bucket_low(i);
		uint64_t high = histogram_bucket_high(i);

		assert_int_equal(low, next);
		assert_true(high >= low);
		assert_true((high - low + 1) * 16 <= low || high == low);
		next = high + 1;
	}
	assert_int_equal(next, UINT64_C(1) << 32);
}

TEST(test_bucket_of_value)
{
	static struct histogram h;
	uint64_t seed = 88172645463325252u, v;
	int n;
	size_t i;

	for (n = 0; n < 20000; n++) {
		v = random_next(&seed) >> (32 + n % 32);
		memset(&h, 0, sizeof(h));
		histogram_add(&h, v);
		for (i = 0; h.bucket[i] == 0; i++)
			;
		assert_true(histogram_bucket_low(i) <= v);
		assert_true(histogram_bucket_high(i) >= v);
		assert_int_equal(histogram_percentile(&h, 500), v);
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Against sorted values: never below, at most 6.25 % above. */
TEST(test_percentiles)
{
	static const unsigned permille[] = {0, 1, 500, 900, 990, 999, 1000};
	static uint64_t values[10007];
	static struct histogram h;
	const size_t n = LENGTH(values);
	uint64_t seed = 12345, exact, got;
	size_t i, rank;

	memset(&h, 0, sizeof(h));
	for (i = 0; i < n; i++) {
		values[i] = random_next(&seed) % 1000 + 1;
		values[i] <<= random_next(&seed) % 22;
		histogram_add(&h, values[i]);
	}
	qsort(values, n, sizeof(values[0]), compare);
	for (i = 0; i < LENGTH(permille); i++) {
		rank = (n * permille[i] + 999) / 1000;
		exact = values[rank > 0 ? rank - 1 : 0];
		got = histogram_percentile(&h, permille[i]);
		assert_true(got >= exact);
		assert_true((got - exact) * 16 <= exact);
	}
	assert_int_equal(histogram_percentile(&h, 1000), values[n - 1]);
	assert_int_equal(h.count, n);
	assert_int_equal(h.max, values[n - 1]);
}

TEST(test_histogram_ends)
{
	static struct histogram h;

	memset(&h, 0, sizeof(h));
	assert_int_equal(histogram_percentile(&h, 990), 0);
	assert_int_equal(histogram_count_upto(&h, 0), 0);
	histogram_add(&h, 0);
	histogram_add(&h, UINT32_MAX);
	histogram_add(&h, UINT64_C(1) << 40);
	assert_int_equal(h.bucket[0], 1);
	assert_int_equal(h.bucket[HISTOGRAM_BUCKETS - 1], 2);
	assert_int_equal(h.max, UINT64_C(1) << 40);
	assert_int_equal(histogram_percentile(&h, 330), 0);
	assert_int_equal(histogram_percentile(&h, 990), UINT64_C(1) << 40);
	assert_int_equal(histogram_count_upto(&h, 0), 1);
	assert_int_equal(histogram_count_upto(&h, UINT32_MAX), 1);
	assert_int_equal(histogram_count_upto(&h, UINT64_MAX), 3);
}

TEST(test_count_upto)
{
	static struct histogram h;
	uint64_t v, upto;

	memset(&h, 0, sizeof(h));
	for (v = 1; v <= 100000; v++)
		histogram_add(&h, v);
	for (v = 1; v < 100000; v += 37) {
		upto = histogram_count_upto(&h, v);
		assert_true(upto <= v);
		assert_true((v - upto) * 16 <= v + 16);
	}
	assert_int_equal(histogram_count_upto(&h, 100000), 100000);
}

/* Every (program, procedure) has its row, all else the last one. */
TEST(test_rows)
{
	static const struct {
		uint32_t prog, proc;
		const char *program, *procedure;
	} want[] = {
	    {100003, 0, "nfs", "NULL"},
	    {100003, 3, "nfs", "LOOKUP"},
	    {100003, 6, "nfs", "READ"},
	    {100003, 17, "nfs", "READDIRPLUS"},
	    {100003, 21, "nfs", "COMMIT"},
	    {100003, 22, "other", "other"},
	    {100005, 1, "mount", "MNT"},
	    {100005, 5, "mount", "EXPORT"},
	    {100005, 6, "other", "other"},
	    {100227, 1, "nfsacl", "GETACL"},
	    {100227, 2, "nfsacl", "SETACL"},
	    {100227, 3, "other", "other"},
	    {100021, 0, "other", "other"},
	    {UINT32_MAX, UINT32_MAX, "other", "other"},
	};
	const struct metrics_call call = {
	    .bytes_in = 7, .bytes_out = 9, .latency_us = 40200, .error = true};
	size_t i, k, found;
	struct metrics_row row;

	for (i = 0; i < LENGTH(want); i++) {
		struct metrics *m = AFTER(metrics_free, metrics_new());

		assert_non_null(m);
		metrics_add_call(
		    m, METRICS_UPSTREAM, want[i].prog, want[i].proc, &call);
		for (found = 0, k = 0; k < metrics_row_count(); k++) {
			metrics_get_row(m, METRICS_CLIENT, k, &row);
			assert_int_equal(row.calls, 0);
			metrics_get_row(m, METRICS_UPSTREAM, k, &row);
			if (row.calls == 0)
				continue;
			found++;
			assert_string_equal(row.program, want[i].program);
			assert_string_equal(row.procedure, want[i].procedure);
			assert_int_equal(row.calls, 1);
			assert_int_equal(row.errors, 1);
			assert_int_equal(row.bytes_in, 7);
			assert_int_equal(row.bytes_out, 9);
			assert_int_equal(row.latency->max, 40200);
		}
		assert_int_equal(found, 1);
	}
	assert_int_equal(metrics_row_count(), 22 + 6 + 3 + 1);
}

static unsigned clock_reads;

static uint64_t clock_of_test(void)
{
	return 1000 + clock_reads++;
}

/* One in so many of the calls that are answered at once is timed; all count,
 * and what waited stands for itself only. */
TEST(test_samples_stand_for_all)
{
	struct metrics *m = AFTER(metrics_free, metrics_new());
	const struct metrics_call at_once = {
	    .clock = clock_of_test, .since_us = 990};
	const struct metrics_call waited = {.latency_us = 100000};
	struct metrics_row row = {0};
	unsigned n;

	assert_non_null(m);
	for (n = 0; n < 18; n++) {
		metrics_add_call(m, METRICS_CLIENT, 100003, 6, &at_once);
		if (n % 8 == 0)
			metrics_add_call(m, METRICS_CLIENT, 100003, 6, &waited);
	}
	metrics_settle(m);
	for (n = 0; n < metrics_row_count() && row.calls == 0; n++)
		metrics_get_row(m, METRICS_CLIENT, n, &row);
	assert_int_equal(clock_reads, 3);
	assert_int_equal(row.calls, 21);
	assert_int_equal(row.latency->count, 21);
	assert_int_equal(
	    row.latency->sum, 8 * 10 + 8 * 11 + 2 * 12 + 3 * 100000);
}

/* Names are unique and fit for Prometheus; each counter counts for itself. */
TEST(test_counters)
{
	struct metrics *m = AFTER(metrics_free, metrics_new());
	int i, k;

	assert_non_null(m);
	for (i = 0; i < METRICS_KINDS; i++) {
		const struct metrics_kind *kind = metrics_get_kind((size_t)i);

		assert_true(strlen(kind->name) > 0);
		assert_int_equal(
		    strspn(kind->name, "abcdefghijklmnopqrstuvwxyz_"),
		    strlen(kind->name));
		if (kind->help)
			assert_null(strchr(kind->help, '\n'));
		for (k = 0; k < i; k++)
			assert_string_not_equal(
			    kind->name, metrics_get_kind((size_t)k)->name);
	}
	for (i = 0; i < METRICS_COUNTER_COUNT; i++)
		metrics_add(m, (enum metrics_counter)i, (uint64_t)i + 1);
	for (i = 0; i < METRICS_COUNTER_COUNT; i++)
		assert_int_equal(
		    metrics_get(m, (enum metrics_counter)i), i + 1);
}
