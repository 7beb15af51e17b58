/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of `forefetch hint -`: PATH [OFFSET LENGTH]. */
#ifndef FOREFETCH_HINT_LINE_H
#define FOREFETCH_HINT_LINE_H

#include <stdbool.h>
#include <stdint.h>

struct hint_line {
	const char *path;
	uint64_t offset;
	uint64_t length; /* 0: to the end */
};

/*
 * Cuts `text`, which is not empty, in place. What ends in two numbers, each
 * behind blanks or tabs, has a range; a name that ends so itself has to be
 * followed by one, of "0 0" for all of the file. Numbers are bytes, with K, M,
 * G or T for powers of 1024. False where the range is none.
 */
bool hint_line_parse(char *text, struct hint_line *out);

#endif
