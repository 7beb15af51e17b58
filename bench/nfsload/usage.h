/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of `nfsload --help`. */
#ifndef NFSLOAD_USAGE_H
#define NFSLOAD_USAGE_H

/* Writes the text that --help asks for to the standard output. */
void usage_print(void);

#endif
