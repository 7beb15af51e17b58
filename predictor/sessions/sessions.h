/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions: what a user's programs use after a mount or a long pause, in the
 * order of first use, whichever streams it came in and however long they
 * paused between. The last three of each user and file system are kept; when
 * the next one begins, what they have in common is its plan, and is told
 * ahead of where the user is.
 *
 *	sessions.c       which session an event belongs to; recording
 *	session_plan.c   three sessions into one plan
 *	session_run.c    telling the plan, and when to stop
 *
 * Objects are numbers of objects.h, which may mean another object one day:
 * each session knows at which event it was recorded.
 */
#ifndef FOREFETCH_SESSIONS_H
#define FOREFETCH_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/predictor.h"

enum {
	SESSIONS_KEPT = 3,
	SESSION_OBJECTS = 4096, /* of one; less where the budget is small */
	SESSION_MIN = 16,       /* who used less has not begun to work */
	SESSION_BOOKS = 16,     /* users and file systems */
	SESSION_RUNS = 8,       /* sessions that go on */
};

struct session_use {
	uint32_t object;
	uint32_t blocks; /* of 4 KiB, read from its beginning on */
	uint8_t needs;
};

/* One that is over, or so much of it as there is. */
struct session_record {
	struct session_use *uses; /* in the order of first use */
	uint32_t n;
	uint32_t at; /* event at its end: objects born later are others */
};

/* The sessions of a uid in a file system, the newest first. */
struct session_book {
	uint64_t uid, space;
	struct session_record kept[SESSIONS_KEPT];
	uint32_t n;
	uint32_t used_at; /* event */
};

struct session_step {
	uint32_t object;
	uint32_t blocks;
	uint32_t at; /* event: it was known then */
	float p;     /* that a session has it */
	uint8_t needs;
};

/* A step to be told. */
struct session_due {
	struct session_step step;
	uint32_t ahead; /* steps before it */
	bool early;     /* only what lasts is worth it; it will be due again */
	bool again;
};

struct sessions;

/* `limit` objects of a session at most; what was told is told again after
 * `refresh_ns`. NULL without memory. */
struct sessions *sessions_new(uint32_t limit, uint64_t refresh_ns);
void sessions_free(struct sessions *ss);
size_t sessions_memory_bytes(const struct sessions *ss);
/* 0 time: nothing is recorded, nor told. */
void sessions_set(struct sessions *ss, uint64_t pause_ns, uint64_t time_ns);

/* An object was used. */
void sessions_event(struct sessions *ss, const struct predictor_obs *o,
    uint32_t object, uint8_t needs, uint32_t event);
/* The next call of each user of that client begins a session. */
void sessions_mounted(struct sessions *ss, uint64_t client, uint64_t space);
/* The session of the last event, 0: none of which anything is told. */
uint32_t sessions_now(const struct sessions *ss);
/* Steps of the plan of that session that are due, `max` at most. */
size_t sessions_due(struct sessions *ss, uint32_t session, uint64_t now_ns,
    struct session_due *out, size_t max);
/* Whether more of it may come. */
bool sessions_goes_on(const struct sessions *ss, uint32_t session);
const struct predictor_session_stats *sessions_stats(const struct sessions *ss);

/* Books, `i` counting from 0; NULL behind the last one. */
const struct session_book *sessions_book(const struct sessions *ss, uint32_t i);
/* Calls for each session, of each uid and file system the newest first; one
 * that goes on as if it was over now. Nonzero stops, and is returned. */
typedef int (*sessions_each)(
    void *ctx, uint64_t uid, uint64_t space, const struct session_record *r);
int sessions_walk(const struct sessions *ss, sessions_each each, void *ctx);
/* One of a former daemon's, older than all there are. False without room or
 * memory. */
bool sessions_add(struct sessions *ss, uint64_t uid, uint64_t space,
    const struct session_use *uses, uint32_t n, uint32_t at);
/* Forget those of a uid, or but one book. */
void sessions_forget(struct sessions *ss, uint64_t uid);
void sessions_forget_book(struct sessions *ss, uint32_t i);

/* session_plan.c: the steps of a book, in order; returns how many, `max` at
 * most. Freed with free(); NULL without memory, or if there are none. */
struct session_step *session_plan(
    const struct session_book *b, uint32_t max, uint32_t *n);

/* session_run.c */
struct session_run;
/* What was told is told again after so long. NULL without memory. */
struct session_run *session_run_new(uint32_t limit, uint64_t refresh_ns,
    const struct session_step *plan, uint32_t n);
void session_run_free(struct session_run *r);
size_t session_run_bytes(const struct session_run *r);
/* Part of a file, or nothing. */
struct session_span {
	uint64_t from, to; /* bytes */
};
/* Returns whether it was told before. */
bool session_run_use(struct session_run *r, uint32_t object, uint8_t needs,
    const struct session_span *read);
/* What was recorded up to now; it belongs to the run. */
struct session_record session_run_record(
    const struct session_run *r, uint32_t at);
/* It goes otherwise than the plan. */
bool session_run_strays(const struct session_run *r);
size_t session_run_due(struct session_run *r, uint64_t now_ns,
    struct session_due *out, size_t max);
/* The user has come to the end of the plan. */
bool session_run_done(const struct session_run *r);

#endif
