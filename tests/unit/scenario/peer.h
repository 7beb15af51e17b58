/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One end of a connection that carries RPC records: a client's of the proxy,
 * or the server's. */
#ifndef FOREFETCH_TESTS_PEER_H
#define FOREFETCH_TESTS_PEER_H

#include <stddef.h>
#include <stdint.h>

struct event_base;
struct peer;

struct peer_ops {
	/* Starts on a four-byte boundary, and is gone behind the call. */
	void (*on_record)(void *arg, const unsigned char *data, size_t len);
	/* The other end closed, or could not be reached. To be freed later. */
	void (*on_closed)(void *arg);
};

struct peer *peer_new(
    struct event_base *base, int fd, const struct peer_ops *ops, void *arg);
/* From address `from` (any port) to `port` at `to`; both are 127.x.y.z. */
struct peer *peer_connect(struct event_base *base, uint32_t from, uint32_t to,
    uint16_t port, const struct peer_ops *ops, void *arg);
/* With a reset, as a crash does it. */
void peer_free(struct peer *p);
void peer_send(struct peer *p, const void *record, size_t len);
/* Bytes that may be no record. */
void peer_send_raw(struct peer *p, const void *bytes, size_t len);
/* How many more may be sent, of bytes that the other end did not take yet. */
size_t peer_room(const struct peer *p);
/* Nothing is read from now on. */
void peer_turn_deaf(struct peer *p);
/* The other end reads to the end of what was sent; its bytes are still read. */
void peer_shut(struct peer *p);

/* A socket bound to an address; it takes connections from `listen()` on. */
int peer_bind(uint32_t address, uint16_t port);

#endif
