/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time that callbacks of the event loop read. A reading costs a part of
 * what an answer from memory does; in guests whose kernel trusts no TSC, and in
 * User-Mode Linux, it is a whole system call. So what happens together in a
 * turn of the loop shares one. */
#include "base/clock.h"

#include <stdbool.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

/* Cycles within which a reading is shared, 30 to 60 us. Round trips are not
 * told apart any finer. */
enum { SHARED_CYCLES = 1 << 17 };

/* The last reading; 0: it must not be shared. A thread of the pool has no
 * turns, and may be moved to a processor whose counter differs, so the thread
 * of the loop alone shares. */
static _Thread_local uint64_t last_us;
static _Thread_local uint64_t last_cycles;
static _Thread_local bool shares;
static bool none_spared;

uint64_t clock_cycles(void)
{
#ifdef __x86_64__
	return none_spared ? 0 : __rdtsc();
#else
	return 0;
#endif
}

void clock_spare_none(void)
{
	none_spared = true;
}

uint64_t clock_read_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	last_us = CLOCK_ORIGIN_US + (uint64_t)ts.tv_sec * 1000000 +
		  (uint64_t)ts.tv_nsec / 1000;
	last_cycles = clock_cycles();
	return last_us;
}

uint64_t clock_now_us(void)
{
	uint64_t now;

	if (!shares || last_us == 0)
		return clock_read_us();
	now = clock_cycles();
	return now > last_cycles && now - last_cycles < SHARED_CYCLES
		   ? last_us
		   : clock_read_us();
}

uint64_t clock_begin_turn(void)
{
	shares = true;
	return clock_read_us();
}

void clock_forget(void)
{
	last_us = 0;
}
