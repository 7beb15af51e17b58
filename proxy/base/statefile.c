/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replacing a file as a whole. */
#include "base/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
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
		return statefile_sync_dir(f->path);
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
	char copy[PATH_MAX];
	int fd, rc = 0;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* fsync(2): EINVAL where a file system has no such thing. */
	if (fsync(fd) < 0 && errno != EINVAL)
		rc = -errno;
	close(fd);
	return rc;
}
