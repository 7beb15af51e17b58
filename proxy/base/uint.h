/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small things that C lacks: arithmetic of unsigned numbers, and the struct
 * that holds a member. */
#ifndef FOREFETCH_UINT_H
#define FOREFETCH_UINT_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns `v`, or the bound that it is beyond; `low` counts where it is above
 * `high`. */
static inline uint64_t clamp_u64(uint64_t v, uint64_t low, uint64_t high)
{
	return max_u64(low, min_u64(v, high));
}

/* Returns a - b, but never less than 0. */
static inline uint64_t minus_u64(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Returns the `type` whose member `member` is at `part`; not const even for a
 * const part, since whoever has the part may have the whole. */
#define container_of(part, type, member)                                       \
	((type *)((char *)(part)-offsetof(type, member)))

#endif
