/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection to whatever claims to speak Redis's protocol (RESP2), by
 * libhiredis' asynchronous client on the daemon's event loop.
 *
 * libhiredis connects, writes, reads and parses; this file bounds what a peer
 * can make it do. A reply that nobody asked for would end the daemon by an
 * assertion of libhiredis; an array has its memory before its elements come;
 * and a string of any length is collected until it is complete. So each part of
 * a reply is judged before libhiredis makes it, and what has come of a part
 * that is not complete is judged behind each read(2). Whatever is out of bounds
 * ends the connection.
 */
#ifndef FOREFETCH_REDIS_CONN_H
#define FOREFETCH_REDIS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct event_base;
struct redisReply;
struct redis_conn;

/* How a connection has ended. */
enum redis_conn_end {
	REDIS_CONN_CLOSED, /* The peer closed it, or the socket failed. */
	REDIS_CONN_BAD,    /* The peer sent no reply, or none within bounds. */
};

/* Who hears of a connection. Each of these may call redis_conn_free(); none is
 * called from within a function of this header. */
struct redis_conn_ops {
	void (*on_open)(void *ctx);
	/* The answer to the oldest command came; it is gone after the call. */
	void (*on_reply)(void *ctx, const struct redisReply *reply);
	/* Nothing follows; the owner frees the connection. */
	void (*on_end)(void *ctx, enum redis_conn_end end, const char *why);
};

/*
 * Connects to `to`, an address of TCP or of a UNIX socket, without waiting.
 * `ops` and `held` outlive the connection; `held` counts the bytes that all
 * connections with that counter have received and not handed out. NULL and
 * errno where it fails at once.
 */
struct redis_conn *redis_conn_new(struct event_base *base,
    const struct sockaddr *to, const struct redis_conn_ops *ops, void *ctx,
    size_t *held);
/* Calls none of `ops` any more. NULL is allowed. */
void redis_conn_free(struct redis_conn *c);

/* Sends a command, of which the peer owes one reply; `lens` NULL: the words are
 * strings. All commands of one turn of the loop go out together. False without
 * memory, or where the connection has ended. */
bool redis_conn_send(struct redis_conn *c, int argc, const char *const *argv,
    const size_t *lens);
/* Sends a command that redisFormatCommandArgv() made. */
bool redis_conn_send_formatted(
    struct redis_conn *c, const char *command, size_t len);

/* When bytes came last; 0: never. */
uint64_t redis_conn_received_us(const struct redis_conn *c);
/* The first byte that ever came, or -1. */
int redis_conn_first_byte(const struct redis_conn *c);

#endif
