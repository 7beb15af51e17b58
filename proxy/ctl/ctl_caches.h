/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_CTL_CACHES_H
#define FOREFETCH_CTL_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control.pb-c.h"

/* What the caches of a server hold and did; nothing where the daemon does not
 * say. */
void ctl_put_caches(const Forefetch__ServerStats *srv);

/* A counter or a gauge by its name; 0 and false where the daemon has none. */
bool ctl_stats_value(
    const Forefetch__ServerStats *srv, const char *name, uint64_t *value);

#endif
