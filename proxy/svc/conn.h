/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One client's connection: its records go to svc, replies come back in the
 * order in which they complete.
 *
 * A connection that has CONN_CALLS_MAX calls or CONN_BYTES_MAX bytes in
 * flight (requests, the replies they may bring, and replies not yet taken by
 * the client), or more than its part of what all may have (room.h), is not
 * read from until there is room again.
 */
#ifndef FOREFETCH_CONN_H
#define FOREFETCH_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct conn;
struct event_base;
struct log_limit;
struct metrics;
struct rbuf_pool;
struct room;
struct svc;

enum {
	CONN_CALLS_MAX = 128,
	CONN_BYTES_MAX = 32 << 20,
	/* An unfinished record older than this closes the connection. */
	CONN_PARTIAL_MAX_US = 30000000,
	/* So does taking none of the replies that wait for so long; and for
	 * so long where clients hold most of what they may. */
	CONN_UNTAKEN_MAX_US = 120000000,
	CONN_UNTAKEN_SHORT_US = 15000000,
};

struct conn_params {
	struct event_base *base;
	struct rbuf_pool *pool;
	struct svc *svc;
	struct metrics *metrics;
	struct room *room;        /* of all clients */
	struct log_limit *closed; /* for lines about bad clients */
	/* The connection is over; the callee frees it, but not before it
	 * returned to the event loop. */
	void (*on_close)(void *ctx, struct conn *conn);
	void *ctx;
};

/* Takes `fd` (non-blocking); NULL and errno on failure. */
struct conn *conn_new(
    const struct conn_params *p, int fd, const struct sockaddr *peer);
void conn_free(struct conn *conn);

/* To be called now and then. Close it by way of on_close() if it has kept
 * half a record, or its replies waiting, for too long, or if it ended while it
 * was not read from. */
void conn_check(struct conn *conn, uint64_t now_us);
/* Close it, by way of on_close(), if its client has to ask again for something;
 * whether it was so. */
bool conn_ask_again(struct conn *conn);
/* Take no more calls; replies still go out. */
void conn_drain(struct conn *conn);
/* Nothing in flight and nothing left to send. */
bool conn_idle(const struct conn *conn);

/* For how long it has had nothing to do; 0 where it has. `used`: calls came
 * before. */
uint64_t conn_idle_us(const struct conn *conn, uint64_t now_us, bool *used);
/* End an idle one in favour of another, by way of on_close(). */
void conn_close_idle(struct conn *conn);

struct conn_status {
	const char *peer; /* "127.0.0.1:812" */
	uint64_t since_us;
	unsigned in_flight;
	uint64_t in_flight_bytes;
	uint64_t received_bytes;
	uint64_t sent_bytes;
};

void conn_get_status(const struct conn *conn, struct conn_status *st);

#endif
