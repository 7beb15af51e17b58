/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A predictor that hears calls in virtual time, and what it foretold. */
#ifndef FOREFETCH_TESTS_NEEDS_FIXTURE_H
#define FOREFETCH_TESTS_NEEDS_FIXTURE_H

#include "unittest.h"
#include "predictor/predictor.h"

#define MS 1000000ull

enum { DIR_KEY = 77, NEVER = 0 };
enum {
	NAME = PREDICTOR_NEEDS_NAME,
	ATTR = PREDICTOR_NEEDS_ATTR,
	GRANT = PREDICTOR_NEEDS_ACCESS,
	DATA = PREDICTOR_NEEDS_DATA,
	LISTING = PREDICTOR_NEEDS_LISTING,
	ABSENCE = PREDICTOR_NEEDS_ABSENCE,
	EXTENTS = PREDICTOR_NEEDS_EXTENTS,
};

struct world {
	struct predictor *p;
	uint64_t now_ns;
	uint64_t uid;
	uint64_t recent_ns; /* of calls from now on */
	struct prediction out[512];
	size_t n;
	/* All that was told since the last pause. */
	struct prediction told[512 * 64];
	size_t ntold;
};

static inline void world_begin(
    struct world *w, const struct predictor_options *opt)
{
	struct predictor_options plain = {0};

	*w = (struct world){
	    .p = predictor_new(opt ? opt : &plain), .now_ns = 1000 * MS};
	assert_non_null(w->p);
}

static inline void world_end(struct world *w)
{
	predictor_free(w->p);
}

static inline void world_open(struct world *w)
{
	world_begin(w, NULL);
}

/* A call of a process that waits 10 ms for its reply and thinks for 0.2. */
static inline void call(struct world *w, struct predictor_obs o)
{
	o.now_ns = w->now_ns;
	o.latency_ns = 10 * MS;
	o.actor = 7 + w->uid;
	o.uid = w->uid;
	o.recent_ns = w->recent_ns;
	if (o.kind == PREDICTOR_READ && !o.count_bytes)
		o.count_bytes = 16384;
	predictor_observe(w->p, &o);
	w->n = predictor_predict(w->p, w->out, 512);
	for (size_t i = 0; i < w->n && w->ntold < 512 * 64; i++)
		w->told[w->ntold++] = w->out[i];
	w->now_ns += 10 * MS + MS / 5;
}

static inline void named(struct world *w, enum predictor_kind kind,
    uint64_t object, uint64_t parent, bool directory)
{
	call(w, (struct predictor_obs){.kind = kind,
		    .object = object,
		    .parent = parent,
		    .name_hash = object * 31 + 5,
		    .directory = directory,
		    .size_bytes = 50000});
}

static inline void by_handle(
    struct world *w, enum predictor_kind kind, uint64_t object)
{
	call(w, (struct predictor_obs){
		    .kind = kind, .object = object, .size_bytes = 50000});
}

static inline void open_and_read(struct world *w, uint64_t object)
{
	named(w, PREDICTOR_LOOKUP, object, DIR_KEY, false);
	by_handle(w, PREDICTOR_ACCESS, object);
	by_handle(w, PREDICTOR_READ, object);
}

static inline void pause_run(struct world *w)
{
	w->now_ns += 2000 * MS;
	w->ntold = 0;
}

#endif
