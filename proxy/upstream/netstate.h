/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the machine's network is metered, as NetworkManager says: asked over
 * D-Bus, on the loop, and never waited for.
 *
 *	PropertiesChanged, NameOwnerChanged ─▶ Get Metered ─▶ 1, 3: yes
 *	         at most once a second                      ─▶ else: no
 *
 * What a signal says is not believed but asked for, since any user may send
 * one. Without D-Bus, without NetworkManager, or in a build without libsystemd
 * the network is not metered. Both may come and go.
 */
#ifndef FOREFETCH_NETSTATE_H
#define FOREFETCH_NETSTATE_H

#include <stdbool.h>

struct event_base;
struct netstate;

/* Hears that the network is metered from now on, or no more. */
typedef void (*netstate_cb)(void *arg, bool metered);

/* Begins to watch NetworkManager; `cb` may be called before this returns. NULL
 * and errno without memory, or ENOSYS in a build without libsystemd. */
struct netstate *netstate_new(
    struct event_base *base, netstate_cb cb, void *arg);
void netstate_free(struct netstate *ns); /* NULL is allowed */

/* Whether the network is metered; false while that is not known, and for NULL.
 */
bool netstate_metered(const struct netstate *ns);

#endif
