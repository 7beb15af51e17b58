/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is replaced as a whole, so that a kill or a power cut leaves
 * either what it held or what it was to hold:
 *
 *   write PATH.new -> fdatasync -> rename to PATH -> fsync of the directory
 *
 * All but statefile_first_line() and statefile_free_text() block while the disk
 * works. The daemon calls them in jobs of its I/O pool (base/iopool.h), and on
 * its loop at exit only. They return 0 or -errno.
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

/* A file as a thread read it, for the loop. */
struct statefile_text {
	char *data; /* `len` bytes and a NUL; NULL where `error` is not 0 */
	size_t len;
	int error; /* 0, or -errno: -ENOENT where there is no such file */
};
/* Reads all of a file: -EBADMSG where it is no regular one, or has more than
 * `max` bytes. */
void statefile_read(const char *path, size_t max, struct statefile_text *text);
/* Returns the first line, behind which it cuts the text; NULL where nothing was
 * read. NULL is allowed. */
const char *statefile_first_line(struct statefile_text *text);
/* Frees what was read; it may be called twice. */
void statefile_free_text(struct statefile_text *text);
/* Renames a file that is damaged to PATH.damaged, so that an administrator can
 * look at it. */
int statefile_set_aside(const char *path);

/* Makes sure that a rename or an unlink of `path` survives a power cut. Here it
 * is an error if the directory cannot be opened. */
int statefile_sync_dir(const char *path);

#endif
