/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that are counted, and how each of them fails. */
#include "sweep/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <event2/event.h>

#include "scenario/spare.h"

enum { COUNTERS_MAX = 1024 };

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static enum faults_kind kind_wanted;
static uint64_t number_wanted;
static uint64_t counted;
static struct faults_point *at;

static bool is_the_one(enum faults_kind kind, const char *call, int error)
{
	uint64_t n;

	if (!at || kind != kind_wanted || spare_depth > 0)
		return false;
	n = __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
	if (n != number_wanted)
		return false;
	snprintf(at->call, sizeof(at->call), "%s", call);
	at->error = error;
	(void)backtrace(at->stack, FAULTS_STACK - 1);
	return true;
}

static bool fails(const char *call, int error)
{
	if (!is_the_one(FAULTS_ERROR, call, error))
		return false;
	errno = error;
	return true;
}

/* How much of `len` a short read or write does. */
static size_t part(const char *call, size_t len)
{
	if (len < 2 || !is_the_one(FAULTS_SHORT, call, 0))
		return len;
	return len / 2;
}

uint64_t faults_count(void)
{
	return __atomic_load_n(&counted, __ATOMIC_RELAXED);
}

/* ---- memory ---------------------------------------------------------------
 * By --wrap: calls of the code under test alone, so that sanitizers keep their
 * own allocator.
 */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n)
{
	if (fails("malloc", ENOMEM))
		return NULL;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	if (fails("calloc", ENOMEM))
		return NULL;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	if (fails("realloc", ENOMEM))
		return NULL;
	return __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	if (fails("reallocarray", ENOMEM))
		return NULL;
	return __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	if (fails("strdup", ENOMEM))
		return NULL;
	return __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	if (fails("strndup", ENOMEM))
		return NULL;
	return __real_strndup(s, n);
}

static void *libevent_malloc(size_t n)
{
	if (fails("malloc (libevent)", ENOMEM))
		return NULL;
	return __real_malloc(n);
}

static void *libevent_realloc(void *p, size_t n)
{
	if (fails("realloc (libevent)", ENOMEM))
		return NULL;
	return __real_realloc(p, n);
}

void faults_begin(
    enum faults_kind kind, uint64_t number, struct faults_point *point)
{
	kind_wanted = kind;
	number_wanted = number;
	/* The first one loads a library. */
	(void)backtrace(point->stack, 1);
	point->stack[0] = NULL;
	at = point;
	event_set_mem_functions(libevent_malloc, libevent_realloc, free);
}

void *mmap(void *to, size_t len, int prot, int flags, int fd, off_t off)
{
	if (fails("mmap", ENOMEM))
		return MAP_FAILED;
	return NEXT(mmap)(to, len, prot, flags, fd, off);
}

int mincore(void *from, size_t len, unsigned char *pages)
{
	if (fails("mincore", EPERM))
		return -1;
	return NEXT(mincore)(from, len, pages);
}

/* Only harms the machine that runs this. */
int mlockall(int flags)
{
	(void)flags;
	return 0;
}

/* ---- files ----------------------------------------------------------------
 */

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if (fails("open", EIO))
		return -1;
	va_start(ap, flags);
	mode = (flags & O_CREAT) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return NEXT(open)(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if (fails("openat", EIO))
		return -1;
	va_start(ap, flags);
	mode = (flags & O_CREAT) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return NEXT(openat)(dir, path, flags, mode);
}

/* What <fcntl.h> calls where the mode is left out, with checks of sizes. */
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);

int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

int __openat_2(int dir, const char *path, int flags)
{
	return openat(dir, path, flags);
}

FILE *fopen(const char *path, const char *mode)
{
	if (fails("fopen", EIO))
		return NULL;
	return NEXT(fopen)(path, mode);
}

/* Reading and writing the counter of an eventfd cannot fail, nor what libevent
 * keeps for signals. */
static bool is_counter[COUNTERS_MAX];

static bool spared(int fd)
{
	return fd >= 0 && fd < COUNTERS_MAX && is_counter[fd];
}

int eventfd(unsigned n, int flags)
{
	int fd;

	if (fails("eventfd", EMFILE))
		return -1;
	fd = NEXT(eventfd)(n, flags);
	if (fd >= 0 && fd < COUNTERS_MAX)
		is_counter[fd] = true;
	return fd;
}

int socketpair(int family, int type, int protocol, int fds[2])
{
	int rc;

	if (fails("socketpair", EMFILE))
		return -1;
	rc = NEXT(socketpair)(family, type, protocol, fds);
	for (int i = 0; rc == 0 && i < 2; i++)
		is_counter[fds[i] % COUNTERS_MAX] = true;
	return rc;
}

int pipe2(int fds[2], int flags)
{
	int rc;

	if (fails("pipe2", EMFILE))
		return -1;
	rc = NEXT(pipe2)(fds, flags);
	for (int i = 0; rc == 0 && i < 2; i++)
		is_counter[fds[i] % COUNTERS_MAX] = true;
	return rc;
}

int close(int fd)
{
	if (spared(fd))
		is_counter[fd] = false;
	return NEXT(close)(fd);
}

ssize_t read(int fd, void *to, size_t len)
{
	if (spared(fd))
		return NEXT(read)(fd, to, len);
	if (fails("read", EIO))
		return -1;
	return NEXT(read)(fd, to, part("read", len));
}

ssize_t pread(int fd, void *to, size_t len, off_t off)
{
	if (fails("pread", EIO))
		return -1;
	return NEXT(pread)(fd, to, part("pread", len), off);
}

ssize_t write(int fd, const void *from, size_t len)
{
	if (spared(fd))
		return NEXT(write)(fd, from, len);
	if (fails("write", ENOSPC))
		return -1;
	return NEXT(write)(fd, from, part("write", len));
}

ssize_t pwrite(int fd, const void *from, size_t len, off_t off)
{
	if (fails("pwrite", ENOSPC))
		return -1;
	return NEXT(pwrite)(fd, from, part("pwrite", len), off);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	if (fails("pwritev", ENOSPC))
		return -1;
	if (n > 1 && part("pwritev", (size_t)n) < (size_t)n)
		n /= 2;
	return NEXT(pwritev)(fd, iov, n, off);
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
	if (fails("fallocate", ENOSPC))
		return -1;
	return NEXT(fallocate)(fd, mode, off, len);
}

int posix_fallocate(int fd, off_t off, off_t len)
{
	if (fails("posix_fallocate", ENOSPC))
		return ENOSPC;
	return NEXT(posix_fallocate)(fd, off, len);
}

int ftruncate(int fd, off_t len)
{
	if (fails("ftruncate", EIO))
		return -1;
	return NEXT(ftruncate)(fd, len);
}

int fdatasync(int fd)
{
	if (fails("fdatasync", EIO))
		return -1;
	return NEXT(fdatasync)(fd);
}

int fsync(int fd)
{
	if (fails("fsync", EIO))
		return -1;
	return NEXT(fsync)(fd);
}

int rename(const char *from, const char *to)
{
	if (fails("rename", EIO))
		return -1;
	return NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode)
{
	if (fails("mkdir", ENOSPC))
		return -1;
	return NEXT(mkdir)(path, mode);
}

int unlink(const char *path)
{
	if (fails("unlink", EIO))
		return -1;
	return NEXT(unlink)(path);
}

int unlinkat(int dir, const char *path, int flags)
{
	if (fails("unlinkat", EIO))
		return -1;
	return NEXT(unlinkat)(dir, path, flags);
}

int fstat(int fd, struct stat *out)
{
	if (fails("fstat", EIO))
		return -1;
	return NEXT(fstat)(fd, out);
}

int fstatat(int dir, const char *path, struct stat *out, int flags)
{
	if (fails("fstatat", EIO))
		return -1;
	return NEXT(fstatat)(dir, path, out, flags);
}

int statfs(const char *path, struct statfs *out)
{
	if (fails("statfs", EIO))
		return -1;
	return NEXT(statfs)(path, out);
}

/* ---- sockets --------------------------------------------------------------
 */

int socket(int family, int type, int protocol)
{
	if (fails("socket", EMFILE))
		return -1;
	return NEXT(socket)(family, type, protocol);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	if (fails("connect", ENETUNREACH))
		return -1;
	return NEXT(connect)(fd, to, len);
}

int accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	if (fails("accept4", EMFILE))
		return -1;
	return NEXT(accept4)(fd, from, len, flags);
}

int listen(int fd, int backlog)
{
	if (fails("listen", EADDRINUSE))
		return -1;
	return NEXT(listen)(fd, backlog);
}

ssize_t recv(int fd, void *to, size_t len, int flags)
{
	if (spared(fd))
		return NEXT(recv)(fd, to, len, flags);
	if (fails("recv", ECONNRESET))
		return -1;
	return NEXT(recv)(fd, to, part("recv", len), flags);
}

ssize_t send(int fd, const void *from, size_t len, int flags)
{
	if (fails("send", EPIPE))
		return -1;
	return NEXT(send)(fd, from, part("send", len), flags);
}

/* What libevent fills and empties its buffers with. */
ssize_t readv(int fd, const struct iovec *iov, int n)
{
	if (fails("readv", ECONNRESET))
		return -1;
	if (n > 0 && part("readv", iov[0].iov_len) < iov[0].iov_len)
		return NEXT(read)(fd, iov[0].iov_base, iov[0].iov_len / 2);
	return NEXT(readv)(fd, iov, n);
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	if (fails("writev", EPIPE))
		return -1;
	if (n > 0 && part("writev", iov[0].iov_len) < iov[0].iov_len)
		return NEXT(write)(fd, iov[0].iov_base, iov[0].iov_len / 2);
	return NEXT(writev)(fd, iov, n);
}
