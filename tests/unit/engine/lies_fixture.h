/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine under test and a server that lies as it is told, in virtual time. A
 * failed expectation fails the test.
 */
#ifndef FOREFETCH_TEST_LIES_FIXTURE_H
#define FOREFETCH_TEST_LIES_FIXTURE_H

#include "engine/engine_fixture.h"
#include "engine/fake_engine.h"

struct lies {
	struct farm_world w;
	struct fake_engine *fake;
};

/* Of a test: the server is there, and is the engine's one URL. */
void lies_open(struct lies *l);
void lies_close(struct lies *l);
/* As at the beginning, with another server. */
void lies_again(struct lies *l);
/* Another URL, before it begins. */
void lies_set_url(struct lies *l, const char *url);
void lies_begin(struct lies *l);
/* The same, and it is up. */
void lies_begin_up(struct lies *l);
/* Ask, and wait until there is an answer; NULL or a string. */
char *lies_ask(struct lies *l, const char *key);
/* Fails unless the engine is in that state, and its error has that word in it.
 */
void lies_expect(struct lies *l, enum engine_state state, const char *word);
/* Whatever happened: once the server is honest, all is well. */
void lies_recover(struct lies *l);

#endif
