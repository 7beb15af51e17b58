/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the daemon keeps what must survive it: cache_dir, with a directory
 * for each server. Small files only; blocks that are cached are not here.
 */
#ifndef FOREFETCH_STATEDIR_H
#define FOREFETCH_STATEDIR_H

#include <stddef.h>

#include "netmatch.h"

struct statedir;

/*
 * Make `path` if it is missing, and lock it: one daemon at a time. Refused on
 * NFS, since the daemon would wait for itself. NULL and a sentence in `err`.
 */
struct statedir *statedir_open(const char *path, char *err, size_t errlen);
void statedir_close(struct statedir *sd);

/* The path of `file` of `server`, whose directory is made; 0 or -errno. */
int statedir_path(const struct statedir *sd, const char *server,
    const char *file, char *path, size_t size);

/* One line of text kept under a name, without its end; -ENOENT where there is
 * none. It is replaced as a whole. */
int statedir_load_line(const struct statedir *sd, const char *server,
    const char *file, char *line, size_t size);
int statedir_save_line(const struct statedir *sd, const char *server,
    const char *file, const char *line);

/* An address kept under a name; -ENOENT where there is none. */
int statedir_load_addr(const struct statedir *sd, const char *server,
    const char *file, struct netmatch_addr *addr);
int statedir_save_addr(const struct statedir *sd, const char *server,
    const char *file, const struct netmatch_addr *addr);

#endif
