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

enum { PROGRESS_RATES = 16 };

struct progress {
	bool screen;
	bool lines;
	bool drawn;      /* there is a line to be written over */
	uint64_t put_us; /* when the last one was put; 0: none */
	/* Bytes at certain times, for the rate of the last seconds. */
	struct {
		uint64_t us, bytes;
	} past[PROGRESS_RATES];
	size_t n;
};

void progress_init(struct progress *p, const struct ctl_options *opt);

/* Is it time for a line? Whoever asks puts one then. */
bool progress_due(struct progress *p, uint64_t now_us);
/* A line of text without its end. */
void progress_put(struct progress *p, const char *text);
/* Take the line off the terminal, for what else is to be said. */
void progress_clear(struct progress *p);

/* Bytes a second in about the last ten seconds; 0: not known. `bytes` never
 * falls. */
uint64_t progress_rate(struct progress *p, uint64_t now_us, uint64_t bytes);

/*
 * "34%, 5.10 MiB/s, 3 min 2 s left: ", of which what is not known is left out.
 * `left_us` 0: not known.
 */
void progress_head(FILE *out, uint64_t done, uint64_t all,
    uint64_t bytes_per_second, uint64_t left_us);

#endif
