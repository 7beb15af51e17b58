/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that appears under its name when it is complete. What is there and no
 * regular file, such as a device, is written to as it is. */
#ifndef FOREFETCH_CTL_OUTFILE_H
#define FOREFETCH_CTL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

/* A file that is being written, by ctl_outfile_open() and until
 * ctl_outfile_close(). */
struct ctl_outfile {
	/* Where the caller writes. */
	FILE *out;
	const char *file; /* the caller's */
	/* The name that it has until then, allocated; NULL: its own. */
	char *tmp;
};

/* Begins the file `file`, whose directory must be writable. False after a
 * message on stderr; nothing is left then. */
bool ctl_outfile_open(struct ctl_outfile *f, const char *file);
/* `good`: everything was written, so the file may appear. False after a
 * message, or if it was not good; then a former file of that name is unchanged.
 */
bool ctl_outfile_close(struct ctl_outfile *f, bool good);

#endif
