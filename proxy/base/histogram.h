/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log-linear histogram; the idea is HdrHistogram's (Gil Tene). Values below
 * 2^SUB_BITS have a bucket each; every power of two above is cut into as many
 * buckets of equal width, so a bucket is at most 2^-SUB_BITS as wide as its
 * lower bound. Values of more than VALUE_BITS count in the last bucket; max and
 * sum stay exact.
 *
 *   bucket   0 ..  15 | 16 .. 31   | 32 .. 47   | ... | 448 .. 463
 *   from     0 ..  15 | 16, 17, .. | 32, 34, .. | ... | 2^31, ..
 *
 * The daemon counts microseconds, from 0 to 71 minutes, to 6.25 %, in 4 KB for
 * each procedure. bench/nfsload compiles the same files with other widths.
 *
 * The structure is visible only so that it can be embedded; its fields are
 * read by other files and written by histogram.c alone.
 */
#ifndef FOREFETCH_HISTOGRAM_H
#define FOREFETCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#ifndef HISTOGRAM_SUB_BITS
#define HISTOGRAM_SUB_BITS   4
#define HISTOGRAM_VALUE_BITS 32
#endif
#define HISTOGRAM_BUCKETS                                                      \
	((HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* All zeros at first. `sum` and `max` are in the unit of the values. */
struct histogram {
	uint64_t count;
	uint64_t sum;
	uint64_t max;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* Counts one value, without allocation or loop. */
void histogram_add(struct histogram *h, uint64_t value);
/* Counts one value `n` times. */
void histogram_add_many(struct histogram *h, uint64_t value, uint64_t n);

/* Return the least and the greatest value that bucket `index` holds. */
uint64_t histogram_bucket_low(size_t index);
uint64_t histogram_bucket_high(size_t index);

/* Adds the values of `from` to those of `to`. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/*
 * Returns a value that `permille` thousandths of the values do not exceed: 500
 * is the median, 990 is p99. The answer is the upper bound of its bucket, never
 * more than max; 0 if nothing was counted.
 */
uint64_t histogram_percentile(const struct histogram *h, unsigned permille);

/* Counts the values in buckets that end at `bound` or below. */
uint64_t histogram_count_upto(const struct histogram *h, uint64_t bound);

#endif
