/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic of unsigned numbers that C has no functions for. */
#ifndef FOREFETCH_UINT_H
#define FOREFETCH_UINT_H

#include <stdint.h>

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t clamp_u64(uint64_t v, uint64_t low, uint64_t high)
{
	return max_u64(low, min_u64(v, high));
}

/* a - b, but never less than 0. */
static inline uint64_t minus_u64(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#endif
