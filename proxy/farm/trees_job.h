/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads open and make sealed values for farm_trees.c. A value
 * is a user's snapshot of the predictor, a table of handles and a table of
 * absent names (trees_objects.h); and what the link to the server carries, so
 * that a machine that has not measured it need not begin slowly.
 *
 *	value ── open ──▶ merge, handles, names
 *	snapshot ── pack ──▶ trees; with handles and names ── seal ──▶ value
 */
#ifndef FOREFETCH_TREES_JOB_H
#define FOREFETCH_TREES_JOB_H

#include "base/iopool.h"
#include "farm/farm_private.h"
#include "farm/trees_objects.h"
#include "link/linkest.h"

struct predictor_merge;
struct predictor_snapshot;
struct trees_user;

/* One step in a thread. It belongs to the thread from iopool_submit() until
 * `done` is called on the loop. Whoever makes one sets the first five members;
 * the others begin as zeros. */
struct trees_job {
	struct iopool_job job;
	struct trees_user *user; /* NULL: gone; then whoever has it frees it */
	const struct seal *seal;
	struct farm_key key;
	uint64_t uid;
	/* A sealed value, and what is in it. */
	unsigned char *value;
	size_t len;
	unsigned char *plain;
	size_t plain_len;
	struct predictor_merge *merge;
	struct predictor_snapshot *snapshot;
	void *trees; /* the snapshot, packed */
	size_t trees_len;
	struct bytetable handles, names;                /* to be sealed */
	struct bytetable_view handles_came, names_came; /* that came */
	bool has_handles, has_names;                    /* that came */
	struct linkest_kept link; /* zeros: it is not known */
	bool sealed;
	uint64_t hash; /* of what is in it, but for the link */
};

/* `run` of its job. Where `merge`, `trees` or `sealed` is not set after it, it
 * failed. */
void trees_job_open(struct iopool_job *job);
void trees_job_pack(struct iopool_job *job);
void trees_job_seal(struct iopool_job *job);
/* Frees the job with all that it has. */
void trees_job_free(struct trees_job *j);

#endif
