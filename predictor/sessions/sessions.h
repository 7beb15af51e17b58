/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions: what a user's programs use after a mount or a long pause, in the
 * order of first use, in whatever streams and with whatever shorter pauses.
 * The last three sessions of each user and file system are kept. When the next
 * one begins, they are merged into its plan, which is told ahead of where the
 * user is, as long as the session goes like it.
 *
 *	event ──▶ sessions.c ──▶ session_run.c ── over ──▶ the user's book
 *	          whose is it?   records, tells            │ (three sessions)
 *	                              ▲                    ▼
 *	                              └──── plan ── session_plan.c
 *
 * The folder may use store/. Objects are numbers of objects.h, which may mean
 * other objects later; so each session knows the event at which it was
 * recorded. bench/sessions measures what sessions bring.
 */
#ifndef FOREFETCH_SESSIONS_H
#define FOREFETCH_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/predictor.h"

enum {
	SESSIONS_KEPT = 3,
	SESSION_OBJECTS = 4096, /* of one; fewer where the budget is small */
	SESSION_MIN = 16,       /* objects; a shorter session is not kept */
	SESSION_BOOKS = 16,     /* pairs of a user and a file system */
	SESSION_RUNS = 8,       /* sessions that go on at a time */
	SESSION_BLOCK = 4096,   /* bytes */
};

/* An object that a session used: its first use, and what all uses needed. */
struct session_use {
	uint32_t object;
	uint32_t blocks; /* of 4 KiB, read from its beginning on */
	uint8_t needs;   /* PREDICTOR_NEEDS_… */
};

/* A session, or as much of it as there is yet. */
struct session_record {
	struct session_use *uses; /* in the order of first use */
	uint32_t n;
	uint32_t at; /* event at its end; objects born later are others */
};

/* The sessions of a uid in a file system, the newest first. */
struct session_book {
	uint64_t uid, space;
	struct session_record kept[SESSIONS_KEPT];
	uint32_t n;
	uint32_t used_at; /* event of the last session's end */
};

/* An object of a plan. */
struct session_step {
	uint32_t object;
	uint32_t blocks;
	uint32_t at; /* event at which it was recorded */
	float p;     /* probability that a session has it */
	uint8_t needs;
};

/* A step that is to be told now. */
struct session_due {
	struct session_step step;
	uint32_t ahead; /* steps before it */
	bool early;     /* far ahead: only its data is worth fetching yet */
	bool again;     /* it was told before */
};

struct objects;
struct sessions;

/* A session has `limit` objects at most. A step that was told is told again
 * after the time that the last event in that file system gives (obs.recent_ns),
 * since its object has to be confirmed then; 0: never. NULL without memory. */
struct sessions *sessions_new(uint32_t limit);
void sessions_free(struct sessions *ss);
size_t sessions_memory_bytes(const struct sessions *ss);
/* As predictor_set_sessions(). */
void sessions_set(struct sessions *ss, uint64_t pause_ns, uint64_t time_ns);

/* An object was used; `event` is the number of that event. */
void sessions_event(struct sessions *ss, const struct predictor_obs *o,
    uint32_t object, uint8_t needs, uint32_t event);
/* The client mounted the file system: each user's next call begins a session.
 */
void sessions_mounted(struct sessions *ss, uint64_t client, uint64_t space);
/* The session of the last event; 0 if it has none that is told anything. */
uint32_t sessions_now(const struct sessions *ss);
/* Which steps of the session's plan are due; returns how many, `max` at most.
 */
size_t sessions_due(struct sessions *ss, uint32_t session, uint64_t now_ns,
    struct session_due *out, size_t max);
/* Whether more steps may become due. */
bool sessions_goes_on(const struct sessions *ss, uint32_t session);
const struct predictor_session_stats *sessions_stats(const struct sessions *ss);

/* Book number `i`, from 0 on; NULL behind the last one. */
const struct session_book *sessions_book(const struct sessions *ss, uint32_t i);
/* Called for each session; those of a uid and file system come newest first,
 * one that goes on as if it was over now. Nonzero stops the walk, and is
 * returned. */
typedef int (*sessions_each)(
    void *ctx, uint64_t uid, uint64_t space, const struct session_record *r);
int sessions_walk(const struct sessions *ss, sessions_each each, void *ctx);
/* Adds a session of an earlier daemon, as the oldest one of its book. False
 * without room or memory. */
bool sessions_add(struct sessions *ss, uint64_t uid, uint64_t space,
    const struct session_use *uses, uint32_t n, uint32_t at);
/*
 * Whether a session that another machine recorded says something new: fewer of
 * those here begin like it than that machine has, of which `before` have been
 * looked at; and there is room for it in its book, or one is here that it
 * continues. An object that is not known here is UINT32_MAX; what was forgotten
 * of a session here counts as not there.
 */
bool sessions_lacks(const struct sessions *ss, const struct objects *os,
    uint64_t uid, uint64_t space, const struct session_record *r,
    uint32_t before);
/* Adds such a session, as the oldest one of its book, or in place of the one
 * that it continues. False without memory. */
bool sessions_merge(struct sessions *ss, const struct objects *os, uint64_t uid,
    uint64_t space, const struct session_record *r);
/* Sessions of the uid that go on without a plan, because there was none when
 * they began, get one. */
void sessions_replan(struct sessions *ss, uint64_t uid);
/* A session has at most so many objects. */
uint32_t sessions_limit(const struct sessions *ss);
/* Forgets all sessions of a uid, or one book. */
void sessions_forget(struct sessions *ss, uint64_t uid);
void sessions_forget_book(struct sessions *ss, uint32_t i);

/* session_plan.c: the plan of a book, to be freed; `n` is how many steps it
 * has, `max` at most. NULL without memory, or if the book is empty. */
struct session_step *session_plan(
    const struct session_book *b, uint32_t max, uint32_t *n);

/* session_run.c */
struct session_run;
/* A session that begins, with a copy of its plan, and `limit` as sessions_new()
 * has it; steps are told again after `*refresh_ns`, which the caller keeps up
 * to date; 0: never. NULL without memory. */
struct session_run *session_run_new(uint32_t limit, const uint64_t *refresh_ns,
    const struct session_step *plan, uint32_t n);
void session_run_free(struct session_run *r);
size_t session_run_bytes(const struct session_run *r);
/* The part of a file that was read; empty if from == to. */
struct session_span {
	uint64_t from, to; /* bytes */
};
/* The object was used; returns whether it had been told. */
bool session_run_use(struct session_run *r, uint32_t object, uint8_t needs,
    const struct session_span *read);
/* The uses that were recorded up to now; the run owns them. */
struct session_record session_run_record(
    const struct session_run *r, uint32_t at);
/* Whether it has no plan. */
bool session_run_is_free(const struct session_run *r);
/* Whether the session goes otherwise than its plan. */
bool session_run_strays(const struct session_run *r);
/* As sessions_due(). */
size_t session_run_due(struct session_run *r, uint64_t now_ns,
    struct session_due *out, size_t max);
/* Whether the user has come to the end of the plan. */
bool session_run_done(const struct session_run *r);

#endif
