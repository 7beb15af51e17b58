/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every room of prefetch/ stands on this one: it has the parts of the daemon
 * that belong to a server, and the time. It holds no state of any room.
 *
 *	prefetch.c        the pump: calls of clients in, turns of wants out
 *	   │
 *	steps/            what a want needs next, and what its replies lead to
 *	   │
 *	sources/          who foretells: trees, habits, walks, mentions, …
 *	   │
 *	queue/            what is wanted, in the order of its urgency
 *	   │
 *	calls/   notes/   calls under way; what became of predictions
 *	   │       │
 *	credentials/      for whom
 *	   │
 *	ground/           whether a call ahead is worth it, and is let out
 *
 * A room calls those below it only; tests/includes.py holds it to that.
 */
#ifndef FOREFETCH_GROUND_H
#define FOREFETCH_GROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;
struct caches;
struct config_server;
struct credential;
struct event_base;
struct farm_server;
struct fetch;
struct hold;
struct iopool;
struct linkest;
struct metrics;
struct namemap;
struct predictor;
struct waste;

/* Bytes that a reply will take on the link, without headers. */
enum { CONFIRM_BYTES = 128, LOOKUP_BYTES = 260 };

struct ground {
	/* The daemon gives these to prefetch_new(). */
	struct event_base *base;
	struct iopool *iopool;
	struct fetch *fetch;
	struct caches *caches;
	struct linkest *link;
	struct metrics *metrics;
	struct farm_server *farm;           /* NULL: none */
	const struct config_server *config; /* changes with a reload */
	size_t memory_bytes;                /* for what is learned */
	/* Whether the server can be asked at this moment, and no call of a
	 * client waits to be sent. */
	bool (*ready)(void *ctx);
	void *ready_ctx;
	/* It makes these itself. */
	struct predictor *predictor;
	struct credential *caller; /* for whom it predicts just now */
	/* All calls ahead share these: how much they may send, whether they
	 * may send at all, and how much of it came in vain. */
	struct budget *budget;
	struct hold *hold;
	struct waste *waste;
	struct namemap *absents; /* names, by observe_absent() */
	uint64_t now_us;         /* the last time that anybody told */
	/* Has the queue looked at in a later turn of the loop. */
	void (*wake)(void *ctx);
	void *wake_ctx;
};

/* The clock shows `now_us`; it never goes back. */
static inline void ground_set_time(struct ground *g, uint64_t now_us)
{
	if (now_us > g->now_us)
		g->now_us = now_us;
}

/* Somebody has work for the pump, and knows the time. */
static inline void ground_wake(struct ground *g, uint64_t now_us)
{
	ground_set_time(g, now_us);
	if (g->wake)
		g->wake(g->wake_ctx);
}

#endif
