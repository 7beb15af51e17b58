/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One call that fails. All calls of the code under test that may fail are
 * counted, and the Nth does: memory by the linker's --wrap and libevent's own
 * allocator, system calls by functions of their names in the program, which its
 * libraries call, too. What the tests do themselves is spared (spare.h).
 */
#ifndef FOREFETCH_TESTS_FAULTS_H
#define FOREFETCH_TESTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum faults_kind {
	FAULTS_ERROR, /* the call fails */
	FAULTS_SHORT, /* a read or write does a part of what it was asked for */
	FAULTS_DISK,  /* all calls about the disk's files fail, from it on */
	FAULTS_MEMORY, /* it is the first of many allocations that fail */
	FAULTS_KINDS,
};

enum { FAULTS_STACK = 16 };

/* Where it happened; in memory that is shared with whoever wants to know. */
struct faults_point {
	char call[24];             /* empty: it never came to that */
	int error;                 /* errno; 0: a short read or write */
	void *stack[FAULTS_STACK]; /* who called; NULL behind the last */
};

/* Before any other thread is there, and before libevent is used. The call with
 * this number, from 1, is the one; 0: none. */
void faults_begin(
    enum faults_kind kind, uint64_t number, struct faults_point *point);
/* All files of the disk lie below the path, which has to stay. */
void faults_set_disk(const char *path);
/* How many calls of the kind there were. */
uint64_t faults_count(void);

#endif
