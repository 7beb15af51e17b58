/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the event loop stands still: a turn lasts from the end of one wait
 * of epoll to the beginning of the next. On x86-64, turns shorter than one or
 * two milliseconds are not measured. If the machine sleeps within a turn, its
 * sleep is part of the turn.
 */
#ifndef FOREFETCH_LOOPWATCH_H
#define FOREFETCH_LOOPWATCH_H

#include <stdint.h>

struct loopwatch;

/* Turns longer than this are counted. */
#define LOOPWATCH_LONG_US UINT64_C(20000)

/* Watches the loop of the calling thread from now on. NULL without memory. */
struct loopwatch *loopwatch_new(void);
/* Ends the watch; to be called by the same thread. NULL is allowed. */
void loopwatch_free(struct loopwatch *w);

/* Returns the longest turn of the last three to six seconds, in microseconds.
 */
uint64_t loopwatch_longest_us(const struct loopwatch *w);
/* Counts the turns that took longer than LOOPWATCH_LONG_US. */
uint64_t loopwatch_long_turns(const struct loopwatch *w);

/* The loop calls these around epoll_wait(): before it waits, and when it wakes.
 * The times are arguments, so that tests can choose them. */
void loopwatch_waits(struct loopwatch *w, uint64_t now_us);
void loopwatch_wakes(struct loopwatch *w, uint64_t now_us);

#endif
