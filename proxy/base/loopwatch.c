/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libevent 2.1 tells nobody when it begins and ends to wait (2.2 has evwatch),
 * so this program's epoll_wait() is called in place of the C library's. It
 * begins each turn with a reading of the clock (clock_begin_turn()).
 */
#include "base/loopwatch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"

enum {
	WINDOW_US = 3000000,
	/* A turn of fewer cycles is not measured: 1.0 ms at 4 GHz, 2.1 ms at 2
	 * GHz, a tenth of a long turn. */
	SHORT_CYCLES = 1 << 22,
};

struct loopwatch {
	uint64_t woke_us; /* 0: no turn began yet */
	uint64_t woke_cycles;
	uint64_t window_us;           /* when the present window began */
	uint64_t longest_us, past_us; /* of this window, and the one before */
	uint64_t long_turns;
};

/* The watch of this thread's loop; NULL: its loop is not watched. */
static _Thread_local struct loopwatch *watched;

/* Whether the turn was too short to be measured. Without a counter of cycles
 * all turns are measured. */
static bool is_short(const struct loopwatch *w)
{
	uint64_t now = clock_cycles();

	return now > w->woke_cycles && now - w->woke_cycles < SHORT_CYCLES;
}

/* Replaces the C library's function in the whole program. A thread without a
 * watch gets the same wait. */
int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	struct loopwatch *w = watched;
	int n;

	if (!w)
		return epoll_pwait(fd, events, max, timeout, NULL);
	if (!is_short(w))
		loopwatch_waits(w, clock_read_us());
	n = epoll_pwait(fd, events, max, timeout, NULL);
	loopwatch_wakes(w, clock_begin_turn());
	w->woke_cycles = clock_cycles();
	return n;
}

struct loopwatch *loopwatch_new(void)
{
	struct loopwatch *w = calloc(1, sizeof(*w));

	watched = w;
	return w;
}

void loopwatch_free(struct loopwatch *w)
{
	if (w && watched == w)
		watched = NULL;
	free(w);
}

void loopwatch_waits(struct loopwatch *w, uint64_t now)
{
	uint64_t turn_us = w->woke_us ? now - w->woke_us : 0;

	if (turn_us > w->longest_us)
		w->longest_us = turn_us;
	w->long_turns += turn_us > LOOPWATCH_LONG_US;
}

void loopwatch_wakes(struct loopwatch *w, uint64_t now)
{
	if (now - w->window_us >= WINDOW_US) {
		w->past_us =
		    now - w->window_us < 2 * WINDOW_US ? w->longest_us : 0;
		w->longest_us = 0;
		w->window_us = now;
	}
	w->woke_us = now;
}

uint64_t loopwatch_longest_us(const struct loopwatch *w)
{
	return w->longest_us > w->past_us ? w->longest_us : w->past_us;
}

uint64_t loopwatch_long_turns(const struct loopwatch *w)
{
	return w->long_turns;
}
