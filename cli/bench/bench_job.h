/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job that `forefetch bench` runs again and again, and measures. */
#ifndef FOREFETCH_BENCH_JOB_H
#define FOREFETCH_BENCH_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bounds of a walk that nobody has bounded. */
enum { BENCH_FILES_MAX = 20000, BENCH_FIRST_S = 60 };
#define BENCH_BYTES_MAX 268435456u

/* A program, or a walk through all files, in a directory. */
struct bench_job {
	/* The program and its arguments, looked for in PATH; NULL: a walk,
	 * which lists each directory, and asks for the attributes of each file
	 * and reads it. */
	char **argv;
	/* The directory below the mount; "" is its root. */
	const char *below;
	/* The user that the job runs as. */
	uid_t uid;
	gid_t gid;
	char user[64];
	/* The walk ends behind this number of files, and of bytes; each run has
	 * the number of the first, so that all do the same. */
	uint64_t files_max, bytes_max;
	/* Seconds after which a walk begins no other file; 0: never. */
	unsigned limit_s;
};

/* One run of a job. */
struct bench_run {
	uint64_t elapsed_us;
	/* Calls to the server for it, of all kinds. */
	uint64_t calls;
	/* These two are of a walk. */
	uint64_t files, bytes;
	/* The exit status, or 128 and the number of the signal that ended it.
	 */
	int status;
	bool signalled;
};

/* Finds the user: whoever called sudo(8), else the user of this process. False
 * after a message. */
bool bench_job_user(struct bench_job *job);

/* Runs the job once below `root`, with the output of the program thrown away;
 * what it says on stderr is seen if `loud`. All processes that it leaves behind
 * are ended. Blocks until then, or until `needed`, another child, ends. Fills
 * in all of `out` but `calls`. False after a signal to this process
 * (bench_job_ended()), or after a message. */
bool bench_job_run(const struct bench_job *job, const char *root, bool loud,
    pid_t needed, struct bench_run *out);

/* From here on a signal that would end this process ends a wait of this module,
 * and the job, alone; until they are let through again. */
void bench_job_hold_signals(void);
void bench_job_pass_signals(void);
/* Whether there was one. */
bool bench_job_ended(void);
/* Sleeps; false after such a signal. */
bool bench_job_sleep(uint64_t us);

#endif
