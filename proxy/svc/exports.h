/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file system each [export] section is about: its path is mounted and
 * looked at, under the credential of a client that calls. Until that is
 * known of every section, all else of the server is treated as strict. An error
 * tells nothing of it: the path is looked at again, after pauses that grow to a
 * minute.
 *
 * Where several sections' paths are on one file system, the strictest counts
 * for all of it: the least consistency, then the shorter attr_timeout, then
 * negative_timeout, then grant_timeout.
 */
#ifndef FOREFETCH_EXPORTS_H
#define FOREFETCH_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsproto/xdr_view.h"

struct caches;
struct config_server;
struct exports;
struct fetch;
struct rpc_cred;

/* Makes the list of a server's [export] sections; all three must outlive it. It
 * knows at once what the caches know from before. NULL without memory. */
struct exports *exports_new(struct fetch *fetch, struct caches *caches,
    const struct config_server *config);
/* Frees it; NULL is allowed. The caller must have called fetch_forget(). */
void exports_free(struct exports *ex);
/* Begins anew with the sections of another configuration. Without memory for
 * them all file systems are treated as strict. */
void exports_set_config(struct exports *ex, const struct config_server *config);

/* A client calls, so there is a credential: looks at the sections whose file
 * system is not known, as far as they are due. Costs a comparison where none is
 * due. */
void exports_poll(
    struct exports *ex, const struct rpc_cred *cred, uint64_t now_us);
/* A client has mounted, so file systems may have changed: looks at all sections
 * again. Until there is an answer, what was known counts. */
void exports_refresh(struct exports *ex, const struct rpc_cred *cred);
/* Whether it is known which file system the `i`th section is about. `*over`
 * gets the path of the stricter section that counts in its place, or NULL. */
bool exports_known(const struct exports *ex, size_t i, const char **over);

#endif
