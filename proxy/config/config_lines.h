/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes a configuration file apart into lines. Private to config*.c. `text` and
 * `end` are set by the caller, all else is 0 at first. */
#ifndef FOREFETCH_CONFIG_LINES_H
#define FOREFETCH_CONFIG_LINES_H

#include <stddef.h>

struct config_lines {
	/* The text that is still to be read. Lines are cut out of it, so there
	 * is room for a byte behind `end`. */
	char *text;
	const char *end;
	unsigned read;  /* lines that were read so far */
	unsigned line;  /* the line where the present one begins, from 1 on */
	unsigned wrong; /* the line that `why` is about, after an error */
	char why[128];
};

/*
 * Returns the next line, with all that continues it, without blanks at its
 * ends, while there is text left; it lies in the text. NULL after an error.
 */
char *config_lines_next(struct config_lines *l);

#endif
