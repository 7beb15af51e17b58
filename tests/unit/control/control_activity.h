/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The linker puts these functions in the place of the daemon's for a test of
 * activities, beside those of control_modules.h (tests/CMakeLists.txt). */
#ifndef FOREFETCH_TEST_CONTROL_ACTIVITY_H
#define FOREFETCH_TEST_CONTROL_ACTIVITY_H

#include "explain/mountuse.h"
#include "prefetch/prefetch.h"

size_t __wrap_prefetch_list_ahead(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead rows[PREFETCH_SHOW_MAX],
    uint64_t *omitted);
size_t __wrap_prefetch_list_outcomes(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_outcome rows[PREFETCH_SHOW_MAX]);
size_t __wrap_mountuse_list(
    struct caches *c, struct mountuse rows[MOUNTUSE_MAX]);

#endif
