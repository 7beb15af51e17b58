/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work of a sweep, and its judge. Two clients call, as the kernel's client
 * would: they connect again and repeat what was not answered. Between their
 * calls commands are given, time passes, and the daemon is started again.
 *
 * The judge has a file system of its own, on which it makes the changes that
 * were acknowledged. Right is:
 *
 *	every call and command ends
 *	a reply is that of the server at that moment, or an error that a disk or
 *	a server may have, and that only once the fault is there
 *	the server's files are the judge's at all times: nothing acknowledged is
 *	lost, nothing is done twice
 *	a daemon that did not start says why, and starts the next time
 */
#ifndef FOREFETCH_TESTS_WORK_H
#define FOREFETCH_TESTS_WORK_H

#include "sweep/faults.h"

enum { WORK_SAID_MAX = 4096 };

struct work_result {
	struct faults_point point;
	bool spotless;   /* set before: not even the fault excuses an error */
	unsigned lines;  /* done */
	unsigned errors; /* replies that were errors for the fault */
	char dir[32];    /* to be removed where the process did not */
	void *stack[FAULTS_STACK]; /* where it crashed or hung */
	char said[WORK_SAID_MAX];  /* what was wrong; empty: nothing */
};

/* Does all of it, in a mode of consistency; ends the process with 1 where
 * something was wrong. `out` may be shared with another process, which sees how
 * far it came. */
void work_run(const char *consistency, struct work_result *out);

#endif
