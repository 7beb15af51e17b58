/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vclock lets virtual time pass only when nothing is under way any more.
 *
 * Bytes that are sent over the loopback device lie in a queue of this
 * processor's until the kernel gives them to their receiver, most of the time
 * at once. A byte that goes the same way comes behind them: vclock waits for
 * that byte where it must know that nothing else is under way. A handshake
 * takes several turns. The byte is spared where the device has sent nothing
 * since: most looks of the loop are such, and a turn costs more than all else
 * that a look does.
 */
#include "scenario/vclock.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/iopool.h"
#include "base/loopwatch.h"
#include "scenario/spare.h"

enum {
	READING_NS = 1000,
	TURNS = 8,          /* of a byte, for a handshake */
	QUIET = 2,          /* looks without an event, for silence */
	LOOKS_MAX = 100000, /* something never comes to rest */
};

/*
 * 2023-11-14, and the machine has been up for four years, longer than the real
 * one: what a thread waits for until then (iopool_wait()), it waits for.
 */
#define EPOCH_NS UINT64_C(1700000000000000000)
#define BOOT_NS  UINT64_C(126000000000000000)
/* Any but 0: xorshift64, Marsaglia, Journal of Statistical Software 8(14). */
#define SEED     UINT64_C(88172645463325252)

static uint64_t now_ns = BOOT_NS;
static uint64_t asleep_ns;
static uint64_t left_ns; /* that vclock_pass() may still let pass */
static uint64_t random_state;
static unsigned events; /* that the loop got */
static struct event_base *loop;
static struct iopool *jobs;
static int ends[2] = {-1, -1};
static int sent_fd = -1;
static bool stopped;

_Thread_local unsigned spare_depth;

/* ---- in place of the C library's and libevent's ------------------------- */

/* Threads read it, too, to write a line of the log. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t ns;

	if (stopped || id == CLOCK_PROCESS_CPUTIME_ID ||
	    id == CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, id, ts);
	ns = __atomic_add_fetch(&now_ns, READING_NS, __ATOMIC_RELAXED);
	if (id == CLOCK_BOOTTIME || id == CLOCK_REALTIME ||
	    id == CLOCK_REALTIME_COARSE)
		ns += asleep_ns;
	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
		ns += EPOCH_NS;
	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

static int look(int fd, struct epoll_event *list, int max, const sigset_t *mask)
{
	return (int)syscall(SYS_epoll_pwait, fd, list, max, 0, mask, _NSIG / 8);
}

static void go_on(int timeout_ms)
{
	uint64_t ns = timeout_ms < 0 ? left_ns : (uint64_t)timeout_ms * 1000000;

	if (ns > left_ns)
		ns = left_ns;
	now_ns += ns;
	left_ns -= ns;
	if (left_ns == 0)
		event_base_loopbreak(loop);
}

static void turn(void)
{
	char byte = 0;

	if (send(ends[0], &byte, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
		abort();
}

/* Whether anything was sent over the loopback device since this was asked last
 * and said no, by whomever: true where nobody can tell. */
static bool was_sent(void)
{
	static char last[32];
	char now[sizeof(last)] = "";

	if (sent_fd < 0 || pread(sent_fd, now, sizeof(now) - 1, 0) <= 0)
		return true;
	if (strcmp(now, last) == 0)
		return false;
	strcpy(last, now);
	return true;
}

static void wait_for_packets(void)
{
	spare_begin();
	if (was_sent()) {
		for (int i = 0; i < TURNS; i++)
			turn();
		(void)was_sent();
	}
	spare_end();
}

/* Code under test runs in there, so it is not spared. False where there is
 * nothing that could ever happen. */
static bool run_loop(int flags)
{
	unsigned depth = spare_depth;
	bool some;

	spare_depth = 0;
	some = event_base_loop(loop, flags) != 1;
	if (jobs)
		iopool_drain(jobs);
	spare_depth = depth;
	return some;
}

int epoll_pwait(int fd, struct epoll_event *list, int max, int timeout,
    const sigset_t *mask)
{
	int n = look(fd, list, max, mask);

	if (n == 0 && timeout != 0) {
		wait_for_packets();
		n = look(fd, list, max, mask);
		if (n == 0)
			go_on(timeout);
	}
	events += n > 0;
	return n;
}

/* Backoffs, XIDs and ports are the same in each run. */
void evutil_secure_rng_get_bytes(void *buf, size_t n)
{
	uint64_t x = random_state;
	unsigned char *to = buf;

	while (n-- > 0) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		*to++ = (unsigned char)(x >> 32);
	}
	random_state = x;
}

/* ---- for tests --------------------------------------------------------- */

/* All that is sent goes through one processor's queue. */
static void stay_here(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0u : (unsigned)cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void open_ends(void)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ends[0] < 0 || bind(fd, (void *)&at, len) < 0 ||
	    listen(fd, 1) < 0 || getsockname(fd, (void *)&at, &len) < 0 ||
	    connect(ends[0], (void *)&at, len) < 0)
		abort();
	ends[1] = accept(fd, NULL, NULL);
	close(fd);
	sent_fd = open(
	    "/sys/class/net/lo/statistics/tx_packets", O_RDONLY | O_CLOEXEC);
}

void vclock_start(struct event_base *base)
{
	if (ends[0] < 0) {
		stay_here();
		open_ends();
	}
	/* So that it is linked: libevent calls epoll_wait() of loopwatch.c,
	 * and that the one here. */
	loopwatch_free(NULL);
	now_ns = BOOT_NS;
	asleep_ns = 0;
	random_state = SEED;
	loop = base;
	jobs = NULL;
	stopped = false;
}

void vclock_stop(void)
{
	stopped = true;
}

void vclock_set_pool(struct iopool *pool)
{
	jobs = pool;
}

void vclock_settle(void)
{
	unsigned looks = 0;

	for (int quiet = 0; quiet < QUIET; quiet = events ? 0 : quiet + 1) {
		if (++looks > LOOKS_MAX) {
			fprintf(stderr, "vclock: it never settles\n");
			abort();
		}
		events = 0;
		run_loop(EVLOOP_NONBLOCK);
		wait_for_packets();
	}
}

void vclock_pass(uint64_t us)
{
	vclock_settle();
	left_ns = us * 1000;
	while (left_ns > 0) {
		if (!run_loop(EVLOOP_ONCE))
			go_on(-1);
		vclock_settle();
	}
}

void vclock_sleep(uint64_t us)
{
	vclock_settle();
	asleep_ns += us * 1000;
}

uint64_t vclock_wall_ns(void)
{
	return EPOCH_NS + now_ns + asleep_ns;
}
