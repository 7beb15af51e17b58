/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A few threads that wait for the disk, so that the event loop does not.
 * They know only jobs: a function to run there, and one to call with the
 * outcome on the loop. Jobs of one pool start in the order in which they
 * were given and may finish in any.
 */
#ifndef FOREFETCH_IOPOOL_H
#define FOREFETCH_IOPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct event_base;
struct iopool;

/* A part of the struct of whoever wants something done; must stay where it is
 * until done(). */
struct iopool_job {
	STAILQ_ENTRY(iopool_job) link;
	struct iopool *of; /* private */
	/* In a thread: may block; touches nothing that the loop may touch. */
	void (*run)(struct iopool_job *job);
	/* On the loop, after run. May give the job again, or free it. */
	void (*done)(struct iopool_job *job);
};

/* Starts `threads` threads; NULL and errno on failure. All signals are
 * blocked in them. */
struct iopool *iopool_new(struct event_base *base, unsigned threads);
/* The same threads, where the jobs are counted apart: draining it, or freeing
 * it, waits for its own only. To be freed before `pool`. NULL and errno. */
struct iopool *iopool_share(struct iopool *pool);
/* How many jobs are not done. */
size_t iopool_jobs(const struct iopool *pool);
/* Runs all jobs that were given, and their done(), then ends the threads. */
void iopool_free(struct iopool *pool);
void iopool_submit(struct iopool *pool, struct iopool_job *job);
/* Runs jobs and their done() until none is left; blocks. Not from within a
 * done(). */
void iopool_drain(struct iopool *pool);
/* The same until a done() sets `*over`, or for `us` microseconds. Returns
 * `*over`. */
bool iopool_wait(struct iopool *pool, const bool *over, uint64_t us);

#endif
