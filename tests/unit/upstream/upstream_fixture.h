/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An upstream and its server in virtual time: the server is a socket of this
 * program's, which keeps the calls that come until it is told to answer.
 */
#ifndef FOREFETCH_TESTS_UPSTREAM_FIXTURE_H
#define FOREFETCH_TESTS_UPSTREAM_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/metrics.h"
#include "scenario/peer.h"
#include "scenario/vclock.h"
#include "upstream/upstream.h"

enum { PORT = 2049, CONNS = 32, CALLS = 128, SENDINGS = 64, TRIES = 64 };

#define MS UINT64_C(1000)
#define S  (1000 * MS)

struct conn {
	struct world *w;
	struct peer *peer;
	uint16_t port;
};

/* A call that came to the server, by its XID and connection. */
struct got {
	uint32_t xid;
	unsigned conn;
};

struct world {
	struct event_base *base;
	struct rbuf_pool *pool;
	struct metrics *metrics;
	struct upstream *up;
	int fd; /* of the server; -1: it refuses */
	struct event *ev;
	struct conn conns[CONNS];
	unsigned nconns;
	struct got got[CALLS];
	unsigned ngot;
	uint64_t tries_us[TRIES]; /* that failed */
	unsigned ntries;
};

/* A call and what its owner heard of it. */
struct call {
	struct upstream_call *call;
	unsigned sent, replies, doubts;
	uint64_t sent_us[SENDINGS];
	bool keep; /* on_doubt() keeps it */
	bool lost, doubtful, resent;
};

/* ---- the server: a socket of this program's ---- */
void server_listen(struct world *w);
void server_refuse(struct world *w);
void server_break_all(struct world *w);
/* The only connection breaks and is made anew, without a refusal. */
void server_reconnect(struct world *w);
/* OK, to the call that came as number `i`. */
void server_answer(struct world *w, unsigned i);
/* Another call is answered. */
void server_show_life(struct world *w);

/* ---- upstream ---- */
void world_setup(struct world *w);
void world_teardown(struct world *w);
void world_open(struct world *w, unsigned connections, bool lazy);
uint64_t world_counter(struct world *w, enum metrics_counter id);
void call_send(struct world *w, struct call *c, uint32_t proc);
void call_send_as(struct world *w, struct call *c, uint32_t proc,
    const struct upstream_sent *former);
void call_send_behind(
    struct world *w, struct call *c, uint32_t proc, const struct call *behind);
/* So many connections, and a GETATTR that was sent over one. */
void call_send_look(struct world *w, struct call *c, unsigned connections);
/* One connection, and a change that was sent over it. */
void call_send_change(struct world *w, struct call *c);

#endif
