/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: a machine that sleeps, as far as a process can tell.
 * CLOCK_BOOTTIME is ahead by what the file $FF_SLEPT says, eight bytes of
 * nanoseconds; and a timer of CLOCK_REALTIME is the FIFO $FF_WOKE, which
 * becomes readable where the kernel would cancel that timer.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

#define SECOND_NS INT64_C(1000000000)

static const volatile int64_t *slept_ns(void)
{
	static const volatile int64_t *at;
	const char *path = getenv("FF_SLEPT");
	void *map = MAP_FAILED;
	int fd;

	if (at || !path)
		return at;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		map = mmap(NULL, sizeof(*at), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		abort();
	close(fd);
	at = map;
	return at;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int (*next)(clockid_t, struct timespec *);
	const volatile int64_t *slept = slept_ns();
	int64_t ns;
	int rc;

	if (!next)
		next = NEXT(
		    int (*)(clockid_t, struct timespec *), "clock_gettime");
	rc = next(clock, ts);
	if (rc == 0 && clock == CLOCK_BOOTTIME && slept) {
		ns = ts->tv_nsec + *slept;
		ts->tv_sec += ns / SECOND_NS;
		ts->tv_nsec = ns % SECOND_NS;
	}
	return rc;
}

int timerfd_create(int clock, int flags)
{
	const char *path = getenv("FF_WOKE");

	if (clock == CLOCK_REALTIME && path)
		return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return NEXT(int (*)(int, int), "timerfd_create")(clock, flags);
}

int timerfd_settime(
    int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		return 0;
	return NEXT(
	    int (*)(int, int, const struct itimerspec *, struct itimerspec *),
	    "timerfd_settime")(fd, flags, new, old);
}
