/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses of a host, by the system's resolver: whatever nsswitch.conf(5)
 * names, be it /etc/hosts, DNS, mDNS or systemd-resolved.
 *
 * getaddrinfo(3) blocks for as long as a name server does not answer, and
 * cannot be cancelled. So each question has a thread of its own: it holds up
 * neither the loop, nor threads that wait for the disk, nor the end of the
 * process.
 */
#ifndef FOREFETCH_HOSTNAME_H
#define FOREFETCH_HOSTNAME_H

#include <netdb.h>

struct event_base;
struct hostname;

/* Hears the answer: `err` is getaddrinfo(3)'s, 0 or EAI_..., and `sys` the
 * errno where that is EAI_SYSTEM. `list` is freed when this returns; NULL where
 * `err` is not 0. */
typedef void (*hostname_cb)(
    void *arg, int err, int sys, const struct addrinfo *list);

/*
 * Asks for the addresses of `host`, which is copied, for stream sockets. NULL
 * where the answer is there already, as a numeric address or a want of memory
 * is: then `cb` was called. Else it is called later from the event loop, once,
 * and the question is freed before.
 */
struct hostname *hostname_ask(
    struct event_base *base, const char *host, hostname_cb cb, void *arg);
/* Gives a question up: `cb` will not be called, and the thread ends by itself.
 * NULL is allowed. */
void hostname_cancel(struct hostname *h);

#endif
