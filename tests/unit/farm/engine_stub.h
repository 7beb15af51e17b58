/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine in memory, in the place of proxy/engine: all struct engine of a
 * test program share its values. It answers in the next turn of the loop, and
 * does what the test wants of it.
 */
#ifndef FOREFETCH_TEST_ENGINE_STUB_H
#define FOREFETCH_TEST_ENGINE_STUB_H

#include "engine/engine.h"

struct fake_value {
	char key[ENGINE_KEY_MAX + 1];
	unsigned char *data;
	size_t len;
	uint64_t until_us; /* of a mark; 0: it stays */
};

/* All values, in the order in which their keys were first put. */
extern struct fake_value fake_values[];
extern unsigned fake_count;
/* While `fake_down` is set, the engine is away; while `fake_hangs` is set, it
 * never answers, and each question ends at once as if its deadline had come. */
extern bool fake_down, fake_hangs;
extern unsigned fake_gets;

void fake_clear(void);
/* The n-th value of that kind ("d", "l", "t"); NULL: there are fewer. */
struct fake_value *fake_find(char kind, unsigned n);
unsigned fake_count_of(char kind);

#endif
