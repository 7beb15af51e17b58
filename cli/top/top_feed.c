/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that asks, and a socket between it and the display. Samples go one
 * way, by their addresses: whoever has an address owns the sample. The thread
 * ends when the other end of the socket is closed. Nothing else is shared, so
 * there is no lock. */
#include "top/top_feed.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* One thread. Only `fds` is used by both sides. */
struct top_feed {
	struct top_asker *asker;
	uint64_t interval_us;
	pthread_t thread;
	/* The reader's end, and the thread's. */
	int fds[2];
};

/* Waits until the next sample is due; false where nobody wants it any more,
 * which poll(2) tells by POLLHUP. A sample that is late is left out, so that a
 * daemon that is slow is not asked more often for it. */
static bool rest(struct top_feed *f, uint64_t *due_us)
{
	struct pollfd p = {.fd = f->fds[1]};
	uint64_t now_us = clock_now_us();
	struct timespec left;

	*due_us += f->interval_us;
	/* A sample that is late is left out. */
	if (*due_us < now_us)
		*due_us = now_us;
	left.tv_sec = (time_t)((*due_us - now_us) / 1000000);
	left.tv_nsec = (long)((*due_us - now_us) % 1000000 * 1000);
	return ppoll(&p, 1, &left, NULL) == 0;
}

/* The thread. A reader that is held up misses samples: the socket's buffer
 * holds few, and the newest ones of these are what is missed. */
static void *run(void *arg)
{
	struct top_feed *f = arg;
	uint64_t due_us = clock_now_us();
	struct top_sample *s;

	while (rest(f, &due_us)) {
		s = top_ask(f->asker);
		/* A reader that is held up misses some. */
		if (s && send(f->fds[1], &s, sizeof(s),
			     MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(s))
			top_sample_free(s);
	}
	return NULL;
}

/* Makes the socket and the thread: 0 or an errno. Signals are the main
 * thread's, whose poll(2) they are to end. */
static int begin(struct top_feed *f)
{
	const int few = 1;
	sigset_t all, was;
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f->fds) < 0)
		return errno;
	(void)setsockopt(f->fds[1], SOL_SOCKET, SO_SNDBUF, &few, sizeof(few));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	error = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!error)
		return 0;
	close(f->fds[0]);
	close(f->fds[1]);
	return error;
}

struct top_feed *top_feed_new(
    const char *socket, const char *server, double interval_s, uint32_t past)
{
	struct top_feed *f = calloc(1, sizeof(*f));
	int error = ENOMEM;

	if (f)
		f->asker = top_asker_new(socket, server);
	if (f && f->asker) {
		f->interval_us = (uint64_t)(interval_s * 1e6);
		top_asker_past(f->asker, past);
		error = begin(f);
	}
	if (!error)
		return f;
	if (f)
		top_asker_free(f->asker);
	free(f);
	errno = error;
	return NULL;
}

void top_feed_free(struct top_feed *f)
{
	if (!f)
		return;
	shutdown(f->fds[0], SHUT_RDWR);
	pthread_join(f->thread, NULL);
	top_sample_free(top_feed_take(f));
	close(f->fds[0]);
	close(f->fds[1]);
	top_asker_free(f->asker);
	free(f);
}

int top_feed_fd(const struct top_feed *f)
{
	return f->fds[0];
}

/* Samples before the last one are freed unseen. */
struct top_sample *top_feed_take(struct top_feed *f)
{
	struct top_sample *last = NULL, *next;

	while (recv(f->fds[0], &next, sizeof(next), MSG_DONTWAIT) ==
	       sizeof(next)) {
		top_sample_free(last);
		last = next;
	}
	return last;
}
