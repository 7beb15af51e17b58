/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Virtual time for a program that has an event loop, the code under test and
 * its peers in one thread. vclock.c defines clock_gettime() and epoll_pwait(),
 * and libevent calls these in place of the C library's: where nothing can be
 * read, the clock is put forward to the next timer instead of waiting for it.
 *
 *	vclock_settle()   all that can happen without time passing, happens
 *	vclock_pass()     … and then time passes, timer by timer
 *
 * Each reading of the clock takes a microsecond, so no two events are at the
 * same time, as on a real machine. Random numbers of libevent are the same
 * ones in each run.
 */
#ifndef FOREFETCH_TESTS_VCLOCK_H
#define FOREFETCH_TESTS_VCLOCK_H

#include <stdint.h>

struct event_base;
struct iopool;

/* The loop whose time it is; before anything else. The clock and the random
 * numbers begin anew. */
void vclock_start(struct event_base *base);
/* Until vclock_start(), clocks are the machine's. */
void vclock_stop(void);
/* Jobs of the pool take no time: they are done when others wait. May be NULL.
 */
void vclock_set_pool(struct iopool *pool);

void vclock_settle(void);
void vclock_pass(uint64_t us);
/* The machine sleeps: timers stand still, and CLOCK_BOOTTIME goes on. */
void vclock_sleep(uint64_t us);
/* Nanoseconds of the wall clock; takes no time. */
uint64_t vclock_wall_ns(void);

#endif
