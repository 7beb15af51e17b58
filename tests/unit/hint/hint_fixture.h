/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hints for the export "/srv", which is mounted, over caches that know its root
 * and what they are told; wants are made, and nobody is asked for them.
 */
#ifndef FOREFETCH_TEST_HINT_FIXTURE_H
#define FOREFETCH_TEST_HINT_FIXTURE_H

#include "config/config.h"
#include "hint/hint.h"
#include "link/linkest.h"
#include "prefetch/prefetch_private.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/notes/notes.h"
#include "prefetch/queue/queue_private.h"

struct event_base;

/* The user who hints; most likely not whoever runs the test, for whom the
 * daemon would keep places. */
enum { HINT_WORLD_UID = 4711 };

struct hint_world {
	struct event_base *base;
	struct config_server config;
	struct metrics *metrics;
	struct linkest *link;
	struct caches *caches;
	struct prefetch pf;
	struct hints *hints;
	uint64_t sent_us; /* of what is told */
};

void hint_world_open(struct hint_world *w);
void hint_world_close(struct hint_world *w);

/* Of uid 1000, and its credential. */
struct hint_stream *hint_world_stream(struct hint_world *w, const char *path);
/* A name was looked up by it; size of the file; a directory: UINT64_MAX; not
 * there: NULL for `fh`. The root's handle is "root". */
void hint_world_tell(struct hint_world *w, const char *dir, const char *name,
    const char *fh, uint64_t size);
uint64_t hint_world_key(const char *fh);

#endif
