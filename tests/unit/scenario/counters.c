/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences about counters. */
#include "scenario/counters.h"

#include <inttypes.h>
#include <stdlib.h>

#include "scenario/world.h"

static uint64_t value_of(struct world *w, const struct script_match *m)
{
	uint64_t value = 0;

	if (!world_counter(w, m->one[0], &value))
		script_fail("there is no such counter");
	return value;
}

static uint64_t wanted(const struct script_match *m)
{
	return strtoull(m->one[1], NULL, 10);
}

void counter_is(struct world *w, const struct script_match *m)
{
	uint64_t value = value_of(w, m);

	if (value != wanted(m))
		script_fail("it is %ju", (uintmax_t)value);
}

void counter_is_least(struct world *w, const struct script_match *m)
{
	uint64_t value = value_of(w, m);

	if (value < wanted(m))
		script_fail("it is %ju", (uintmax_t)value);
}

void counter_is_most(struct world *w, const struct script_match *m)
{
	uint64_t value = value_of(w, m);

	if (value > wanted(m))
		script_fail("it is %ju", (uintmax_t)value);
}
