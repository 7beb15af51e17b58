/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_CLOCK_H
#define FOREFETCH_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

/* So that times before the machine was booted have a number, too. */
#define CLOCK_ORIGIN_US (UINT64_C(1) << 40)

/* Microseconds of a clock that never steps and goes on in suspend: what was
 * confirmed before it is old behind it. Below 2^48 for nine years. Only the
 * callbacks of the event loop read it; all else is told the time. */
static inline uint64_t clock_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return CLOCK_ORIGIN_US + (uint64_t)ts.tv_sec * 1000000 +
	       (uint64_t)ts.tv_nsec / 1000;
}

/* Microseconds of the wall clock, which may step. */
static inline uint64_t clock_real_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static inline struct timeval clock_timeval(uint64_t us)
{
	return (struct timeval){.tv_sec = (time_t)(us / 1000000),
	    .tv_usec = (suseconds_t)(us % 1000000)};
}

#endif
