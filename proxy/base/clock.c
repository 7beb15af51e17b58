/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time that callbacks of the event loop read. */
#include "base/clock.h"

static _Thread_local uint64_t given_us; /* 0: none */

uint64_t clock_now_us(void)
{
	struct timespec ts;
	uint64_t us = given_us;

	if (us != 0) {
		given_us = 0;
		return us;
	}
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return CLOCK_ORIGIN_US + (uint64_t)ts.tv_sec * 1000000 +
	       (uint64_t)ts.tv_nsec / 1000;
}

void clock_give(uint64_t now_us)
{
	given_us = now_us;
}
