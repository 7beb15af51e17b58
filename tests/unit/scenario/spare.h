/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The faults of tests/unit/sweep spare whatever the tests do themselves, and
 * not the code under test, between these calls. */
#ifndef FOREFETCH_TESTS_SPARE_H
#define FOREFETCH_TESTS_SPARE_H

/* Of this thread; above 0: the test's own. In vclock.c. */
extern _Thread_local unsigned spare_depth;

static inline void spare_begin(void)
{
	spare_depth++;
}

static inline void spare_end(void)
{
	spare_depth--;
}

#endif
