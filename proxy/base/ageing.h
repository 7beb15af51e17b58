/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds what has grown old in a table by looking at a few places in each turn
 * of the loop; while nothing can be old yet, it looks at none:
 *
 *	for (i = 0; i < SOME && ageing_is_due(&a, LENGTH, now_us); i++) {
 *		x = &table[ageing_next(&a)];
 *		if (x is too old)
 *			judge(x);
 *		else
 *			ageing_expect(&a, when x will be);
 *	}
 *
 * A round is a look at each place, in as many turns as that takes. Call
 * ageing_expect() also for whatever is put into the table or becomes young
 * again. An earlier time than the true one costs a round, a later one delays
 * the verdict. All times are microseconds of one clock.
 */
#ifndef FOREFETCH_AGEING_H
#define FOREFETCH_AGEING_H

#include <stdbool.h>
#include <stdint.h>

struct ageing {
	uint32_t at;     /* the place that is looked at next */
	uint64_t due_us; /* nothing is too old before */
	/* The earliest time expected since this round began: due_us of the
	 * next one. */
	uint64_t next_us;
};

static inline void ageing_init(struct ageing *a)
{
	*a = (struct ageing){.due_us = UINT64_MAX};
}

/* Whether the caller has to look at one more of the table's `places` now. */
static inline bool ageing_is_due(
    struct ageing *a, uint32_t places, uint64_t now_us)
{
	if (a->at == places) {
		a->at = 0;
		a->due_us = a->next_us;
	}
	if (now_us < a->due_us)
		return false;
	if (a->at == 0)
		a->next_us = UINT64_MAX;
	return true;
}

/* Returns that place; only after ageing_is_due() said so. */
static inline uint32_t ageing_next(struct ageing *a)
{
	return a->at++;
}

/* Says that something in the table will be too old at `us`. */
static inline void ageing_expect(struct ageing *a, uint64_t us)
{
	if (us < a->due_us)
		a->due_us = us;
	if (us < a->next_us)
		a->next_us = us;
}

#endif
