/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a configuration file. Private to config*.c. */
#ifndef FOREFETCH_CONFIG_LINES_H
#define FOREFETCH_CONFIG_LINES_H

#include <stddef.h>

struct config_lines {
	/* The text that is still to be read. Lines are cut out of it, so there
	 * is room for a byte behind `end`. */
	char *text;
	const char *end;
	unsigned read;  /* lines that were read */
	unsigned line;  /* where the present one begins */
	unsigned wrong; /* the line that `why` is about, after an error */
	char why[128];
};

/*
 * The next line, with all that continues it, without blanks at its ends, while
 * there is text left. NULL after an error.
 */
char *config_lines_next(struct config_lines *l);

#endif
