/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <stdlib.h>

#include "histogram.h"

#define SUB_BITS   7
#define SUB_COUNT  (1u << SUB_BITS)
#define VALUE_BITS 40
#define BUCKETS    ((VALUE_BITS - SUB_BITS + 1) * SUB_COUNT)

struct histogram {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	uint64_t bucket[BUCKETS];
};

struct histogram *histogram_new(void)
{
	struct histogram *h = calloc(1, sizeof(*h));

	if (h)
		h->min = UINT64_MAX;
	return h;
}

void histogram_free(struct histogram *h)
{
	free(h);
}

/*
 * Values below SUB_COUNT have a bucket each. Above, `shift` is how many low
 * bits are dropped, and each shift owns SUB_COUNT buckets.
 */
static uint32_t bucket_of(uint64_t v)
{
	uint32_t shift;

	if (v < SUB_COUNT)
		return (uint32_t)v;
	shift = 63u - (uint32_t)__builtin_clzll(v) - SUB_BITS;
	return shift * SUB_COUNT + (uint32_t)(v >> shift);
}

static uint64_t bucket_low(uint32_t i)
{
	uint32_t shift = i < 2 * SUB_COUNT ? 0 : i / SUB_COUNT - 1;

	return (uint64_t)(i - shift * SUB_COUNT) << shift;
}

void histogram_record(struct histogram *h, uint64_t ns)
{
	if (ns >> VALUE_BITS)
		ns = (1ull << VALUE_BITS) - 1;
	h->bucket[bucket_of(ns)]++;
	h->count++;
	if (ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	to->count += from->count;
	if (from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
}

uint64_t histogram_count(const struct histogram *h)
{
	return h->count;
}

uint64_t histogram_max(const struct histogram *h)
{
	return h->max;
}

static double clamp(const struct histogram *h, double v)
{
	if (v < (double)h->min)
		return (double)h->min;
	if (v > (double)h->max)
		return (double)h->max;
	return v;
}

double histogram_percentile(const struct histogram *h, double percent)
{
	double rank = (double)h->count * percent / 100.0;
	double seen = 0;

	assert(percent >= 0 && percent <= 100);
	if (h->count == 0)
		return 0;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		double here = (double)h->bucket[i];
		double low = (double)bucket_low(i);
		double last = (double)bucket_low(i + 1) - 1;

		if (here > 0 && seen + here >= rank)
			return clamp(
			    h, low + (last - low) * (rank - seen) / here);
		seen += here;
	}
	return (double)h->max;
}
