/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A few threads that wait for the disk, so that the event loop does not.
 * They know only jobs: a function to run there, and one to call with the
 * outcome on the loop. Jobs of one pool start in the order in which they
 * were given, slow ones behind others, and may finish in any.
 */
#ifndef FOREFETCH_IOPOOL_H
#define FOREFETCH_IOPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct event_base;
struct iopool;

/* A part of the struct of whoever wants something done: zeros, but for what he
 * sets. It must stay where it is until done(). */
struct iopool_job {
	STAILQ_ENTRY(iopool_job) link;
	struct iopool *of; /* private */
	/* Nobody waits for it, and it may take seconds: jobs like it get half
	 * of the threads at most, rounded up. */
	bool slow;
	/* Runs in a thread: it may block, and touches nothing that the loop may
	 * touch. */
	void (*run)(struct iopool_job *job);
	/* Runs on the loop, after run. It may give the job again, or free it.
	 */
	void (*done)(struct iopool_job *job);
};

/* Starts `threads` threads, at least one; NULL and errno on failure. All
 * signals are blocked in them. All functions here are for the thread of the
 * loop `base`. */
struct iopool *iopool_new(struct event_base *base, unsigned threads);
/* Makes a pool of the same threads, whose jobs are counted apart: draining it,
 * or freeing it, waits for its own only. It is to be freed before `pool`. NULL
 * and errno without memory. */
struct iopool *iopool_share(struct iopool *pool);
/* Counts the jobs whose done() was not called yet. */
size_t iopool_jobs(const struct iopool *pool);
/* Runs all jobs that were given, and their done(), then ends the threads,
 * unless they belong to another pool. Blocks. NULL is allowed. */
void iopool_free(struct iopool *pool);
/* Gives a job to the threads; it must not be under way. Never blocks, never
 * fails. */
void iopool_submit(struct iopool *pool, struct iopool_job *job);
/* Waits until no job is left, and calls their done(); blocks. It must not be
 * called from within a done(). */
void iopool_drain(struct iopool *pool);
/* The same until a done() sets `*over`, or for `us` microseconds at most.
 * Returns `*over`. */
bool iopool_wait(struct iopool *pool, const bool *over, uint64_t us);

#endif
