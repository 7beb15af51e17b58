/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user at work, in virtual time, and a predictor that looks on. */
#ifndef FOREFETCH_TEST_SESSIONS_FIXTURE_H
#define FOREFETCH_TEST_SESSIONS_FIXTURE_H

#include <errno.h>

#include "unittest.h"
#include "predictor/sessions/sessions.h"

#define SECOND UINT64_C(1000000000)
#define PAUSE  (600 * SECOND)
#define TIME   (60 * SECOND)
#define RECENT (3 * SECOND / 2)
#define DATA   (PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_EXTENTS)

enum {
	SPACE = 7,
	CLIENT = 5,
	JOB = 400,
	ALICE = 1000,
	BOB,
	ROOM = 128,
	AT_FIRST = 64, /* steps that are told of any plan */
};

/* A user at work. */
struct desk {
	struct predictor *p;
	uint64_t now_ns;
	uint64_t uid, client, space;
	struct prediction got[8 * SESSION_OBJECTS]; /* since desk_new() … */
	size_t n;                                   /* or since the last look */
};

static inline struct predictor *predictor_make(void)
{
	struct predictor_options opt = {.budget_bytes = 16 << 20};
	struct predictor *p = predictor_new(&opt);

	assert_non_null(p);
	predictor_set_sessions(p, PAUSE, TIME);
	return p;
}

static inline void desk_free(struct desk *d)
{
	predictor_free(d->p);
	free(d);
}

/* It is there until the test is over. */
static inline struct desk *desk_new(void)
{
	struct desk *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	d->p = predictor_make();
	d->now_ns = SECOND;
	d->uid = ALICE;
	d->client = CLIENT;
	d->space = SPACE;
	return AFTER(desk_free, d);
}

/* Asks for the steps that are due, until there are no more; returns how many
 * came. */
static inline size_t desk_look(struct desk *d)
{
	uint32_t session = predictor_session(d->p);
	size_t n, all = 0;

	do {
		n = predictor_replay(
		    d->p, session, d->now_ns, &d->got[d->n], ROOM);
		d->n += n;
		all += n;
		assert_true(d->n + ROOM < LENGTH(d->got));
	} while (n > 0);
	return all;
}

static inline void desk_call(
    struct desk *d, uint64_t object, enum predictor_kind kind)
{
	struct predictor_obs o = {.kind = kind,
	    .now_ns = d->now_ns,
	    .latency_ns = 100000,
	    .actor = d->client ^ d->uid << 32,
	    .uid = d->uid,
	    .client = d->client,
	    .space = d->space,
	    .object = object,
	    .recent_ns = RECENT,
	    .parent = 1 + object % 3,
	    .name_hash = object * 31,
	    .size_bytes = 5000,
	    .count_bytes = 5000};

	predictor_observe(d->p, &o);
	d->now_ns += 2000000;
}

static inline void desk_use(struct desk *d, uint64_t object)
{
	desk_call(d, object, PREDICTOR_LOOKUP);
	desk_call(d, object, PREDICTOR_READ);
}

static inline void desk_work(struct desk *d, uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		desk_use(d, first + i);
}

static inline void desk_leave(struct desk *d)
{
	d->now_ns += PAUSE + SECOND;
	d->n = 0;
}

/* Three sessions of the same work. */
static inline struct desk *desk_taught(uint64_t first, unsigned n)
{
	struct desk *d = desk_new();

	for (int i = 0; i < 3; i++) {
		desk_work(d, first, n);
		desk_leave(d);
	}
	return d;
}

static const struct prediction *told(const struct desk *d, uint64_t object)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->got[i].object == object)
			return &d->got[i];
	return NULL;
}

static inline struct predictor_session_stats stats(const struct desk *d)
{
	struct predictor_session_stats st;

	predictor_get_session_stats(d->p, &st);
	return st;
}

#endif
