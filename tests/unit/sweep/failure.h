/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that read no script keep the promises of script.h to the clients and
 * servers of scenarios in this way: script_fail() and script_wrong() write a
 * sentence and the last things that happened, and end the process.
 */
#ifndef FOREFETCH_TESTS_FAILURE_H
#define FOREFETCH_TESTS_FAILURE_H

#include <stddef.h>

/* Where the sentence goes; `said` may be shared with another process. `end`
 * ends the process; NULL: with status 1. What happened before is forgotten. */
void failure_begin(char *said, size_t size, void (*end)(void));
/* Sets the words for the task of now, which stand before the sentence. They
 * stay the caller's. */
void failure_set_task(const char *task);

#endif
