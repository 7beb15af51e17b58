/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers with the local rpcbind (`rpcbind = yes`), for clients that cannot
 * be told a port. This blocks for as long as rpcbind takes, so it is done when
 * a server begins and at the end only.
 */
#ifndef FOREFETCH_RPCBIND_H
#define FOREFETCH_RPCBIND_H

#include <stddef.h>

#include "base/netmatch.h"

/* Registers NFSv3, MOUNTv3 and NFSACL at each address (rpcb_set(3)); `server`
 * is for log lines. Returns how many registrations were refused, which are
 * logged. Blocks. */
unsigned rpcbind_register(
    const char *server, const struct netmatch_addr *addrs, size_t count);
/* Takes back all registrations of these programs on this machine. Blocks. */
void rpcbind_unregister(void);

#endif
