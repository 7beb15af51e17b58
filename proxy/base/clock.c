/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time that callbacks of the event loop read. Reading it costs a part of
 * what an answer from memory does, and a whole system call in some guests. So
 * epoll_wait() of loopwatch.c gives a turn its first reading (clock_give()),
 * and calls and replies of a burst share one (clock_sending_us()). */
#include "base/clock.h"

#include <stdbool.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

/* Cycles within which calls share one reading of the clock, 30 to 60 us: a call
 * to the server takes some ten, most of them in the kernel, and round trips are
 * not told apart any finer. */
enum { SENDING_CYCLES = 1 << 17 };

/* The value that the next clock_now_us() returns; 0: it reads the clock. */
static _Thread_local uint64_t given_us;
/* The last reading; 0: none since the last wait. */
static _Thread_local uint64_t last_us;
static _Thread_local uint64_t last_cycles;
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

uint64_t clock_now_us(void)
{
	struct timespec ts;
	uint64_t us = given_us;

	if (us != 0) {
		given_us = 0;
		return us;
	}
	clock_gettime(CLOCK_BOOTTIME, &ts);
	last_us = CLOCK_ORIGIN_US + (uint64_t)ts.tv_sec * 1000000 +
		  (uint64_t)ts.tv_nsec / 1000;
	last_cycles = clock_cycles();
	return last_us;
}

uint64_t clock_sending_us(void)
{
	uint64_t now = clock_cycles();

	if (last_us != 0 && now > last_cycles &&
	    now - last_cycles < SENDING_CYCLES)
		return last_us;
	return clock_now_us();
}

void clock_give(uint64_t now_us)
{
	given_us = now_us;
	last_us = now_us;
	last_cycles = clock_cycles();
}
