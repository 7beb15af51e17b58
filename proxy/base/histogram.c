/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts how often each value occurred, in buckets; histogram.h draws them.
 * metrics.c counts calls by it, prometheus.c and `forefetch stats` read it. */
#include <assert.h>

#include "base/histogram.h"

#define SUB       (UINT64_C(1) << HISTOGRAM_SUB_BITS)
#define VALUE_MAX ((UINT64_C(1) << HISTOGRAM_VALUE_BITS) - 1)

/* The bucket of a value: its leading bits but the first, behind the number of
 * doublings. */
static size_t histogram_index(uint64_t value)
{
	unsigned shift;

	if (value < SUB)
		return value;
	shift = 63U - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
	return shift * SUB + (value >> shift);
}

void histogram_add(struct histogram *h, uint64_t value)
{
	histogram_add_many(h, value, 1);
}

void histogram_add_many(struct histogram *h, uint64_t value, uint64_t n)
{
	if (n == 0)
		return;
	h->count += n;
	h->sum += value * n;
	if (value > h->max)
		h->max = value;
	h->bucket[histogram_index(value < VALUE_MAX ? value : VALUE_MAX)] += n;
}

uint64_t histogram_bucket_low(size_t index)
{
	assert(index < HISTOGRAM_BUCKETS);
	if (index < SUB)
		return index;
	return (SUB + index % SUB) << (index / SUB - 1);
}

uint64_t histogram_bucket_high(size_t index)
{
	if (index + 1 >= HISTOGRAM_BUCKETS)
		return VALUE_MAX;
	return histogram_bucket_low(index + 1) - 1;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	to->count += from->count;
	to->sum += from->sum;
	if (from->max > to->max)
		to->max = from->max;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

uint64_t histogram_percentile(const struct histogram *h, unsigned permille)
{
	uint64_t rank, seen = 0;
	size_t i;

	assert(permille <= 1000);
	if (h->count == 0)
		return 0;
	rank = h->count / 1000 * permille +
	       (h->count % 1000 * permille + 999) / 1000;
	for (i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank && seen > 0)
			break;
	}
	if (i + 1 == HISTOGRAM_BUCKETS || histogram_bucket_high(i) > h->max)
		return h->max;
	return histogram_bucket_high(i);
}

uint64_t histogram_count_upto(const struct histogram *h, uint64_t bound)
{
	uint64_t seen = 0;
	size_t i;

	if (bound >= h->max)
		return h->count;
	for (i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		if (histogram_bucket_high(i) > bound)
			break;
		seen += h->bucket[i];
	}
	return seen;
}
