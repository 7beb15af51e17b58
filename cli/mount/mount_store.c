/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of sections that mounts made: where they are, the lock under which
 * they change, and which of them nobody needs any more. Mounts write as root,
 * and the daemon's user only reads, so whoever can write to these directories
 * decides what root mounts; that is checked each time. */
#include "mount/mount_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/ctl_status.h"
#include "mount/mount_daemon.h"
#include "mount/mount_kernel.h"

/* The directories of one daemon, while the lock is held. */
struct mount_store {
	/* The daemon's first file; all three are allocated. */
	char *config_file;
	char *run_dir;
	char *save_dir;
	/* The descriptor that holds the lock; -1: there is none, as nothing can
	 * be written. */
	int lock;
};

/* ---- directories ------------------------------------------------------ */

/* Makes the directory if it is missing, for the daemon's user to read whatever
 * the umask is, and makes sure that only root can write there. False with a
 * reason. */
static bool open_dir(const char *dir, struct mount_why *why)
{
	struct stat st;

	/* The daemon's user reads there, whatever the umask. */
	if (mkdir(dir, 0755) == 0 ? chmod(dir, 0755) < 0 : errno != EEXIST)
		return mount_refuse(
		    why, "%s cannot be created: %s", dir, strerror(errno));
	if (lstat(dir, &st) < 0)
		return mount_refuse(why, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return mount_refuse(why,
		    "%s must be a directory of root that nobody else may write "
		    "to; find out who created it, and remove it",
		    dir);
	return true;
}

/* A descriptor of the file .NAME, locked by flock(2): the kernel gives the lock
 * back however the process ends. -1 and errno. */
static int open_lock(const char *dir, const char *name, int operation)
{
	char path[PATH_MAX];
	int fd, error;

	snprintf(path, sizeof(path), "%s/.%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	while (fd >= 0 && flock(fd, operation) < 0) {
		if (errno == EINTR)
			continue;
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* DIR/NAME.d of DIR/NAME.conf, where the daemon reads further files. */
static char *dir_of(const char *file)
{
	size_t len = strlen(file);
	char *dir = NULL;

	if (len > 5 && strcmp(file + len - 5, ".conf") == 0)
		len -= 5;
	return asprintf(&dir, "%.*s.d", (int)len, file) < 0 ? NULL : dir;
}

/* A copy; empty bytes of a message may be NULL. */
static char *text_of(const ProtobufCBinaryData *bytes)
{
	/* Empty bytes may be NULL. */
	return bytes->len > 0 ? strndup((const char *)bytes->data, bytes->len)
			      : strdup("");
}

struct mount_store *mount_store_open(
    const Forefetch__Status *status, struct mount_why *why)
{
	struct mount_store *s = calloc(1, sizeof(*s));
	bool good = false;

	if (s) {
		s->config_file = text_of(&status->config_file);
		s->run_dir = text_of(&status->run_dir);
		s->save_dir = s->config_file ? dir_of(s->config_file) : NULL;
		s->lock = -1;
	}
	if (!s || !s->run_dir || !s->save_dir) {
		mount_refuse(why, "out of memory");
	} else if (!*s->run_dir) {
		good = true; /* nothing can be made that needs the lock */
	} else if (open_dir(s->run_dir, why)) {
		s->lock = open_lock(s->run_dir, "lock", LOCK_EX);
		good = s->lock >= 0 ||
		       mount_refuse(why, "%s/.lock cannot be locked: %s",
			   s->run_dir, strerror(errno));
	}
	if (good)
		return s;
	mount_store_close(s);
	return NULL;
}

void mount_store_close(struct mount_store *s)
{
	if (!s)
		return;
	if (s->lock >= 0)
		close(s->lock);
	free(s->config_file);
	free(s->run_dir);
	free(s->save_dir);
	free(s);
}

const char *mount_store_run_dir(const struct mount_store *s)
{
	return s->run_dir;
}

const char *mount_store_save_dir(const struct mount_store *s)
{
	return s->save_dir;
}

struct config *mount_store_load(
    const struct mount_store *s, struct mount_why *why)
{
	struct config_source source = {
	    .file = s->config_file,
	    .run_dir = *s->run_dir ? s->run_dir : NULL,
	};
	char err[CONFIG_ERR_MAX];
	struct config *cfg = config_load(&source, err, sizeof(err));

	if (!cfg)
		mount_refuse(
		    why, "%s; correct it; forefetchd -t checks it", err);
	return cfg;
}

/* ---- files ------------------------------------------------------------ */

/* The path of a file of the section. Directories have 1024 bytes at most
 * (forefetch.conf(5)), names 64. */
static const char *file_of(
    char path[PATH_MAX], const char *dir, const char *name, const char *what)
{
	snprintf(path, PATH_MAX, "%s/%s%s.conf", dir, name, what);
	return path;
}

/* Writes the file whole, under another name that is replaced at the end: the
 * daemon may read at any time. False and errno. */
static bool write_text(const char *file, const char *text)
{
	const char *slash = strrchr(file, '/');
	size_t len = strlen(text);
	char tmp[PATH_MAX + 8];
	bool good;
	int fd, error;

	snprintf(
	    tmp, sizeof(tmp), "%.*s/.%s", (int)(slash - file), file, slash + 1);
	fd = open(
	    tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	good = fd >= 0 && fchmod(fd, 0644) == 0 &&
	       write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;
	if (fd >= 0 && close(fd) < 0)
		good = false;
	if (good && rename(tmp, file) == 0)
		return true;
	error = errno;
	unlink(tmp);
	errno = error;
	return false;
}

/* Whether a mount made it: what a person put there stays. */
static bool is_marked(const char *file)
{
	char line[sizeof(MOUNT_MARK)] = "";
	FILE *in = fopen(file, "re");
	bool marked = in && fgets(line, sizeof(line), in) &&
		      strcmp(line, MOUNT_MARK) == 0;

	if (in)
		fclose(in);
	return marked;
}

/* Writes a file of the section; `text` NULL: it stays as it is; empty: it goes.
 * A file that no mount made is not touched. False with a reason. */
static bool put_file(const char *dir, const char *name, const char *what,
    const char *text, struct mount_why *why)
{
	char file[PATH_MAX];

	if (!text)
		return true;
	if (access(file_of(file, dir, name, what), F_OK) == 0 &&
	    !is_marked(file))
		return !*text ||
		       mount_refuse(why,
			   "%s exists, and no mount created it; write the "
			   "section there yourself, or move the file away",
			   file);
	if (*text ? write_text(file, text)
		  : unlink(file) == 0 || errno == ENOENT)
		return true;
	return mount_refuse(
	    why, "%s cannot be written: %s", file, strerror(errno));
}

bool mount_store_write(
    const char *dir, const struct mount_plan *plan, struct mount_why *why)
{
	if (!plan->server_text && !plan->exports_text)
		return true;
	if (!*dir)
		return mount_refuse(why,
		    "forefetchd was started with -f and without --run-dir, so "
		    "nothing can be added for this run; use --save, or write "
		    "the section yourself, see forefetch.conf(5)");
	if (!open_dir(dir, why))
		return false;
	if (!put_file(dir, plan->name, "", plan->server_text, why))
		return false;
	if (put_file(dir, plan->name, "+exports", plan->exports_text, why))
		return true;
	if (plan->server_text)
		put_file(dir, plan->name, "", "", &(struct mount_why){0});
	return false;
}

/* Copies a file to the directory that stays, and removes it; `*moved` if it was
 * there at all. False with a reason. */
static bool move_file(const struct mount_store *s, const char *name,
    const char *what, bool *moved, struct mount_why *why)
{
	char from[PATH_MAX], to[PATH_MAX], text[1 << 16];
	FILE *in = fopen(file_of(from, s->run_dir, name, what), "re");
	size_t len;

	if (!in)
		return true;
	len = fread(text, 1, sizeof(text) - 1, in);
	text[len] = '\0';
	fclose(in);
	*moved = true;
	if (access(file_of(to, s->save_dir, name, what), F_OK) == 0)
		errno = EEXIST;
	else if (len + 1 == sizeof(text))
		errno = EFBIG;
	else if (write_text(to, text) && unlink(from) == 0)
		return true;
	return mount_refuse(
	    why, "%s cannot become %s: %s", from, to, strerror(errno));
}

bool mount_store_save(const struct mount_store *s, const char *name,
    bool *moved, struct mount_why *why)
{
	*moved = false;
	if (!*s->run_dir)
		return true;
	return open_dir(s->save_dir, why) &&
	       move_file(s, name, "", moved, why) &&
	       move_file(s, name, "+exports", moved, why);
}

void mount_store_remove(const char *dir, const char *name)
{
	struct mount_why why;

	put_file(dir, name, "+exports", "", &why);
	put_file(dir, name, "", "", &why);
}

/* ---- what nobody needs ------------------------------------------------ */

/* Where there is no directory for this run, nothing is ever cleaned away, so
 * any descriptor will do. */
int mount_store_hold(
    const struct mount_store *s, const char *name, struct mount_why *why)
{
	char use[MOUNT_NAME_MAX + 8];
	int fd;

	snprintf(use, sizeof(use), "use-%s", name);
	fd = *s->run_dir ? open_lock(s->run_dir, use, LOCK_SH)
			 : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		mount_refuse(why, "%s/.%s cannot be locked: %s", s->run_dir,
		    use, strerror(errno));
	return fd;
}

/* Whether another process is mounting from that server: it has the lock of the
 * section's use. */
static bool is_held(const struct mount_store *s, const char *name)
{
	char path[PATH_MAX];
	bool held;
	int fd;

	snprintf(path, sizeof(path), "%s/.use-%s", s->run_dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return true;
	held = flock(fd, LOCK_EX | LOCK_NB) < 0;
	if (!held)
		unlink(path);
	close(fd);
	return held;
}

void mount_store_unhold(const struct mount_store *s, const char *name, int fd)
{
	close(fd);
	if (*s->run_dir)
		(void)is_held(s, name);
}

/* Whether a client has a connection to the server, the kernel still has
 * something of it open, or somebody is mounting from it. */
static bool is_used(const struct mount_store *s,
    const struct config_server *srv, const Forefetch__Status *status)
{
	const Forefetch__ServerStatus *now =
	    ctl_server_named(status, srv->name);
	char address[64];
	unsigned port;

	if (now && now->n_clients + now->clients_omitted > 0)
		return true;
	if (mount_plan_listen(srv, address, &port) && mount_kernel_uses(port))
		return true;
	return is_held(s, srv->name);
}

/* Removes a section of ours, or options of ours for a section that is
 * somebody's, if nothing uses the server. */
static bool clean_server(const struct mount_store *s,
    const struct config_server *srv, const Forefetch__Status *status)
{
	char server[PATH_MAX], exports[PATH_MAX];
	bool alone;

	file_of(server, s->run_dir, srv->name, "");
	file_of(exports, s->run_dir, srv->name, "+exports");
	alone = strcmp(server, srv->file) == 0;
	if (!is_marked(alone ? server : exports) || is_used(s, srv, status))
		return false;
	unlink(exports);
	if (alone)
		unlink(server);
	return true;
}

unsigned mount_store_clean(const struct mount_store *s,
    const struct config *cfg, const Forefetch__Status *status)
{
	unsigned removed = 0;

	if (!*s->run_dir)
		return 0;
	for (size_t i = 0; i < cfg->nservers; i++)
		removed += clean_server(s, &cfg->servers[i], status);
	return removed;
}
