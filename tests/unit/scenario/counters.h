/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences about counters: `counter NAME is N`, `is at least N`, `is at most
 * N`. Each fails the scenario where it is not so. */
#ifndef FOREFETCH_TESTS_COUNTERS_H
#define FOREFETCH_TESTS_COUNTERS_H

#include "scenario/script.h"

struct world;

void counter_is(struct world *w, const struct script_match *m);
void counter_is_least(struct world *w, const struct script_match *m);
void counter_is_most(struct world *w, const struct script_match *m);

#endif
