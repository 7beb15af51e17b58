/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connecting to a server over TCP without blocking, from a chosen source
 * port where that can be had.
 *
 * The source port matters twice: servers may insist on one below 1024, and
 * knfsd's reply cache knows a repeated call only by the port it came from.
 * All sockets are closed with a reset (SO_LINGER 0), also by kill -9: no
 * TIME_WAIT then keeps the next connection from taking the same port.
 */
#ifndef FOREFETCH_DIAL_H
#define FOREFETCH_DIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct dial;
struct event_base;

/* Hears of the end of a dial: `fd` is connected, non-blocking and the callee's;
 * or `err` is an errno (ETIMEDOUT after `timeout_us`) and `fd` is -1. The dial
 * is freed in either case. */
typedef void (*dial_cb)(void *arg, int fd, int err);

/*
 * Connects to `to`, AF_INET or AF_INET6, within `timeout_us` microseconds.
 * `port` is the source port to try first; 0 for any. Falls back to another
 * reserved port, and to any port where reserved ones are not permitted. NULL
 * and errno where it fails at once; else `cb` is called later, once.
 */
struct dial *dial_start(struct event_base *base, const struct sockaddr *to,
    uint16_t port, uint64_t timeout_us, dial_cb cb, void *arg);
/* Gives a dial up, without a call of `cb`. NULL is allowed. */
void dial_cancel(struct dial *d);

/* The length of an address of either family, for bind(2) and connect(2). */
socklen_t dial_addr_len(const struct sockaddr *sa);
/* The port of an address of either family, and setting it; in host byte order.
 */
uint16_t dial_addr_port(const struct sockaddr *sa);
void dial_addr_set_port(struct sockaddr *sa, uint16_t port);
/* Whether a new connection to `to` would leave from another local address
 * than the connected socket `fd` does; false where there is no route now. */
bool dial_source_changed(int fd, const struct sockaddr *to);
/* The identity by which a server knows a client: a hash of the local address
 * and port of a connected socket, never 0; 0 where getsockname(2) fails. */
uint32_t dial_source(int fd);
/* Whether the peer has acknowledged nothing for 12 s, though there was
 * something to acknowledge (TCP_INFO, tcp(7)). A peer with a full window still
 * answers probes. */
bool dial_silent(int fd);
/* The same after 2 s, if the kernel had to send again. */
bool dial_stalls(int fd);
/* Has a socket send without delay (TCP_NODELAY), and probe a peer that is
 * silent, so that a dead one is found in half a minute (SO_KEEPALIVE). */
void dial_keep_alive(int fd);
/* The local port of a socket, in host byte order; 0 on failure. */
uint16_t dial_local_port(int fd);

#endif
