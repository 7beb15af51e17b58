/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log-linear histogram of 32-bit values; here microseconds, which reach
 * from 0 to 71 minutes. Values below 16 have a bucket each; every power of
 * two above is cut into 16 buckets of equal width, so a bucket is at most
 * 1/16 (6.25 %) as wide as its lower bound. Greater values count in the
 * last bucket; max and sum stay exact.
 *
 *   bucket   0 ..  15 | 16 .. 31   | 32 .. 47   | ... | 448 .. 463
 *   from     0 ..  15 | 16, 17, .. | 32, 34, .. | ... | 2^31, ..
 *
 * The structure is visible only so that it can be embedded; its fields are
 * read by other files and written by histogram.c alone.
 */
#ifndef FOREFETCH_HISTOGRAM_H
#define FOREFETCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 464

struct histogram {
	uint64_t count;
	uint64_t sum;
	uint64_t max;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* Count one value. No allocation, no loop. */
void histogram_add(struct histogram *h, uint64_t value);
/* Count one value `n` times. */
void histogram_add_many(struct histogram *h, uint64_t value, uint64_t n);

/* The least and the greatest value that bucket `index` holds. */
uint32_t histogram_bucket_low(size_t index);
uint32_t histogram_bucket_high(size_t index);

/*
 * A value that `permille` thousandths of the values do not exceed: 500 is
 * the median, 990 is p99. The answer is the upper bound of its bucket, never
 * more than max. 0 if nothing was counted.
 */
uint64_t histogram_percentile(const struct histogram *h, unsigned permille);

/* How many values lie in buckets that end at `bound` or below. */
uint64_t histogram_count_upto(const struct histogram *h, uint64_t bound);

#endif
