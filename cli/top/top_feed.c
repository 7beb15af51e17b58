/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that asks; a sample that was not taken gives way to the next. */
#include "top/top_feed.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct top_feed {
	struct top_asker *asker;
	double interval_s;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t stopped;
	struct top_sample *last; /* NULL: it was taken */
	bool stop;
	int fd;
};

static void publish(struct top_feed *f, struct top_sample *s)
{
	const uint64_t one = 1;

	top_sample_free(f->last);
	f->last = s;
	/* It can only fail where it is readable already. */
	if (write(f->fd, &one, sizeof(one)) < 0)
		return;
}

/* To be called with the lock; `at` is when the next sample is due. */
static void rest(struct top_feed *f, struct timespec *at)
{
	struct timespec now;
	double whole = (double)(time_t)f->interval_s;

	at->tv_sec += (time_t)whole;
	at->tv_nsec += (long)((f->interval_s - whole) * 1e9);
	if (at->tv_nsec >= 1000000000) {
		at->tv_nsec -= 1000000000;
		at->tv_sec++;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	/* What is late is left out. */
	if (at->tv_sec < now.tv_sec)
		*at = now;
	while (!f->stop &&
	       pthread_cond_timedwait(&f->stopped, &f->lock, at) != ETIMEDOUT)
		continue;
}

static void *run(void *arg)
{
	struct top_feed *f = arg;
	struct timespec at;
	struct top_sample *s;

	clock_gettime(CLOCK_MONOTONIC, &at);
	pthread_mutex_lock(&f->lock);
	for (rest(f, &at); !f->stop; rest(f, &at)) {
		pthread_mutex_unlock(&f->lock);
		s = top_ask(f->asker);
		pthread_mutex_lock(&f->lock);
		publish(f, s);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void make_lock(struct top_feed *f)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->stopped, &attr);
	pthread_condattr_destroy(&attr);
}

/* Signals are the main thread's. */
static int begin(struct top_feed *f)
{
	sigset_t all, was;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	error = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return error;
}

static void dispose(struct top_feed *f)
{
	pthread_cond_destroy(&f->stopped);
	pthread_mutex_destroy(&f->lock);
	if (f->fd >= 0)
		close(f->fd);
	top_sample_free(f->last);
	top_asker_free(f->asker);
	free(f);
}

struct top_feed *top_feed_new(
    const char *socket, const char *server, double interval_s, uint32_t past)
{
	struct top_feed *f = calloc(1, sizeof(*f));
	int error = ENOMEM;

	if (!f) {
		errno = error;
		return NULL;
	}
	make_lock(f);
	f->interval_s = interval_s;
	f->asker = top_asker_new(socket, server);
	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->fd < 0)
		error = errno;
	else if (f->asker) {
		top_asker_past(f->asker, past);
		error = begin(f);
	}
	if (!error)
		return f;
	dispose(f);
	errno = error;
	return NULL;
}

void top_feed_free(struct top_feed *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_signal(&f->stopped);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	dispose(f);
}

int top_feed_fd(const struct top_feed *f)
{
	return f->fd;
}

struct top_sample *top_feed_take(struct top_feed *f)
{
	struct top_sample *s;
	uint64_t count;

	if (read(f->fd, &count, sizeof(count)) < 0)
		return NULL;
	pthread_mutex_lock(&f->lock);
	s = f->last;
	f->last = NULL;
	pthread_mutex_unlock(&f->lock);
	return s;
}
