/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces files as a whole. Names and attributes (metasave.c), trees, pins and
 * the lines of statedir.c are written so: whoever reads them at the next start
 * finds one whole state, whenever the power failed. */
#include "base/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int new_path(const char *path, char tmp[PATH_MAX])
{
	int n = snprintf(tmp, PATH_MAX, "%s.new", path);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int statefile_begin(struct statefile *f, const char *path)
{
	char tmp[PATH_MAX];
	int rc = new_path(path, tmp);

	*f = (struct statefile){.path = path, .fd = -1};
	if (rc < 0)
		return rc;
	f->fd = open(
	    tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return f->fd < 0 ? -errno : 0;
}

int statefile_append(struct statefile *f, const void *data, size_t len)
{
	const char *from = data;

	while (len > 0) {
		ssize_t n = write(f->fd, from, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

static int open_dir(const char *path)
{
	char copy[PATH_MAX];
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Syncs a directory and closes it. Some file systems have no such thing, and
 * what they answer is no error (fsync(2): EINVAL). */
static int sync_and_close(int fd)
{
	int rc = fsync(fd) < 0 ? -errno : 0;

	close(fd);
	return rc == -EINVAL || rc == -ENOTSUP || rc == -ENOSYS ? 0 : rc;
}

/* The new file is in place already. A directory that may not be read (mode
 * 0300) cannot be synced, and then the rename is durable when the kernel writes
 * it by itself; that is no reason to say that the file was not written. An
 * error of a sync that was tried (EIO, ENOSPC, EDQUOT, EROFS after a failure of
 * the disk) is one. */
static int sync_renamed(const char *path)
{
	int fd = open_dir(path);

	return fd < 0 ? 0 : sync_and_close(fd);
}

int statefile_commit(struct statefile *f)
{
	char tmp[PATH_MAX];
	int rc = new_path(f->path, tmp);

	if (rc == 0 && fdatasync(f->fd) < 0)
		rc = -errno;
	/* NFS and FUSE tell some errors of a write when it is closed. */
	if (close(f->fd) < 0 && rc == 0)
		rc = -errno;
	f->fd = -1;
	if (rc == 0 && rename(tmp, f->path) < 0)
		rc = -errno;
	if (rc == 0)
		return sync_renamed(f->path);
	unlink(tmp);
	return rc;
}

void statefile_abandon(struct statefile *f)
{
	char tmp[PATH_MAX];

	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	if (new_path(f->path, tmp) == 0)
		unlink(tmp);
}

int statefile_write(const char *path, const void *data, size_t len)
{
	struct statefile f;
	int rc = statefile_begin(&f, path);

	if (rc == 0)
		rc = statefile_append(&f, data, len);
	if (rc == 0)
		return statefile_commit(&f);
	statefile_abandon(&f);
	return rc;
}

int statefile_sync_dir(const char *path)
{
	int fd = open_dir(path);

	return fd < 0 ? fd : sync_and_close(fd);
}

/* ---- reading ---------------------------------------------------------- */

/* 0 or -errno; `text` is whole only with 0. */
static int read_all(int fd, size_t max, struct statefile_text *text)
{
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size > max)
		return -EBADMSG;
	text->data = malloc((size_t)st.st_size + 1);
	if (!text->data)
		return -ENOMEM;
	while (n > 0 && text->len < (size_t)st.st_size) {
		n = read(
		    fd, text->data + text->len, (size_t)st.st_size - text->len);
		text->len += n > 0 ? (size_t)n : 0;
	}
	text->data[text->len] = '\0';
	return n < 0 ? -errno : 0;
}

void statefile_read(const char *path, size_t max, struct statefile_text *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	*text = (struct statefile_text){.error = fd < 0 ? -errno : 0};
	if (fd < 0)
		return;
	text->error = read_all(fd, max, text);
	close(fd);
	if (text->error)
		statefile_free_text(text);
}

const char *statefile_first_line(struct statefile_text *text)
{
	if (!text || !text->data)
		return NULL;
	text->data[strcspn(text->data, "\n")] = '\0';
	return text->data;
}

void statefile_free_text(struct statefile_text *text)
{
	free(text->data);
	text->data = NULL;
}

int statefile_set_aside(const char *path)
{
	char aside[PATH_MAX];
	int n = snprintf(aside, sizeof(aside), "%s.damaged", path);

	if (n < 0 || (size_t)n >= sizeof(aside))
		return -ENAMETOOLONG;
	return rename(path, aside) < 0 ? -errno : 0;
}
