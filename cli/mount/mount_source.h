/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SOURCE of a mount: HOST:/PATH, or [IPV6]:/PATH. */
#ifndef FOREFETCH_MOUNT_SOURCE_H
#define FOREFETCH_MOUNT_SOURCE_H

#include "mount/mount_job.h"

/* Bytes with the final NUL: a name in DNS, a path of MOUNT (MNTPATHLEN, RFC
 * 1813 appendix I), and the name of a section. */
enum { MOUNT_HOST_MAX = 254, MOUNT_PATH_MAX = 1025, MOUNT_NAME_MAX = 65 };

/* SOURCE, cut into its parts. */
struct mount_source {
	char host[MOUNT_HOST_MAX]; /* without brackets */
	char path[MOUNT_PATH_MAX]; /* absolute, without a final slash */
	/* The source as the kernel is told, and shows it: as it was typed, but
	 * for that. */
	char text[MOUNT_HOST_MAX + MOUNT_PATH_MAX + 2];
};

/* Parses what was typed. False with a reason. */
bool mount_source_parse(
    const char *text, struct mount_source *out, struct mount_why *why);

/* The name that a section of `host` gets: the host, with what no name may have
 * replaced, and cut to what one may. */
void mount_source_name(const char *host, char name[MOUNT_NAME_MAX]);

#endif
