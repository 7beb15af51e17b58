/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks a server's rpcbind for the TCP port of a program (RFC 1833):
 * PMAP_GETPORT of version 2 over IPv4, RPCB_GETADDR of version 3 over IPv6; and
 * finds out whether what listens at a port is an NFSv3 server at all.
 */
#ifndef FOREFETCH_PORTMAP_H
#define FOREFETCH_PORTMAP_H

#include <stdint.h>
#include <sys/socket.h>

struct event_base;
struct portmap;
struct rbuf_pool;

/* Hears the answer: `port` is 0 where the program is not registered or rpcbind
 * did not answer; then `why` says so, in text that is good for the length of
 * the call. The query is freed in either case. */
typedef void (*portmap_cb)(void *arg, uint16_t port, const char *why);

/* Asks the rpcbind of `host`, whose port does not matter, for the TCP port of a
 * program and version; within 5 s `cb` hears of it. NULL and errno where it
 * fails at once: then it does not. */
struct portmap *portmap_query(struct event_base *base, struct rbuf_pool *pool,
    const struct sockaddr *host, uint32_t prog, uint32_t vers, portmap_cb cb,
    void *arg);

/* Hears what listens at a port. 0: NFSv3 answers. -EPROTONOSUPPORT: other
 * versions or programs do, and `least` is the least version of NFS that there
 * is, 0 if there is none. Else a negative errno, which prevented an answer. The
 * query is freed in any case. */
typedef void (*portmap_probe_cb)(void *arg, int err, uint32_t least);

/* Calls the NULL procedure of NFSv3 at an address and port; as portmap_query().
 */
struct portmap *portmap_probe(struct event_base *base, struct rbuf_pool *pool,
    const struct sockaddr *at, portmap_probe_cb cb, void *arg);
/* Gives a query or probe up, without a callback; NULL is allowed. */
void portmap_cancel(struct portmap *pm);

#endif
