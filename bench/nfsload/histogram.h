/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency histogram, log-linear: each power of two is cut into 128 equal
 * parts, so that a value is kept to within 0.8 % from 1 ns to 18 minutes
 * in 35 KB. The idea is HdrHistogram's (Gil Tene). Not thread safe.
 */
#ifndef NFSLOAD_HISTOGRAM_H
#define NFSLOAD_HISTOGRAM_H

#include <stdint.h>

struct histogram;

/* NULL and errno (ENOMEM) on failure. */
struct histogram *histogram_new(void);
void histogram_free(struct histogram *h);

/* Count one value, in nanoseconds; those over 2^40 ns count as 2^40 - 1. */
void histogram_record(struct histogram *h, uint64_t ns);

/* Add the counts of `from` to those of `to`. */
void histogram_merge(struct histogram *to, const struct histogram *from);

uint64_t histogram_count(const struct histogram *h);

/* The largest value as it was recorded; 0 if there is none. */
uint64_t histogram_max(const struct histogram *h);

/*
 * The value, in nanoseconds, that `percent` (0 to 100) of the recorded ones
 * do not exceed; inside a bucket the values count as evenly spread. 0 if
 * nothing was recorded.
 */
double histogram_percentile(const struct histogram *h, double percent);

#endif
