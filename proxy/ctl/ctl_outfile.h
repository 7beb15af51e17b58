/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that appears when it is whole. */
#ifndef FOREFETCH_CTL_OUTFILE_H
#define FOREFETCH_CTL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct ctl_outfile {
	FILE *out;
	const char *file; /* the caller's */
	char *tmp;
};

/* False after a message on stderr. */
bool ctl_outfile_open(struct ctl_outfile *f, const char *file);
/* `good`: what was to be written was written. False after a message, or where
 * it was not good; then the file is what it was. */
bool ctl_outfile_close(struct ctl_outfile *f, bool good);

#endif
