/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays a history: clients, the daemon, its server and strangers, in virtual
 * time, each reply judged as it comes. */
#ifndef FOREFETCH_TESTS_PLAY_H
#define FOREFETCH_TESTS_PLAY_H

#include <stdbool.h>

#include "histories/event.h"
#include "histories/judge.h"

enum { PLAY_SAID_MAX = 6144, PLAY_MODES = 4 };

extern const char *const play_mode_names[PLAY_MODES];

/*
 * A defect of the daemon or its server, which a play has on purpose to see
 * whether the judge finds it. The judge is told nothing of it.
 */
enum play_defect { /* see play_defects[] */
	DEFECT_NONE,
	DEFECT_STALE,
	DEFECT_OWN,
	DEFECT_TWICE,
	DEFECT_UNDONE,
	DEFECT_ROOM,
	DEFECT_YOUNG,
	DEFECT_BLIND,
	DEFECT_ORDER,
	DEFECT_UNASKED,
	DEFECT_LATE,
	DEFECT_VERSION,
	DEFECT_MOVED,
	PLAY_DEFECTS,
};

/* Where a defect shows: in which modes (a bit each), with a farm or without,
 * and in histories that have this part. */
struct play_defect_row {
	const char *name, *what; /* a few words */
	unsigned modes;
	bool farm;
	enum event_part part;
};

extern const struct play_defect_row play_defects[PLAY_DEFECTS];

struct play_result {
	unsigned calls, changes, strangers, replies;
	unsigned looks, hits; /* answered before the server did anything */
	unsigned farm_data, farm_listings; /* taken from the farm */
	unsigned faults[EVENT_KINDS];
	unsigned events;          /* played */
	bool over;                /* all of it was played, and right */
	char dir[32];             /* to be removed where the process did not */
	char said[PLAY_SAID_MAX]; /* what was wrong, and what came before it */
	int complaints;           /* descriptor of what it wrote to stderr */
};

/* Ends the process with 1 where something was wrong. `out` may be shared with
 * another process. */
void play(enum judge_mode mode, enum play_defect defect,
    const struct history *h, struct play_result *out);

#endif
