/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of a farm in a history, in memory, in the place of proxy/engine.
 * Its values outlive the daemon. Questions wait until the history answers them,
 * or their time is over; so anything may happen in between.
 */
#ifndef FOREFETCH_TESTS_ENGINE_MEMORY_H
#define FOREFETCH_TESTS_ENGINE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

/* The engine may tell one of these lies in the place of a value that it has. */
enum memory_lie {
	MEMORY_NONE,
	MEMORY_DAMAGED, /* a byte is another one, or the end is missing */
	MEMORY_OTHER,   /* what lies under another key of the kind */
	MEMORY_FORMER,  /* what lay under the key before */
};

/* One of the questions that wait is answered in the next turn of the loop;
 * false where none is. */
bool memory_answer(uint32_t nth);

/* It has no connection, or takes all and answers nothing, until that time of
 * the wall clock. */
void memory_away(uint64_t until_ns);
void memory_hang(uint64_t until_ns);
/* It tells that lie once, as soon as it can; `on_lie` hears of it. */
void memory_lie(enum memory_lie lie, uint32_t random,
    void (*on_lie)(void *arg, enum memory_lie lie), void *arg);

#endif
