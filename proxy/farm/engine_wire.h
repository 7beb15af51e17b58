/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection to whatever claims to speak Redis's protocol (RESP2): it
 * sends commands and hands out the replies, in order, within bounds.
 *
 * libhiredis formats commands and parses replies; of it only that is used which
 * its manual names and which is alike in 0.14 and 1.2. Its asynchronous API is
 * not used: that one asserts that no reply comes unasked, so that a peer could
 * end the daemon, and moves all that waits to be sent at each partial write.
 *
 * What a peer may send is bounded: a reply that nobody asked for, a value of
 * more than ENGINE_VALUE_MAX, an array that is large or deep, a line that does
 * not end, all end the connection. So does what all connections of an engine
 * hold together.
 */
#ifndef FOREFETCH_ENGINE_WIRE_H
#define FOREFETCH_ENGINE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct event_base;
struct redisReply;
struct wire;

enum wire_end {
	WIRE_END_CLOSED, /* by the peer, or an error of the socket */
	WIRE_END_BAD,    /* what it sent is no reply, or not within bounds */
};

/* Each may call wire_free(). */
struct wire_ops {
	void (*on_open)(void *ctx);
	/* The answer to the oldest command; it is gone after the call. */
	void (*on_reply)(void *ctx, const struct redisReply *reply);
	/* Nothing follows; what is left to do is wire_free(). */
	void (*on_end)(void *ctx, enum wire_end end, const char *why);
};

/*
 * Connect without waiting. `ops` and `held` outlive it; `held` counts the bytes
 * that all wires with that counter have received and not handed out. NULL and
 * errno where it fails at once.
 */
struct wire *wire_new(struct event_base *base, const struct sockaddr *to,
    const struct wire_ops *ops, void *ctx, size_t *held);
/* NULL is allowed. */
void wire_free(struct wire *w);

/* Send a command that was formatted by libhiredis, which is taken in any case;
 * one reply is owed for it. False without memory. */
bool wire_send(struct wire *w, char *command, size_t len);

/* When bytes came last; 0: never. */
uint64_t wire_received_us(const struct wire *w);
/* The first byte that ever came, or -1. */
int wire_first_byte(const struct wire *w);

#endif
