/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache_dir: checked, made, locked; and the small files of one line in it. The
 * loop calls what has no "may block" in statedir.h; all that touches the disk
 * runs in jobs of the pool, or at start. `taken` and `need_bytes` are read by
 * both. */
#include "base/statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "base/log.h"
#include "base/statefile.h"

/* A file of one line: the line that it is to hold, and the job that writes it.
 */
struct line {
	struct iopool_job job;
	SLIST_ENTRY(line) link;
	struct statedir *sd;
	char *server;
	const char *file;
	char *next;    /* the line to be written next; NULL: none */
	char *writing; /* the line that the job writes; NULL: none */
	bool damaged;  /* the file is to be set aside */
	bool aside;    /* the job sets it aside first */
	bool busy;     /* the job is under way */
	int error;
	struct log_limit warned;
};

struct statedir {
	char *path;
	_Atomic uint64_t need_bytes; /* threads read it */
	struct iopool *pool;
	SLIST_HEAD(, line) lines;
	atomic_bool taken;
	pthread_mutex_t lock; /* guards what follows */
	/* The directory, open and locked; -1: not yet. */
	int lock_fd;
};

/* Makes all directories of the path, as mkdir -p does, the last one for us
 * alone; 0 or -errno. */
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

static bool refuse(const char *path, const char *why, char *err, size_t errlen)
{
	snprintf(err, errlen, "cache_dir %s: %s", path, why);
	return false;
}

static bool check_room(const char *path, const struct statfs *fs,
    uint64_t need_bytes, char *err, size_t errlen)
{
	uint64_t bytes = (uint64_t)fs->f_blocks * (uint64_t)fs->f_bsize;

	/* A tmpfs without a limit has no blocks at all. */
	if (fs->f_blocks == 0 || bytes >= need_bytes)
		return true;
	snprintf(err, errlen,
	    "cache_dir %s: its file system has %llu MiB, and with this "
	    "cache_size at least %llu MiB are needed; put it on a larger one, "
	    "or set cache_size to %lluM",
	    path, (unsigned long long)(bytes >> 20),
	    (unsigned long long)((need_bytes + (1 << 20) - 1) >> 20),
	    (unsigned long long)(bytes >> 21 ? bytes >> 21 : 1));
	return false;
}

bool statedir_check(
    const char *path, uid_t uid, uint64_t need_bytes, char *err, size_t errlen)
{
	struct statfs fs;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno != ENOTDIR ||
		       refuse(path, "a part of the path is not a directory",
			   err, errlen);
	if (S_ISLNK(st.st_mode))
		return refuse(path,
		    "it is a symbolic link; use the path that it points to",
		    err, errlen);
	if (!S_ISDIR(st.st_mode))
		return refuse(path, "it is not a directory", err, errlen);
	if (uid != STATEDIR_ANYBODY && st.st_uid != uid)
		return refuse(path,
		    "it belongs to another user; chown it to the user that "
		    "forefetchd runs as",
		    err, errlen);
	if (st.st_mode & 022)
		return refuse(
		    path, "others may write to it; chmod go-w it", err, errlen);
	if (statfs(path, &fs) < 0)
		return true;
	if (fs.f_type == NFS_SUPER_MAGIC)
		return refuse(path,
		    "it is on NFS, so the daemon could wait for itself; use a "
		    "local disk",
		    err, errlen);
	return check_room(path, &fs, need_bytes, err, errlen);
}

uint64_t statedir_disk_bytes(const char *path)
{
	char *part = strdup(path), *slash;
	struct statfs fs = {.f_blocks = 0};

	while (part && statfs(part, &fs) < 0) {
		slash = strrchr(part, '/');
		if (!slash || slash == part) {
			if (statfs("/", &fs) < 0)
				fs.f_blocks = 0;
			break;
		}
		*slash = '\0';
	}
	free(part);
	return (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
}

struct statedir *statedir_new(
    const char *path, uint64_t need_bytes, struct iopool *pool)
{
	struct statedir *sd = calloc(1, sizeof(*sd));

	if (!sd)
		return NULL;
	sd->path = strdup(path);
	sd->need_bytes = need_bytes;
	sd->pool = pool;
	sd->lock_fd = -1;
	pthread_mutex_init(&sd->lock, NULL);
	if (sd->path)
		return sd;
	statedir_free(sd);
	return NULL;
}

void statedir_set_need(struct statedir *sd, uint64_t need_bytes)
{
	sd->need_bytes = need_bytes;
}

void statedir_free(struct statedir *sd)
{
	struct line *l;

	if (!sd)
		return;
	while ((l = SLIST_FIRST(&sd->lines))) {
		SLIST_REMOVE_HEAD(&sd->lines, link);
		free(l->next);
		free(l->server);
		free(l);
	}
	if (sd->lock_fd >= 0)
		close(sd->lock_fd);
	pthread_mutex_destroy(&sd->lock);
	free(sd->path);
	free(sd);
}

/* Whether the lock is on the directory that is there now: another disk may have
 * been mounted over it since. */
static bool still_locked(const struct statedir *sd)
{
	struct stat a, b;

	return sd->lock_fd >= 0 && fstat(sd->lock_fd, &a) == 0 &&
	       stat(sd->path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int take(struct statedir *sd, char *err, size_t errlen)
{
	int rc = make_path(sd->path), fd;

	if (!statedir_check(sd->path, geteuid(), sd->need_bytes, err, errlen))
		return -EINVAL;
	if (rc == 0 && still_locked(sd))
		return 0;
	fd = open(sd->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		rc = rc < 0 ? rc : -errno;
		refuse(sd->path, strerror(-rc), err, errlen);
		return rc;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		rc = errno == EWOULDBLOCK ? -EINVAL : -errno;
		refuse(sd->path,
		    rc == -EINVAL
			? "another forefetchd uses it; each needs its own"
			: strerror(-rc),
		    err, errlen);
		close(fd);
		return rc;
	}
	if (sd->lock_fd >= 0)
		close(sd->lock_fd);
	sd->lock_fd = fd;
	sd->taken = true;
	return 0;
}

int statedir_take(struct statedir *sd, char *err, size_t errlen)
{
	int rc;

	pthread_mutex_lock(&sd->lock);
	rc = take(sd, err, errlen);
	pthread_mutex_unlock(&sd->lock);
	return rc;
}

bool statedir_taken(const struct statedir *sd)
{
	return sd->taken;
}

int statedir_make_server(const struct statedir *sd, const char *server)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", sd->path, server);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	if (mkdir(path, 0700) == 0)
		return 1;
	return errno == EEXIST ? 0 : -errno;
}

/* Removes one entry of a tree, for nftw(3). Links are not followed: what they
 * lead to is not ours. */
static int remove_one(
    const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)!remove(path);
	return 0;
}

void statedir_remove_server(const struct statedir *sd, const char *server)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", sd->path, server);

	if (n > 0 && (size_t)n < sizeof(path))
		nftw(path, remove_one, 4, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int statedir_path(const struct statedir *sd, const char *server,
    const char *file, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/%s/%s", sd->path, server, file);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- lines ------------------------------------------------------------ */

int statedir_write_line(const struct statedir *sd, const char *server,
    const char *file, const char *line)
{
	char path[PATH_MAX], *text;
	int rc = statedir_path(sd, server, file, path, sizeof(path));
	int len;

	if (rc < 0)
		return rc;
	len = asprintf(&text, "%s\n", line);
	if (len < 0)
		return -ENOMEM;
	rc = statefile_write(path, text, (size_t)len);
	free(text);
	return rc;
}

static void line_run(struct iopool_job *job)
{
	struct line *l = (struct line *)job;
	char path[PATH_MAX];
	int rc = statedir_path(l->sd, l->server, l->file, path, sizeof(path));

	l->error = 0;
	if (l->aside && rc == 0)
		rc = statefile_set_aside(path);
	if (l->writing)
		l->error =
		    statedir_write_line(l->sd, l->server, l->file, l->writing);
	if (!l->error)
		l->error = rc;
}

static void line_on_written(struct iopool_job *job);

/* Gives the line to a thread, unless that has one, or the directory was not
 * taken. */
static void line_begin(struct line *l)
{
	if ((!l->next && !l->damaged) || l->busy || !l->sd->taken)
		return;
	l->writing = l->next;
	l->next = NULL;
	l->aside = l->damaged;
	l->damaged = false;
	l->busy = true;
	l->job.run = line_run;
	l->job.done = line_on_written;
	iopool_submit(l->sd->pool, &l->job);
}

static void line_on_written(struct iopool_job *job)
{
	struct line *l = (struct line *)job;
	unsigned suppressed;

	free(l->writing);
	l->writing = NULL;
	l->busy = false;
	if (l->error && log_limit_ok(&l->warned, clock_now_us(), &suppressed))
		log_warn("statedir server=%s file=%s suppressed=%u: %s",
		    l->server, l->file, suppressed, strerror(-l->error));
	line_begin(l);
}

/* Finds the line of a file, or makes it; NULL without memory. */
static struct line *line_of(
    struct statedir *sd, const char *server, const char *file)
{
	struct line *l;

	SLIST_FOREACH (l, &sd->lines, link)
		if (strcmp(l->server, server) == 0 &&
		    strcmp(l->file, file) == 0)
			return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->sd = sd;
	l->server = strdup(server);
	l->file = file;
	if (!l->server) {
		free(l);
		return NULL;
	}
	SLIST_INSERT_HEAD(&sd->lines, l, link);
	return l;
}

void statedir_save_line(
    struct statedir *sd, const char *server, const char *file, const char *line)
{
	struct line *l = line_of(sd, server, file);

	if (!l)
		return;
	free(l->next);
	l->next = strdup(line);
	line_begin(l);
}

void statedir_set_aside(
    struct statedir *sd, const char *server, const char *file)
{
	struct line *l = line_of(sd, server, file);

	if (!l)
		return;
	l->damaged = true;
	line_begin(l);
}

bool statedir_is_busy(const struct statedir *sd, const char *server)
{
	const struct line *l;

	SLIST_FOREACH (l, &sd->lines, link)
		if ((l->busy || (l->next && sd->taken)) &&
		    strcmp(l->server, server) == 0)
			return true;
	return false;
}

void statedir_resume(struct statedir *sd)
{
	struct line *l;

	SLIST_FOREACH (l, &sd->lines, link)
		line_begin(l);
}

void statedir_save_addr(struct statedir *sd, const char *server,
    const char *file, const struct netmatch_addr *addr)
{
	char text[NETMATCH_TEXT_MAX];

	netmatch_addr_format(addr, text);
	statedir_save_line(sd, server, file, text);
}
