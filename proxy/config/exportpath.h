/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides which paths of a server clients may mount, and which may lie below
 * them. Users name such paths, too, for pins and walks, so nothing is believed
 * of them. */
#ifndef FOREFETCH_EXPORTPATH_H
#define FOREFETCH_EXPORTPATH_H

#include <stdbool.h>

#include "nfsproto/xdr_view.h"

struct config_server;

enum { EXPORTPATH_BELOW_MAX = 4096 }; /* bytes, with the final NUL */

/* Whether the server's `exports` option lets clients mount `path`. */
bool exportpath_allowed(
    const struct config_server *config, const mnt3_path *path);

/*
 * Whether `path` can lie below an export: "" for the export itself, or "a/b",
 * where each part is a name that a server could know and none is "." or "..".
 */
bool exportpath_below_ok(const char *path);
/* Checks both for a path `below` an export: 0, EINVAL for a path that cannot
 * be, EPERM for an export that is not offered. */
int exportpath_check(
    const struct config_server *config, const char *export, const char *below);

#endif
