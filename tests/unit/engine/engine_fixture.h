/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine under test, with a configuration that is filled by hand, and
 * questions whose answers are kept. The loop runs until a condition holds, in
 * real time: for tests with real servers.
 */
#ifndef FOREFETCH_TEST_ENGINE_FIXTURE_H
#define FOREFETCH_TEST_ENGINE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "engine/engine.h"

#define MS UINT64_C(1000)
#define S  UINT64_C(1000000)

struct event_base;

/* One question, and what was answered. */
struct question {
	struct engine_ask ask;
	unsigned answers;
	/* A copy, with a zero behind it, until the test is over; NULL: none. */
	char *value;
	size_t len;
};

/* The callbacks of engine_flush() count here, and note what it told last. */
struct flushed {
	unsigned calls;
	uint64_t removed;
	char error[160]; /* "": none */
};

struct farm_world {
	struct event_base *base;
	struct config_farm farm;
	struct engine *engine;
	char *urls[8];
};

void farm_open(struct farm_world *w);
void farm_close(struct farm_world *w);
/* One more URL of an engine that is not begun yet. */
void farm_url(struct farm_world *w, const char *url);
void farm_begin(struct farm_world *w);

/* Run the loop until `done` is true of `arg`; fails after a minute. */
void farm_until(struct farm_world *w, bool (*done)(void *arg), void *arg);
/* Until the engine is in this state, or has this word in its error. */
void farm_until_state(struct farm_world *w, enum engine_state state);
void farm_until_error(struct farm_world *w, const char *word);
void farm_until_answered(struct farm_world *w, struct question *q);

enum engine_state farm_state(const struct farm_world *w);
struct engine_status farm_status(const struct farm_world *w);

struct engine_key farm_key(const char *text);
/* False where nobody could be asked. */
bool farm_ask(struct farm_world *w, struct question *q, const char *key,
    uint64_t deadline_us);
/* Leaves a mark for ten seconds. */
void farm_mark(struct farm_world *w, const char *key, const char *mark);
bool farm_put(struct farm_world *w, const char *key, const char *value);
/* Asks until somebody can be asked and answers; true: it is `value`. */
bool farm_has(struct farm_world *w, const char *key, const char *value);

bool farm_flush(struct farm_world *w, const char *prefix, struct flushed *f);
void farm_until_flushed(struct farm_world *w, struct flushed *f);

#endif
