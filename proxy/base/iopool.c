/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two lists under one mutex: jobs to run, and jobs that have run. An eventfd
 * tells the loop of the second; libevent itself is used by the loop's thread
 * only, so evthread is not needed.
 */
#include "base/iopool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

STAILQ_HEAD(iopool_list, iopool_job);

/* The daemon locks its memory, stacks too, of which glibc would make 8 MiB for
 * each thread. Jobs have buffers of 32 KiB on theirs (datacache_sum.c). */
enum { STACK_BYTES = 256 << 10 };

struct iopool {
	pthread_mutex_t lock; /* guards all members down to `stop` */
	/* Signalled for each job that is given, and each that has run. */
	pthread_cond_t given;
	pthread_cond_t ran;
	struct iopool_list todo;
	struct iopool_list slow; /* slow jobs that wait for a thread */
	struct iopool_list finished;
	unsigned slow_room; /* how many more slow jobs may run now */
	bool stop;
	/* The rest is the loop's thread's alone. */
	unsigned out; /* jobs given whose done() was not called yet */
	/* The pool whose threads these are; itself, unless shared. */
	struct iopool *root;
	struct event *ev;
	int efd;
	unsigned threads;
	pthread_t thread[];
};

static struct iopool_job *iopool_take(struct iopool *pool)
{
	struct iopool_list *list = &pool->todo;
	struct iopool_job *job = STAILQ_FIRST(list);

	if (!job && pool->slow_room > 0) {
		list = &pool->slow;
		job = STAILQ_FIRST(list);
	}
	if (!job)
		return NULL;
	STAILQ_REMOVE_HEAD(list, link);
	pool->slow_room -= job->slow;
	return job;
}

static void *iopool_thread(void *arg)
{
	static const uint64_t one = 1;
	struct iopool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct iopool_job *job = iopool_take(pool);
		bool first;

		/* If slow jobs are left, a thread that runs one now takes the
		 * next when it is done. */
		if (!job && pool->stop)
			break;
		if (!job) {
			pthread_cond_wait(&pool->given, &pool->lock);
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		job->run(job);
		pthread_mutex_lock(&pool->lock);
		pool->slow_room += job->slow;
		first = STAILQ_EMPTY(&pool->finished);
		STAILQ_INSERT_TAIL(&pool->finished, job, link);
		pthread_cond_signal(&pool->ran);
		/* The counter cannot overflow: it is raised once for each list
		 * that the loop takes. */
		if (first && write(pool->efd, &one, sizeof(one)) < 0)
			abort();
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Calls done() of the jobs that have run. A done() may submit jobs; these are
 * reaped in the next turn. */
static void iopool_reap(struct iopool *pool)
{
	struct iopool_list list = STAILQ_HEAD_INITIALIZER(list);
	struct iopool_job *job;

	pthread_mutex_lock(&pool->lock);
	STAILQ_CONCAT(&list, &pool->finished);
	pthread_mutex_unlock(&pool->lock);
	while ((job = STAILQ_FIRST(&list))) {
		STAILQ_REMOVE_HEAD(&list, link);
		pool->out--;
		if (job->of != pool)
			job->of->out--;
		job->done(job);
	}
}

static void iopool_on_event(evutil_socket_t fd, short what, void *arg)
{
	uint64_t n;

	(void)what;
	if (read((int)fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		abort();
	iopool_reap(arg);
}

/* Ends the threads, which first run what is left, and frees the pool. */
static void iopool_stop(struct iopool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->given);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->threads; i++)
		pthread_join(pool->thread[i], NULL);
	if (pool->ev)
		event_free(pool->ev);
	if (pool->efd >= 0)
		close(pool->efd);
	pthread_cond_destroy(&pool->ran);
	pthread_cond_destroy(&pool->given);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* Starts the threads; 0 or an errno. Signals are for the loop, so they are made
 * under a mask of all, which they inherit. */
static int iopool_start(struct iopool *pool, unsigned threads)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (rc == 0 && pool->threads < threads) {
		rc = pthread_create(
		    &pool->thread[pool->threads], &attr, iopool_thread, pool);
		if (rc == 0)
			pool->threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

struct iopool *iopool_new(struct event_base *base, unsigned threads)
{
	struct iopool *pool =
	    calloc(1, sizeof(*pool) + threads * sizeof(pool->thread[0]));
	pthread_condattr_t attr;
	int err = 0;

	assert(threads > 0);
	if (!pool)
		return NULL;
	pool->root = pool;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->given, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->ran, &attr);
	pthread_condattr_destroy(&attr);
	STAILQ_INIT(&pool->todo);
	STAILQ_INIT(&pool->slow);
	pool->slow_room = (threads + 1) / 2;
	STAILQ_INIT(&pool->finished);
	pool->efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pool->efd < 0)
		err = errno;
	if (!err) {
		pool->ev = event_new(base, pool->efd, EV_READ | EV_PERSIST,
		    iopool_on_event, pool);
		if (!pool->ev || event_add(pool->ev, NULL) < 0)
			err = ENOMEM;
	}
	if (!err)
		err = iopool_start(pool, threads);
	if (!err)
		return pool;
	iopool_stop(pool);
	errno = err;
	return NULL;
}

struct iopool *iopool_share(struct iopool *pool)
{
	struct iopool *share = calloc(1, sizeof(*share));

	if (share)
		share->root = pool->root;
	return share;
}

size_t iopool_jobs(const struct iopool *pool)
{
	return pool->out;
}

void iopool_free(struct iopool *pool)
{
	if (!pool)
		return;
	iopool_drain(pool);
	if (pool->root == pool)
		iopool_stop(pool);
	else
		free(pool);
}

void iopool_submit(struct iopool *pool, struct iopool_job *job)
{
	struct iopool *root = pool->root;

	job->of = pool;
	root->out++;
	if (pool != root)
		pool->out++;
	pthread_mutex_lock(&root->lock);
	assert(!root->stop);
	STAILQ_INSERT_TAIL(job->slow ? &root->slow : &root->todo, job, link);
	pthread_mutex_unlock(&root->lock);
	/* The thread is woken behind the lock, which it takes first. */
	pthread_cond_signal(&root->given);
}

void iopool_drain(struct iopool *pool)
{
	struct iopool *root = pool->root;

	while (pool->out > 0) {
		pthread_mutex_lock(&root->lock);
		while (STAILQ_EMPTY(&root->finished))
			pthread_cond_wait(&root->ran, &root->lock);
		pthread_mutex_unlock(&root->lock);
		iopool_reap(root);
	}
}

bool iopool_wait(struct iopool *pool, const bool *over, uint64_t us)
{
	struct iopool *root = pool->root;
	struct timespec end;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)(us / 1000000);
	end.tv_nsec += (long)(us % 1000000) * 1000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	while (!*over && rc == 0) {
		pthread_mutex_lock(&root->lock);
		while (rc == 0 && STAILQ_EMPTY(&root->finished))
			rc = pthread_cond_timedwait(
			    &root->ran, &root->lock, &end);
		pthread_mutex_unlock(&root->lock);
		iopool_reap(root);
	}
	return *over;
}
