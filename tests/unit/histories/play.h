/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays a history: clients, the daemon, its server and strangers, in virtual
 * time, each reply judged as it comes. */
#ifndef FOREFETCH_TESTS_PLAY_H
#define FOREFETCH_TESTS_PLAY_H

#include <stdbool.h>

#include "histories/event.h"
#include "histories/judge.h"

enum { PLAY_SAID_MAX = 4096 };

struct play_result {
	unsigned calls, changes, strangers, replies;
	unsigned faults[EVENT_KINDS];
	unsigned events;          /* played */
	bool over;                /* all of it was played, and right */
	char dir[32];             /* to be removed where the process did not */
	char said[PLAY_SAID_MAX]; /* what was wrong, and what came before it */
};

extern const char *const play_mode_names[];

/* Ends the process with 1 where something was wrong. `out` may be shared with
 * another process. */
void play(enum judge_mode mode, const struct event *list, unsigned n,
    struct play_result *out);

#endif
