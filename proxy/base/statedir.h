/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the daemon keeps what is to survive it: cache_dir, with a directory
 * for each server. Small files only; blocks that are cached are not here.
 *
 * The disk may be away, full or broken, or hang: it is had as soon as
 * statedir_take() succeeds, and files are written by threads.
 *
 *	cache_dir/NAME/
 *	  address-nfs, address-mount  last ADDRESS:PORT, a line of text
 *	  link                        what was measured of the link (linkkeep.h)
 *	  trees                       what was learned (prefetch_save.c)
 *	  pins                        pinned trees (pins_private.h)
 *	  names, names.whole          caches but data (metasave.h)
 *	  data/                       file data (datacache_private.h)
 *	  whose                       whose names and data these are: an address
 *
 * The reply cache, NAME.drc, is not here but beside the control socket (drc.h).
 */
#ifndef FOREFETCH_STATEDIR_H
#define FOREFETCH_STATEDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/netmatch.h"

struct iopool;
struct statedir;

/*
 * Whether `path` may be had by this user: not a file or a link, not on NFS,
 * since the daemon would wait for itself, nor on a file system with less than
 * `need_bytes`. What is missing or does not work may mend itself, and is no
 * reason. False and a sentence in `err`; may block.
 */
bool statedir_check(
    const char *path, uid_t uid, uint64_t need_bytes, char *err, size_t errlen);
#define STATEDIR_ANYBODY ((uid_t)-1)

/* Looks at nothing yet. NULL without memory. */
struct statedir *statedir_new(
    const char *path, uint64_t need_bytes, struct iopool *pool);
/* After the pool: what is being written was written then. */
void statedir_free(struct statedir *sd);

/*
 * Make the directory where it is missing, and lock it: one daemon at a time;
 * again where there is another one now. For threads; may block. 0, or -errno
 * and a sentence in `err`: -EINVAL where statedir_check() would refuse it, or
 * another daemon has it.
 */
int statedir_take(struct statedir *sd, char *err, size_t errlen);
/* … and that of a server; 0 or -errno. */
int statedir_make_server(const struct statedir *sd, const char *server);
/* It was taken once. */
bool statedir_taken(const struct statedir *sd);

/* The path of `file` of `server`; 0 or -ENAMETOOLONG. */
int statedir_path(const struct statedir *sd, const char *server,
    const char *file, char *path, size_t size);

/* One line of text kept under a name, without its end; -ENOENT where there is
 * none. May block. */
int statedir_load_line(const struct statedir *sd, const char *server,
    const char *file, char *line, size_t size);
/* It is replaced as a whole, by a thread, as soon as the directory is had;
 * where another one is given meanwhile, the last one counts. A failure is
 * logged. `file` outlives this. */
void statedir_save_line(struct statedir *sd, const char *server,
    const char *file, const char *line);
/* The same at once; for threads. 0 or -errno. */
int statedir_write_line(const struct statedir *sd, const char *server,
    const char *file, const char *line);
/* The directory was taken: write what has waited for it. */
void statedir_resume(struct statedir *sd);

/* An address kept under a name; -ENOENT where there is none. */
int statedir_load_addr(const struct statedir *sd, const char *server,
    const char *file, struct netmatch_addr *addr);
void statedir_save_addr(struct statedir *sd, const char *server,
    const char *file, const struct netmatch_addr *addr);

#endif
