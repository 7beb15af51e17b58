/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time. All of base/ is for every other folder of proxy/, which stands on
 * it; it knows nothing of NFS, and includes no other folder. It has logging
 * (log), counters (metrics, histogram), memory (slab, reftab, namemap), work
 * for threads (iopool), files (statefile, statedir), addresses (netmatch),
 * units (unit, uint), how far a server's clock has come (srvclock), and what
 * the daemon tells systemd and the kernel (notify, loopwatch).
 */
#ifndef FOREFETCH_CLOCK_H
#define FOREFETCH_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

/* This is added to all times, so that a time before the machine was booted is
 * not negative. */
#define CLOCK_ORIGIN_US (UINT64_C(1) << 40)

/* Returns microseconds of a clock that never steps and goes on while the
 * machine sleeps (CLOCK_BOOTTIME), so that what was confirmed before is old
 * afterwards. They take less than 48 bits for nine years. Code that the event
 * loop calls reads it; what keeps or compares times is told them as arguments,
 * so that tests choose them. In a turn of the loop it returns the last reading
 * within some tens of microseconds of that. */
uint64_t clock_now_us(void);
/* Reads the clock in any case, for code that measures how long work took. */
uint64_t clock_read_us(void);

/* Returns microseconds of CLOCK_MONOTONIC, which stands still while the machine
 * sleeps: for how long work took, and for systemd. Any thread may read it. */
static inline uint64_t clock_awake_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* A turn of this thread's loop begins, after it has waited: reads the clock,
 * which the turn shares from then on. */
uint64_t clock_begin_turn(void);
/* Ends the sharing. To be called after bytes were sent, where an answer may be
 * received in the same turn: that must not seem older than its call. */
void clock_forget(void);

/* Returns the processor's counter, which costs less to read than the clock; 0
 * where there is none. */
uint64_t clock_cycles(void);

/* Has clock_cycles() be 0 from now on, so that no reading is spared: for tests
 * with virtual time, in which each reading of the clock counts. */
void clock_spare_none(void);

/* Returns microseconds of the wall clock, which may step. */
static inline uint64_t clock_real_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Microseconds as libevent wants them. */
static inline struct timeval clock_timeval(uint64_t us)
{
	return (struct timeval){.tv_sec = (time_t)(us / 1000000),
	    .tv_usec = (suseconds_t)(us % 1000000)};
}

#endif
