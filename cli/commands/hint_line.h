/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of `forefetch hint -`: PATH [OFFSET LENGTH]. */
#ifndef FOREFETCH_HINT_LINE_H
#define FOREFETCH_HINT_LINE_H

#include <stdbool.h>
#include <stdint.h>

/* One line, parsed. */
struct hint_line {
	/* Points into the text of the line. */
	const char *path;
	/* Bytes. */
	uint64_t offset;
	/* Bytes; 0: to the end of the file. */
	uint64_t length;
};

/*
 * Cuts `text`, which is not empty, in place, and fills `out` with pointers into
 * it. A line that ends in two numbers, each behind blanks or tabs, has a range;
 * a name that ends so itself has to be followed by one, of "0 0" for all of the
 * file. Numbers are bytes, with K, M, G or T for powers of 1024.
 *
 * False where a number, or the end of the range, is 2^64 or more.
 */
bool hint_line_parse(char *text, struct hint_line *out);

#endif
