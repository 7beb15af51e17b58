/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests do themselves, and not the code under test: the faults of
 * tests/unit/sweep spare it. */
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
