/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is replaced as a whole, so that a kill or a power cut leaves
 * either what it held or what it was to hold:
 *
 *   write PATH.new -> fdatasync -> rename to PATH -> fsync of the directory
 *
 * Every function blocks while the disk works. The daemon calls them in jobs of
 * its I/O pool (base/iopool.h), and on its loop at start and at exit only.
 * They return 0 or -errno.
 */
#ifndef FOREFETCH_STATEFILE_H
#define FOREFETCH_STATEFILE_H

#include <stddef.h>

/* Replaces what PATH holds by these bytes. After an error it still holds what
 * it held, unless the sync of the directory failed. A directory that cannot be
 * opened, or has no sync, is no error: the file is in place. */
int statefile_write(const char *path, const void *data, size_t len);

/* The same for bytes that come in parts: begin, append as often as needed,
 * then commit. After an error statefile_abandon() tidies up. */
struct statefile {
	const char *path; /* the caller's, until commit or abandon */
	int fd;           /* of PATH.new; -1: nothing is being written */
};

/* Opens PATH.new, with mode 0600, and empties it. */
int statefile_begin(struct statefile *f, const char *path);
int statefile_append(struct statefile *f, const void *data, size_t len);
int statefile_commit(struct statefile *f);
/* Removes PATH.new and leaves PATH alone; nothing where nothing has begun. */
void statefile_abandon(struct statefile *f);

/* Makes sure that a rename or an unlink of `path` survives a power cut. Here it
 * is an error if the directory cannot be opened. */
int statefile_sync_dir(const char *path);

#endif
