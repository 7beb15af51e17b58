/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far something is, on stderr: on a terminal one line, which is written
 * over at most ten times a second and cut to the terminal's width; else
 * nothing, or with --progress a line every ten seconds.
 */
#ifndef FOREFETCH_PROGRESS_H
#define FOREFETCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ctl/ctl_command.h"

/* Samples of bytes that the rate is computed from, 0.7 s apart. */
enum { PROGRESS_RATES = 16 };

/* The state of one line of progress. Start with progress_init(); nothing is to
 * be freed. Times are of clock_now_us(). */
struct progress {
	/* It goes to a terminal and is written over. */
	bool screen;
	/* It goes to a file, a line each time. */
	bool lines;
	/* A line stands on the terminal, to be written over or cleared. */
	bool drawn;
	/* When the last line was put; 0: none was. */
	uint64_t put_us;
	/* Bytes at certain times, for the rate of the last seconds. */
	struct {
		uint64_t us, bytes;
	} past[PROGRESS_RATES];
	/* Samples taken in all; the last is at (n - 1) % PROGRESS_RATES. */
	size_t n;
};

/* Chooses by the options, and by whether stderr is a terminal. With --json no
 * line is drawn on a terminal. */
void progress_init(struct progress *p, const struct ctl_options *opt);

/* Whether it is time for a line. A caller that is told true has to put one,
 * since the time of the next one counts from this call. */
bool progress_due(struct progress *p, uint64_t now_us);
/* Puts a line of text without its end. `text` is clean: bytes of a server in it
 * are escaped (ctl_text.h). */
void progress_put(struct progress *p, const char *text);
/* Takes the line off the terminal before something else is printed. It does
 * nothing if there is none. */
void progress_clear(struct progress *p);

/* Bytes a second in about the last ten seconds, given the total `bytes` until
 * `now_us`; 0: not known yet. To be called each time the total is known.
 * `bytes` never falls; where it does all the same, the rate is 0. */
uint64_t progress_rate(struct progress *p, uint64_t now_us, uint64_t bytes);

/* Writes "34%, 5.10 MiB/s, 3 min 2 s left: " to `out`, without the parts that
 * are not known: the share if `all` is 0, the rate and the time where they are
 * 0. `done` and `all` have any unit in common. */
void progress_head(FILE *out, uint64_t done, uint64_t all,
    uint64_t bytes_per_second, uint64_t left_us);

#endif
