/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls themselves, in the place of the C library's. */
#include <dlfcn.h>
#include <errno.h>
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

#include "sweep/faults_private.h"

enum { FDS_MAX = 1024 };

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static bool is_counter[FDS_MAX], is_disk[FDS_MAX];
static const char *disk; /* the path that all files of the disk lie below */

void faults_set_disk(const char *path)
{
	disk = path;
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
	if (faults_hit(OF_MEMORY, "malloc", ENOMEM))
		return NULL;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	if (faults_hit(OF_MEMORY, "calloc", ENOMEM))
		return NULL;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	if (faults_hit(OF_MEMORY, "realloc", ENOMEM))
		return NULL;
	return __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	if (faults_hit(OF_MEMORY, "reallocarray", ENOMEM))
		return NULL;
	return __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	if (faults_hit(OF_MEMORY, "strdup", ENOMEM))
		return NULL;
	return __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	if (faults_hit(OF_MEMORY, "strndup", ENOMEM))
		return NULL;
	return __real_strndup(s, n);
}

static void *libevent_malloc(size_t n)
{
	if (faults_hit(OF_MEMORY, "malloc (libevent)", ENOMEM))
		return NULL;
	return __real_malloc(n);
}

static void *libevent_realloc(void *p, size_t n)
{
	if (faults_hit(OF_MEMORY, "realloc (libevent)", ENOMEM))
		return NULL;
	return __real_realloc(p, n);
}

void faults_set_allocator(void)
{
	event_set_mem_functions(libevent_malloc, libevent_realloc, free);
}

static enum faults_of of_fd(int fd)
{
	return fd >= 0 && fd < FDS_MAX && is_disk[fd] ? OF_DISK : OF_OTHER;
}

static enum faults_of of_path(const char *path)
{
	return disk && strncmp(path, disk, strlen(disk)) == 0 ? OF_DISK
							      : OF_OTHER;
}

static enum faults_of of_at(int dir, const char *path)
{
	return path[0] == '/' ? of_path(path) : of_fd(dir);
}

static int opened(int fd, enum faults_of of)
{
	if (fd >= 0 && fd < FDS_MAX)
		is_disk[fd] = of == OF_DISK;
	return fd;
}

void *mmap(void *to, size_t len, int prot, int flags, int fd, off_t off)
{
	if (faults_hit(of_fd(fd), "mmap", ENOMEM))
		return MAP_FAILED;
	return NEXT(mmap)(to, len, prot, flags, fd, off);
}

int mincore(void *from, size_t len, unsigned char *pages)
{
	if (faults_hit(OF_OTHER, "mincore", EPERM))
		return -1;
	return NEXT(mincore)(from, len, pages);
}

/* ---- files ------------------------------------------------------------- */

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if (faults_hit(of_path(path), "open", EIO))
		return -1;
	va_start(ap, flags);
	mode = (flags & O_CREAT) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return opened(NEXT(open)(path, flags, mode), of_path(path));
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if (faults_hit(of_at(dir, path), "openat", EIO))
		return -1;
	va_start(ap, flags);
	mode = (flags & O_CREAT) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return opened(NEXT(openat)(dir, path, flags, mode), of_at(dir, path));
}

/* <fcntl.h> calls these where the mode is left out, with checks of sizes. */
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
	if (faults_hit(of_path(path), "fopen", EIO))
		return NULL;
	return NEXT(fopen)(path, mode);
}

/* Reading and writing the counter of an eventfd cannot fail, nor what libevent
 * keeps for signals. */
static bool spared(int fd)
{
	return fd >= 0 && fd < FDS_MAX && is_counter[fd];
}

int eventfd(unsigned n, int flags)
{
	int fd;

	if (faults_hit(OF_OTHER, "eventfd", EMFILE))
		return -1;
	fd = NEXT(eventfd)(n, flags);
	if (fd >= 0 && fd < FDS_MAX)
		is_counter[fd] = true;
	return fd;
}

int socketpair(int family, int type, int protocol, int fds[2])
{
	int rc;

	if (faults_hit(OF_OTHER, "socketpair", EMFILE))
		return -1;
	rc = NEXT(socketpair)(family, type, protocol, fds);
	for (int i = 0; rc == 0 && i < 2; i++)
		is_counter[fds[i] % FDS_MAX] = true;
	return rc;
}

int pipe2(int fds[2], int flags)
{
	int rc;

	if (faults_hit(OF_OTHER, "pipe2", EMFILE))
		return -1;
	rc = NEXT(pipe2)(fds, flags);
	for (int i = 0; rc == 0 && i < 2; i++)
		is_counter[fds[i] % FDS_MAX] = true;
	return rc;
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS_MAX)
		is_counter[fd] = is_disk[fd] = false;
	return NEXT(close)(fd);
}

ssize_t read(int fd, void *to, size_t len)
{
	if (spared(fd))
		return NEXT(read)(fd, to, len);
	if (faults_hit(of_fd(fd), "read", EIO))
		return -1;
	return NEXT(read)(fd, to, faults_part("read", len));
}

ssize_t pread(int fd, void *to, size_t len, off_t off)
{
	if (faults_hit(of_fd(fd), "pread", EIO))
		return -1;
	return NEXT(pread)(fd, to, faults_part("pread", len), off);
}

ssize_t write(int fd, const void *from, size_t len)
{
	if (spared(fd))
		return NEXT(write)(fd, from, len);
	if (faults_hit(of_fd(fd), "write", ENOSPC))
		return -1;
	return NEXT(write)(fd, from, faults_part("write", len));
}

ssize_t pwrite(int fd, const void *from, size_t len, off_t off)
{
	if (faults_hit(of_fd(fd), "pwrite", ENOSPC))
		return -1;
	return NEXT(pwrite)(fd, from, faults_part("pwrite", len), off);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	if (faults_hit(of_fd(fd), "pwritev", ENOSPC))
		return -1;
	if (n > 1 && faults_part("pwritev", (size_t)n) < (size_t)n)
		n /= 2;
	return NEXT(pwritev)(fd, iov, n, off);
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
	if (faults_hit(of_fd(fd), "fallocate", ENOSPC))
		return -1;
	return NEXT(fallocate)(fd, mode, off, len);
}

int posix_fallocate(int fd, off_t off, off_t len)
{
	if (faults_hit(of_fd(fd), "posix_fallocate", ENOSPC))
		return ENOSPC;
	return NEXT(posix_fallocate)(fd, off, len);
}

int ftruncate(int fd, off_t len)
{
	if (faults_hit(of_fd(fd), "ftruncate", EIO))
		return -1;
	return NEXT(ftruncate)(fd, len);
}

int fdatasync(int fd)
{
	if (faults_hit(of_fd(fd), "fdatasync", EIO))
		return -1;
	return NEXT(fdatasync)(fd);
}

int fsync(int fd)
{
	if (faults_hit(of_fd(fd), "fsync", EIO))
		return -1;
	return NEXT(fsync)(fd);
}

int rename(const char *from, const char *to)
{
	if (faults_hit(of_path(to), "rename", EIO))
		return -1;
	return NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode)
{
	if (faults_hit(of_path(path), "mkdir", ENOSPC))
		return -1;
	return NEXT(mkdir)(path, mode);
}

int unlink(const char *path)
{
	if (faults_hit(of_path(path), "unlink", EIO))
		return -1;
	return NEXT(unlink)(path);
}

int unlinkat(int dir, const char *path, int flags)
{
	if (faults_hit(of_at(dir, path), "unlinkat", EIO))
		return -1;
	return NEXT(unlinkat)(dir, path, flags);
}

int fstat(int fd, struct stat *out)
{
	if (faults_hit(of_fd(fd), "fstat", EIO))
		return -1;
	return NEXT(fstat)(fd, out);
}

int fstatat(int dir, const char *path, struct stat *out, int flags)
{
	if (faults_hit(of_at(dir, path), "fstatat", EIO))
		return -1;
	return NEXT(fstatat)(dir, path, out, flags);
}

int statfs(const char *path, struct statfs *out)
{
	if (faults_hit(of_path(path), "statfs", EIO))
		return -1;
	return NEXT(statfs)(path, out);
}

/* ---- sockets ----------------------------------------------------------- */

int socket(int family, int type, int protocol)
{
	if (faults_hit(OF_OTHER, "socket", EMFILE))
		return -1;
	return NEXT(socket)(family, type, protocol);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	if (faults_hit(OF_OTHER, "connect", ENETUNREACH))
		return -1;
	return NEXT(connect)(fd, to, len);
}

int accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	if (faults_hit(OF_OTHER, "accept4", EMFILE))
		return -1;
	return NEXT(accept4)(fd, from, len, flags);
}

int listen(int fd, int backlog)
{
	if (faults_hit(OF_OTHER, "listen", EADDRINUSE))
		return -1;
	return NEXT(listen)(fd, backlog);
}

ssize_t recv(int fd, void *to, size_t len, int flags)
{
	if (spared(fd))
		return NEXT(recv)(fd, to, len, flags);
	if (faults_hit(OF_OTHER, "recv", ECONNRESET))
		return -1;
	return NEXT(recv)(fd, to, faults_part("recv", len), flags);
}

ssize_t send(int fd, const void *from, size_t len, int flags)
{
	if (faults_hit(OF_OTHER, "send", EPIPE))
		return -1;
	return NEXT(send)(fd, from, faults_part("send", len), flags);
}

/* libevent fills and empties its buffers with these. */
ssize_t readv(int fd, const struct iovec *iov, int n)
{
	if (faults_hit(OF_OTHER, "readv", ECONNRESET))
		return -1;
	if (n > 0 && faults_part("readv", iov[0].iov_len) < iov[0].iov_len)
		return NEXT(read)(fd, iov[0].iov_base, iov[0].iov_len / 2);
	return NEXT(readv)(fd, iov, n);
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	if (faults_hit(OF_OTHER, "writev", EPIPE))
		return -1;
	if (n > 0 && faults_part("writev", iov[0].iov_len) < iov[0].iov_len)
		return NEXT(write)(fd, iov[0].iov_base, iov[0].iov_len / 2);
	return NEXT(writev)(fd, iov, n);
}
