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
	/* A client that takes none of its replies for so long is disconnected;
	 * the second bound holds while clients hold most of what they may
	 * (room_is_short()). */
	CONN_UNTAKEN_MAX_US = 120000000,
	CONN_UNTAKEN_SHORT_US = 15000000,
};

struct conn_params {
	struct event_base *base;
	struct rbuf_pool *pool;
	struct svc *svc;
	struct metrics *metrics;
	struct room *room;        /* the memory that all clients share */
	struct log_limit *closed; /* for lines about bad clients */
	/* Says that the connection is over. The callee frees it by conn_free(),
	 * but not before it has returned to the event loop. Called once. */
	void (*on_close)(void *ctx, struct conn *conn);
	void *ctx;
};

/* Makes the connection of a socket that accept(2) gave, which must be
 * non-blocking and is the connection's from now on. `p` is copied; `peer` is
 * the client's address, AF_INET or AF_INET6. NULL and errno on failure: `fd` is
 * the caller's then. */
struct conn *conn_new(
    const struct conn_params *p, int fd, const struct sockaddr *peer);
/* Closes the socket and drops or orphans the client's requests, without
 * on_close(). NULL is allowed. */
void conn_free(struct conn *conn);

/* The daemon calls this now and then. Closes the connection, by way of
 * on_close(), if it has kept half a record or its replies waiting for too long,
 * or if the client closed it while it was not read from. */
void conn_check(struct conn *conn, uint64_t now_us);
/* Closes it, by way of on_close(), if its client has to ask again for changes
 * that svc_hold_changes() took from it. Returns whether it was so. */
bool conn_ask_again(struct conn *conn);
/* Takes no more calls from now on; replies still go out. */
void conn_drain(struct conn *conn);
/* Whether it has nothing in flight and nothing left to send. */
bool conn_idle(const struct conn *conn);

/* Returns for how many microseconds it has had nothing to do; 0 where it has
 * something, half a record included. `*used`: whether bytes ever came. */
uint64_t conn_idle_us(const struct conn *conn, uint64_t now_us, bool *used);
/* Closes an idle connection in favour of another one, by way of on_close(). */
void conn_close_idle(struct conn *conn);

/* The state of a connection, for people to look at. `peer` is good as long as
 * the connection; `since_us` is when it was made. */
struct conn_status {
	const char *peer; /* as in "127.0.0.1:812" */
	uint64_t since_us;
	unsigned in_flight;
	uint64_t in_flight_bytes;
	uint64_t received_bytes;
	uint64_t sent_bytes;
};

void conn_get_status(const struct conn *conn, struct conn_status *st);

#endif
