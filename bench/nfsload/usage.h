/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of `nfsload --help`. */
#ifndef NFSLOAD_USAGE_H
#define NFSLOAD_USAGE_H

/* What --help prints. */
void usage_print(void);

#endif
