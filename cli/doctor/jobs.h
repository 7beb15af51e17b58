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

/* One check to run, and its result. */
struct doctor_job {
	/* Its heading; jobs of one group stand together. */
	const char *group;
	/* Names the thing that it looks at, told where it does not end. */
	const char *name;
	/* Called in a process of its own, with a copy of all memory. What it
	 * adds to `out` comes back; nothing else does. */
	void (*run)(const void *env, const void *arg, struct findings *out);
	const void *arg;
	/* Its findings, empty before; to be freed by the caller. */
	struct findings found;
};

/* Runs JOBS_MAX jobs at most, side by side, for `limit_us` together. A job that
 * does not end is killed, one that crashes is gone, and either is a finding of
 * that job. `progress` is a terminal for a line that says how far this is, or
 * NULL. Blocks. */
void jobs_run(struct doctor_job *list, size_t count, const void *env,
    uint64_t limit_us, FILE *progress);

/* Runs the program argv[0], looked for in PATH, and fills `out` with its
 * output, both streams, as a string that is cut off where `out` is full.
 * Returns its exit status; 127 where it is not there or was killed. For use in
 * a job, as it may hang. */
int jobs_output(const char *const argv[], char *out, size_t size);

#endif
