/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much the exports that were mounted are used; for `forefetch top`, and for
 * the sums of each mount. */
#ifndef FOREFETCH_MOUNTUSE_H
#define FOREFETCH_MOUNTUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caches;

enum { MOUNTUSE_MAX = 64 };

/* A file system with an export. Counts are since the caches were emptied. */
struct mountuse {
	const char *path; /* of an export on it; good until the loop goes on */
	size_t path_len;
	unsigned others; /* other exports on it that were mounted */
	uint64_t fsid;
	uint64_t calls;
	uint64_t changes; /* of them: they go through, as WRITE does */
	uint64_t asked;   /* of all others: the server was asked */
	uint64_t bytes;   /* of replies to clients */
};

/* Fills in a row for each file system that is mounted and known; returns how
 * many. */
size_t mountuse_list(struct caches *c, struct mountuse rows[MOUNTUSE_MAX]);

/* Fills in the counts of a file system, mounted or not, since this was called
 * for it last; without a path. False where it is not known or has no news. */
bool mountuse_take(struct caches *c, uint64_t fsid, struct mountuse *news);

#endif
