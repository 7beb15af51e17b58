/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

struct statedir {
	char *path;
	int lock_fd;
};

/* mkdir -p, the last one for us alone. */
static int make_path(const char *path)
{
	char part[PATH_MAX];

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		memcpy(part, path, (size_t)(p - path));
		part[p - path] = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* Whether the directory is fit to hold what other users may not see. */
static const char *unfit(const char *path)
{
	struct statfs fs;
	struct stat st;

	if (stat(path, &st) < 0 || statfs(path, &fs) < 0)
		return strerror(errno);
	if (!S_ISDIR(st.st_mode))
		return "it is not a directory";
	if (st.st_uid != geteuid())
		return "it belongs to somebody else; chown -R it to the user "
		       "that the daemon runs as";
	if (st.st_mode & 022)
		return "others may write to it; chmod go-w it";
	if (fs.f_type == NFS_SUPER_MAGIC)
		return "it lies on NFS, and the daemon would wait for itself";
	return NULL;
}

static int lock_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* NULL, or why the directory cannot be had. */
static const char *statedir_take(struct statedir *sd, const char *path)
{
	int rc = make_path(path);
	const char *why = rc < 0 ? strerror(-rc) : unfit(path);

	if (why)
		return why;
	sd->lock_fd = lock_dir(path);
	if (sd->lock_fd < 0)
		return errno == EWOULDBLOCK ? "another forefetchd uses it"
					    : strerror(errno);
	sd->path = strdup(path);
	return sd->path ? NULL : strerror(ENOMEM);
}

struct statedir *statedir_open(const char *path, char *err, size_t errlen)
{
	struct statedir *sd = calloc(1, sizeof(*sd));
	const char *why = strerror(ENOMEM);

	if (sd) {
		sd->lock_fd = -1;
		why = statedir_take(sd, path);
	}
	if (!why)
		return sd;
	statedir_close(sd);
	snprintf(err, errlen, "cache_dir %s: %s", path, why);
	return NULL;
}

void statedir_close(struct statedir *sd)
{
	if (!sd)
		return;
	if (sd->lock_fd >= 0)
		close(sd->lock_fd);
	free(sd->path);
	free(sd);
}

int statedir_path(const struct statedir *sd, const char *server,
    const char *file, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/%s", sd->path, server);

	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	n = snprintf(path, size, "%s/%s/%s", sd->path, server, file);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int statedir_load_line(const struct statedir *sd, const char *server,
    const char *file, char *line, size_t size)
{
	char path[PATH_MAX];
	int rc = statedir_path(sd, server, file, path, sizeof(path));
	FILE *f = rc < 0 ? NULL : fopen(path, "re");

	if (!f)
		return rc < 0 ? rc : -errno;
	if (!fgets(line, (int)size, f))
		line[0] = '\0';
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

int statedir_save_line(const struct statedir *sd, const char *server,
    const char *file, const char *line)
{
	char path[PATH_MAX], tmp[PATH_MAX + 8];
	int rc = statedir_path(sd, server, file, path, sizeof(path));
	FILE *f;

	if (rc < 0)
		return rc;
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	f = fopen(tmp, "we");
	if (!f)
		return -errno;
	if (fprintf(f, "%s\n", line) < 0)
		rc = -EIO;
	if (fclose(f) != 0 || rc < 0 || rename(tmp, path) < 0)
		return errno ? -errno : -EIO;
	return 0;
}

int statedir_load_addr(const struct statedir *sd, const char *server,
    const char *file, struct netmatch_addr *addr)
{
	char line[NETMATCH_TEXT_MAX + 2];
	int rc = statedir_load_line(sd, server, file, line, sizeof(line));

	if (rc < 0)
		return rc;
	return netmatch_addr_parse(line, addr) ? -EINVAL : 0;
}

int statedir_save_addr(const struct statedir *sd, const char *server,
    const char *file, const struct netmatch_addr *addr)
{
	char text[NETMATCH_TEXT_MAX];

	netmatch_addr_format(addr, text);
	return statedir_save_line(sd, server, file, text);
}
