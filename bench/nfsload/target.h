/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One server, mounted: its address, ports, root handle and connections.
 */
#ifndef NFSLOAD_TARGET_H
#define NFSLOAD_TARGET_H

#include "connection.h"
#include "options.h"

struct target;

/*
 * Resolve, ask rpcbind for the ports that are not given, mount, connect.
 * NULL and a reason, with what to do about it, in `why` on failure.
 */
struct target *target_open(const struct target_spec *spec,
    const struct options *o, char *why, size_t why_size);
void target_close(struct target *t);

const char *target_name(const struct target *t);

/* Root of the export. */
const struct fhandle *target_root(const struct target *t);

/* Connection `i` of those that --connections asked for. */
struct connection *target_connection(const struct target *t, uint32_t i);

#endif
