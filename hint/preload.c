/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An example of the library's use, for programs that cannot be changed:
 *
 *	LD_PRELOAD=libforefetch_preload.so PROGRAM
 *
 * turns posix_fadvise(fd, offset, len, POSIX_FADV_WILLNEED) and
 * readahead(fd, offset, count) on files of NFSv3 mounts into hints, in place of
 * the kernel's own readahead, which would request all of it at once. Calls that
 * cannot be hints go to the kernel as usual.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "forefetch_hint.h"

#define API __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct forefetch_hint *stream;
static pid_t stream_pid;

/* The stream of this process: a child opens its own, and leaves its parent's
 * alone. NULL while another thread opens it, since the caller must not wait. */
static struct forefetch_hint *my_stream(void)
{
	struct forefetch_hint *h;

	if (pthread_mutex_trylock(&lock) != 0)
		return NULL;
	if (stream_pid != getpid()) {
		stream = forefetch_hint_open(NULL);
		stream_pid = getpid();
	}
	h = stream;
	pthread_mutex_unlock(&lock);
	return h;
}

/* The lock is held during a fork, so that the child finds it free. */
static void hold(void)
{
	pthread_mutex_lock(&lock);
}

static void release(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void begin(void)
{
	(void)pthread_atfork(hold, release, release);
}

/* Turns a range of an open file into a hint; false where it cannot be one: the
 * file has no path, the stream is busy, or the library refuses. Then the kernel
 * is asked as usual. */
static bool is_hint(int fd, off64_t offset, off64_t len)
{
	char link[32], path[PATH_MAX];
	struct forefetch_hint *h;
	int error = errno;
	bool done = false;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = offset < 0 || len < 0 ? -1 : readlink(link, path, sizeof(path));
	if (n > 0 && n < (ssize_t)sizeof(path) && *path == '/') {
		path[n] = '\0';
		h = my_stream();
		done = h && forefetch_hint_add(
				h, path, (uint64_t)offset, (uint64_t)len) == 0;
	}
	errno = error;
	return done;
}

API int posix_fadvise64(int fd, off64_t offset, off64_t len, int advice)
{
	int error = errno, rc = 0;

	if (advice == POSIX_FADV_WILLNEED && is_hint(fd, offset, len))
		return 0;
	if (syscall(SYS_fadvise64, fd, offset, len, advice) < 0)
		rc = errno;
	errno = error;
	return rc;
}

API int posix_fadvise(int fd, off_t offset, off_t len, int advice)
{
	return posix_fadvise64(fd, offset, len, advice);
}

API ssize_t readahead(int fd, off64_t offset, size_t count)
{
	if (count <= SSIZE_MAX && count > 0 &&
	    is_hint(fd, offset, (off64_t)count))
		return 0;
	return syscall(SYS_readahead, fd, offset, count);
}
