/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_CTL_CACHES_H
#define FOREFETCH_CTL_CACHES_H

#include "control.pb-c.h"

/* What the caches of a server hold and did; nothing where the daemon does not
 * say. */
void ctl_put_caches(const Forefetch__ServerStats *srv);

#endif
