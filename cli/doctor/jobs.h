/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks side by side, each in a process of its own: one that hangs, on a dead
 * mount or disk, or that crashes, holds up and spoils nothing else.
 */
#ifndef FOREFETCH_JOBS_H
#define FOREFETCH_JOBS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "doctor/finding.h"

enum { JOBS_MAX = 64 };

struct doctor_job {
	const char *group; /* heading; jobs of one group stand together */
	const char *name;  /* where it does not end */
	void (*run)(const void *env, const void *arg, struct findings *out);
	const void *arg;
	struct findings found; /* empty before */
};

/*
 * Run JOBS_MAX of them at most, for `limit_us` together; what does not end is
 * killed, and that is a finding. `progress` is a terminal, or NULL.
 */
void jobs_run(struct doctor_job *list, size_t count, const void *env,
    uint64_t limit_us, FILE *progress);

/*
 * The output of a program, both streams, cut off where `out` is full: its exit
 * status, 127 where it is not there. For use in a job: it may hang.
 */
int jobs_output(const char *const argv[], char *out, size_t size);

#endif
