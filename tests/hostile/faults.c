/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: a disk that fails. A fault is there while a file of its name
 * is in $FF_FAULTS, and is about what lies below $FF_FAULTS_DISK:
 *
 *   hang       every call waits until the fault is gone
 *   hang-read  … every read of a segment
 *   hang-trees … every opening of learned trees
 *   eio        every call fails
 *   erofs      every change fails
 *   enospc     all that takes space fails
 *   mincore-absent    no page is ever in memory
 *   mincore-refused   as by a filter of system calls
 *
 * A file of the name `leaves` is no fault: a daemon that ends may wait for its
 * disk. While it is not there, these calls by the first thread, where a daemon
 * has its loop, are noted in $FF_FAULTS_DISK.loop, with their callers.
 *
 * And for programs that look at what is mounted: a file of $FF_MOUNTS in the
 * place of /proc/self/mounts.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

enum use { READS = 1, CHANGES = 2, GROWS = 4, LOOKS = 8 };

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

static bool fault(const char *name)
{
	const char *dir = getenv("FF_FAULTS");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "", name);
	return dir && faccessat(AT_FDCWD, path, F_OK, 0) == 0;
}

static bool below(const char *path)
{
	const char *disk = getenv("FF_FAULTS_DISK");

	return disk && strncmp(path, disk, strlen(disk)) == 0;
}

static bool fd_below(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return below(path);
}

/* Notes which functions the loop came here by. */
static void note_loop(void)
{
	static __thread bool busy;
	char path[PATH_MAX];
	void *callers[24];
	int n, fd;

	if (busy || gettid() != getpid() || fault("leaves"))
		return;
	busy = true;
	n = backtrace(callers, 24);
	snprintf(path, sizeof(path), "%s.loop", getenv("FF_FAULTS_DISK"));
	fd = (int)syscall(SYS_openat, AT_FDCWD, path,
	    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	backtrace_symbols_fd(callers + 2, n - 2, fd);
	syscall(SYS_write, fd, "\n", 1);
	syscall(SYS_close, fd);
	busy = false;
}

/* 0, or -1 and errno. */
static int suffer(bool ours, unsigned use)
{
	int err = 0;

	if (!ours)
		return 0;
	note_loop();
	while (fault("hang") || ((use & READS) && fault("hang-read")))
		usleep(2000);
	if (fault("eio"))
		err = EIO;
	else if ((use & CHANGES) && fault("erofs"))
		err = EROFS;
	else if ((use & GROWS) && fault("enospc"))
		err = ENOSPC;
	errno = err;
	return err ? -1 : 0;
}

static unsigned open_use(int flags)
{
	unsigned use = LOOKS;

	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT))
		use |= CHANGES;
	return (flags & O_CREAT) ? use | GROWS : use;
}

static bool loads_trees(const char *path, int flags)
{
	const char *name = strrchr(path, '/');

	return name && strcmp(name, "/trees") == 0 && below(path) &&
	       (flags & O_ACCMODE) == O_RDONLY;
}

int openat(int dirfd, const char *path, int flags, ...)
{
	bool ours = path[0] == '/' ? below(path) : fd_below(dirfd);
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = (flags & O_CREAT) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (suffer(ours, open_use(flags)) < 0)
		return -1;
	return NEXT(int (*)(int, const char *, int, ...), "openat")(
	    dirfd, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = (flags & O_CREAT) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	while (loads_trees(path, flags) && fault("hang-trees"))
		usleep(2000);
	if (suffer(below(path), open_use(flags)) < 0)
		return -1;
	return NEXT(int (*)(const char *, int, ...), "open")(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	const char *mounts = getenv("FF_MOUNTS");

	if (mounts && strcmp(path, "/proc/self/mounts") == 0)
		path = mounts;
	return NEXT(FILE * (*)(const char *, const char *), "fopen")(
	    path, mode);
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	if (suffer(fd_below(fd), READS) < 0)
		return -1;
	return NEXT(ssize_t(*)(int, void *, size_t, off_t), "pread")(
	    fd, buf, len, at);
}

ssize_t read(int fd, void *buf, size_t len)
{
	if (suffer(fd_below(fd), LOOKS) < 0)
		return -1;
	return NEXT(ssize_t(*)(int, void *, size_t), "read")(fd, buf, len);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	if (suffer(fd_below(fd), CHANGES | GROWS) < 0)
		return -1;
	return NEXT(ssize_t(*)(int, const void *, size_t, off_t), "pwrite")(
	    fd, buf, len, at);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
	if (suffer(fd_below(fd), CHANGES | GROWS) < 0)
		return -1;
	return NEXT(ssize_t(*)(int, const struct iovec *, int, off_t),
	    "pwritev")(fd, iov, n, at);
}

ssize_t write(int fd, const void *buf, size_t len)
{
	if (suffer(fd_below(fd), CHANGES | GROWS) < 0)
		return -1;
	return NEXT(ssize_t(*)(int, const void *, size_t), "write")(
	    fd, buf, len);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
	if (suffer(fd_below(fd), CHANGES | GROWS) < 0)
		return -1;
	return NEXT(int (*)(int, int, off_t, off_t), "fallocate")(
	    fd, mode, at, len);
}

int mkdir(const char *path, mode_t mode)
{
	/* mkdir() finds a path that exists before it would change anything, so
	 * a full or read-only disk does not fail it then. */
	unsigned use =
	    faccessat(AT_FDCWD, path, F_OK, 0) == 0 ? LOOKS : CHANGES | GROWS;

	if (suffer(below(path), use) < 0)
		return -1;
	return NEXT(int (*)(const char *, mode_t), "mkdir")(path, mode);
}

int rename(const char *from, const char *to)
{
	if (suffer(below(to), CHANGES) < 0)
		return -1;
	return NEXT(int (*)(const char *, const char *), "rename")(from, to);
}

int unlink(const char *path)
{
	if (suffer(below(path), CHANGES) < 0)
		return -1;
	return NEXT(int (*)(const char *), "unlink")(path);
}

int unlinkat(int dirfd, const char *path, int flags)
{
	if (suffer(path[0] == '/' ? below(path) : fd_below(dirfd), CHANGES) < 0)
		return -1;
	return NEXT(int (*)(int, const char *, int), "unlinkat")(
	    dirfd, path, flags);
}

int fsync(int fd)
{
	if (suffer(fd_below(fd), CHANGES) < 0)
		return -1;
	return NEXT(int (*)(int), "fsync")(fd);
}

int sync_file_range(int fd, off_t at, off_t len, unsigned flags)
{
	if (flags != 0 && suffer(fd_below(fd), CHANGES) < 0)
		return -1;
	return NEXT(int (*)(int, off_t, off_t, unsigned), "sync_file_range")(
	    fd, at, len, flags);
}

int fdatasync(int fd)
{
	if (suffer(fd_below(fd), CHANGES) < 0)
		return -1;
	return NEXT(int (*)(int), "fdatasync")(fd);
}

int statfs(const char *path, struct statfs *out)
{
	if (suffer(below(path), LOOKS) < 0)
		return -1;
	return NEXT(int (*)(const char *, struct statfs *), "statfs")(
	    path, out);
}

int mincore(void *at, size_t len, unsigned char *pages)
{
	if (fault("mincore-refused")) {
		errno = EPERM;
		return -1;
	}
	if (fault("mincore-absent")) {
		memset(pages, 0, (len + 4095) / 4096);
		return 0;
	}
	return NEXT(int (*)(void *, size_t, unsigned char *), "mincore")(
	    at, len, pages);
}
