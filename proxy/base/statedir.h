/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache_dir, where the daemon keeps what is to survive it, with a directory for
 * each server. This is about the directory and small files; cached data is
 * datacache's.
 *
 * The disk may be absent, full or broken, or hang. So the daemon starts without
 * it, tries statedir_take() in a thread until that succeeds, and has files
 * written by threads.
 *
 *	cache_dir/NAME/
 *	  address-nfs, address-mount  last ADDRESS:PORT, a line of text
 *	  link                        what was measured of the link (linkkeep.h)
 *	  totals, mount-totals        what it was worth (balance.h)
 *	  trees                       what was learned (prefetch_save.c)
 *	  pins                        pinned trees (pins_private.h)
 *	  names, names.whole          caches but data (metasave.h)
 *	  data/                       file data (datacache_disk.h)
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
 * Whether `path` may be the cache_dir of user `uid` (STATEDIR_ANYBODY: of
 * anybody). It must not be a file or a link, nor others be able to write to it,
 * nor may it lie on NFS, since the daemon would wait for itself, nor on a file
 * system of less than `need_bytes`. A directory that is missing or does not
 * work is accepted: that may mend itself. False and a sentence in `err`; may
 * block.
 */
bool statedir_check(
    const char *path, uid_t uid, uint64_t need_bytes, char *err, size_t errlen);
#define STATEDIR_ANYBODY ((uid_t)-1)

/* Returns the size in bytes of the file system that `path` is on, or would be;
 * 0: not known, or without a limit. May block. */
uint64_t statedir_disk_bytes(const char *path);

/* Makes a statedir, which looks at nothing yet; `path` is copied, `pool`
 * outlives it up to iopool_free(). NULL without memory. */
struct statedir *statedir_new(
    const char *path, uint64_t need_bytes, struct iopool *pool);
/* Sets how large its file system must be, in bytes, from now on. */
void statedir_set_need(struct statedir *sd, uint64_t need_bytes);
/* Frees it, after iopool_free(), which waits for what is being written. NULL is
 * allowed. */
void statedir_free(struct statedir *sd);

/*
 * Makes the directory if it is missing, and locks it (flock(2)), so that one
 * daemon at a time uses it. Where another directory has taken its place, that
 * is locked in turn. For threads; may block. 0, or -errno and a sentence in
 * `err`: -EINVAL where statedir_check() would refuse it, or another daemon has
 * locked it.
 */
int statedir_take(struct statedir *sd, char *err, size_t errlen);
/* Makes the directory of a server: 1, 0 where it was there, or -errno. May
 * block. */
int statedir_make_server(const struct statedir *sd, const char *server);
/* Removes it with the files in it and in its directories. For threads; what
 * cannot be removed stays. */
void statedir_remove_server(const struct statedir *sd, const char *server);
/* Whether statedir_take() has ever succeeded. */
bool statedir_taken(const struct statedir *sd);

/* Writes the path of `file` of `server` to `path`; 0 or -ENAMETOOLONG. */
int statedir_path(const struct statedir *sd, const char *server,
    const char *file, char *path, size_t size);

/* Replaces the line of `file`, in a thread, as soon as the directory was taken.
 * Of several lines that are given meanwhile the last one is written. A failure
 * is logged, and the line lost. `file` outlives the statedir; the other texts
 * are copied. */
void statedir_save_line(struct statedir *sd, const char *server,
    const char *file, const char *line);
/* Replaces the line at once; for threads. 0 or -errno. */
int statedir_write_line(const struct statedir *sd, const char *server,
    const char *file, const char *line);
/* Has a thread rename `file`, whose line is damaged, to FILE.damaged, before it
 * writes any line that is saved from now on. */
void statedir_set_aside(
    struct statedir *sd, const char *server, const char *file);
/* Whether a thread has a line of that server, or will have one. */
bool statedir_is_busy(const struct statedir *sd, const char *server);
/* Writes the lines that have waited until the directory was taken. */
void statedir_resume(struct statedir *sd);

/* Saves an address as the line of `file`. */
void statedir_save_addr(struct statedir *sd, const char *server,
    const char *file, const struct netmatch_addr *addr);

#endif
