/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registering with the local rpcbind (`rpcbind = yes`), for clients that
 * cannot be told a port. Blocks for as long as rpcbind takes, so it is done
 * at start and at the end only.
 */
#ifndef FOREFETCH_RPCBIND_H
#define FOREFETCH_RPCBIND_H

#include <stddef.h>

#include "base/netmatch.h"

/* NFSv3, MOUNTv3 and NFSACL at each address; failures are logged. How many
 * were refused. */
unsigned rpcbind_register(
    const char *server, const struct netmatch_addr *addrs, size_t count);
void rpcbind_unregister(void);

#endif
