/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells when the machine's network changed (netlink: an address, a route or
 * a link) or the machine woke up from sleep.
 */
#ifndef FOREFETCH_NETWATCH_H
#define FOREFETCH_NETWATCH_H

#include <stdbool.h>

struct event_base;
struct netwatch;

/* Hears that the network changed; `woke`: the machine slept. Several changes
 * within 0.2 s make one call. */
typedef void (*netwatch_cb)(void *arg, bool woke);

/* Begins to watch. NULL and errno on failure; the daemon does without, then. */
struct netwatch *netwatch_new(
    struct event_base *base, netwatch_cb cb, void *arg);
/* Ends the watch; NULL is allowed. */
void netwatch_free(struct netwatch *nw);

#endif
