/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two file systems that should be alike. */
#ifndef FOREFETCH_TESTS_MEMFS_COPY_H
#define FOREFETCH_TESTS_MEMFS_COPY_H

#include "scenario/memfs.h"

enum { MEMFS_WHY_MAX = 256 };

/* To be freed by memfs_free(). */
struct memfs *memfs_copy(const struct memfs *fs);
/* Whether names, types, modes and data are the same; else `why` says where not.
 * Times are not looked at. */
bool memfs_same(const struct memfs *a, const struct memfs *b, char *why);

#endif
