/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one clock of the load generator, and its one source of chance.
 */
#ifndef NFSLOAD_CLOCK_H
#define NFSLOAD_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US  1000ull
#define NS_PER_MS  1000000ull
#define NS_PER_SEC 1000000000ull

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* SplitMix64 (Steele, Lea, Flood 2014): next number; `state` is any seed. */
static inline uint64_t prng_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
