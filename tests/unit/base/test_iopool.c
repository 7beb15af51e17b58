/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The I/O pool: where jobs run and end, in which order, and that all drain. */
#include "base/iopool.h"

#include <pthread.h>
#include <signal.h>

#include <event2/event.h>

#include "unittest.h"

struct work {
	struct iopool_job job;
	struct iopool *pool;
	struct event_base *base;
	pthread_t ran_in;
	unsigned runs, again;
	unsigned *order, number, *dones;
	bool signals_blocked;
};

static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;

static void work_run(struct iopool_job *job)
{
	struct work *w = (struct work *)job;
	sigset_t set;

	w->ran_in = pthread_self();
	w->runs++;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	w->signals_blocked =
	    sigismember(&set, SIGTERM) && sigismember(&set, SIGXFSZ);
	if (!w->order)
		return;
	pthread_mutex_lock(&order_lock);
	w->number = (*w->order)++;
	pthread_mutex_unlock(&order_lock);
}

static void work_done(struct iopool_job *job)
{
	struct work *w = (struct work *)job;

	++*w->dones;
	if (w->again > 0) {
		w->again--;
		iopool_submit(w->pool, job);
	} else if (w->base) {
		event_base_loopbreak(w->base);
	}
}

static struct work work_make(struct iopool *pool, unsigned *dones)
{
	return (struct work){.job = {.run = work_run, .done = work_done},
	    .pool = pool,
	    .dones = dones};
}

TEST(test_loop)
{
	struct event_base *base = event_base_new();
	struct iopool *pool = iopool_new(base, 2);
	unsigned dones = 0;
	struct work w = work_make(pool, &dones);

	assert_non_null(pool);
	w.again = 3;
	w.base = base;
	iopool_submit(pool, &w.job);
	event_base_dispatch(base);
	assert_int_equal(w.runs, 4);
	assert_int_equal(dones, 4);
	assert_true(w.signals_blocked);
	assert_false(pthread_equal(w.ran_in, pthread_self()));
	iopool_free(pool);
	event_base_free(base);
}

TEST(test_drain_many)
{
	enum { N = 5000 };
	struct event_base *base = event_base_new();
	struct iopool *pool = iopool_new(base, 4);
	FREED struct work *w = calloc(N, sizeof(*w));
	unsigned dones = 0;

	for (unsigned i = 0; i < N; i++) {
		w[i] = work_make(pool, &dones);
		w[i].again = i % 3;
		iopool_submit(pool, &w[i].job);
		if (i % 512 == 0)
			event_base_loop(base, EVLOOP_NONBLOCK);
	}
	iopool_drain(pool);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(w[i].runs, 1 + i % 3);
	/* Nothing left over for the loop. */
	event_base_loop(base, EVLOOP_NONBLOCK);
	iopool_free(pool);
	event_base_free(base);
}

TEST(test_order)
{
	enum { N = 200 };
	struct event_base *base = event_base_new();
	struct iopool *pool = iopool_new(base, 1);
	unsigned dones = 0, order = 0;
	struct work w[N];

	for (unsigned i = 0; i < N; i++) {
		w[i] = work_make(pool, &dones);
		w[i].order = &order;
		iopool_submit(pool, &w[i].job);
	}
	/* Runs what was given. */
	iopool_free(pool);
	assert_int_equal(dones, N);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(w[i].number, i);
	event_base_free(base);
}

/* Waits in a thread until it is told. */
static void stuck_run(struct iopool_job *job)
{
	(void)job;
	pthread_mutex_lock(&order_lock);
	pthread_mutex_unlock(&order_lock);
}

/* One whose jobs are stuck does not hold up another one of the same threads. */
TEST(test_share)
{
	struct event_base *base = event_base_new();
	struct iopool *pool = iopool_new(base, 2);
	struct iopool *one = iopool_share(pool), *two = iopool_share(one);
	unsigned dones = 0, others = 0;
	struct work stuck = work_make(one, &dones);
	struct work w = work_make(two, &others);

	assert_non_null(one);
	assert_non_null(two);
	stuck.job.run = stuck_run;
	pthread_mutex_lock(&order_lock);
	iopool_submit(one, &stuck.job);
	w.again = 3;
	iopool_submit(two, &w.job);
	assert_int_equal(iopool_jobs(one), 1);
	assert_int_equal(iopool_jobs(two), 1);
	assert_int_equal(iopool_jobs(pool), 2);
	iopool_drain(two);
	assert_int_equal(others, 4);
	assert_int_equal(dones, 0);
	assert_int_equal(iopool_jobs(two), 0);
	assert_int_equal(iopool_jobs(one), 1);
	iopool_free(two);
	pthread_mutex_unlock(&order_lock);
	iopool_free(one);
	assert_int_equal(dones, 1);
	assert_int_equal(iopool_jobs(pool), 0);
	iopool_free(pool);
	event_base_free(base);
}

/* While slow jobs are stuck, the pool still runs others; before it is freed, it
 * has run the slow ones, too. */
TEST(test_slow)
{
	enum { THREADS = 4, SLOW = 8 };
	struct event_base *base = event_base_new();
	struct iopool *pool = iopool_new(base, THREADS);
	struct iopool *other = iopool_share(pool);
	unsigned slow_dones = 0, dones = 0;
	struct work slow[SLOW], w = work_make(other, &dones);

	pthread_mutex_lock(&order_lock);
	for (unsigned i = 0; i < SLOW; i++) {
		slow[i] = work_make(pool, &slow_dones);
		slow[i].job.run = stuck_run;
		slow[i].job.slow = true;
		iopool_submit(pool, &slow[i].job);
	}
	w.again = 3;
	iopool_submit(other, &w.job);
	iopool_drain(other);
	assert_int_equal(dones, 4);
	assert_int_equal(slow_dones, 0);
	pthread_mutex_unlock(&order_lock);
	iopool_free(other);
	iopool_free(pool);
	assert_int_equal(slow_dones, SLOW);
	event_base_free(base);
}

TEST(test_none_is_freed)
{
	iopool_free(NULL);
}
