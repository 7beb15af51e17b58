/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_CTL_PREFETCH_H
#define FOREFETCH_CTL_PREFETCH_H

#include "control/control.pb-c.h"

struct ctl_json;

/* What was fetched ahead of its use, and what that was worth; nothing where
 * the daemon does not say. */
void ctl_put_prefetch(const Forefetch__ServerStats *srv);
void ctl_json_prefetch(struct ctl_json *j, const Forefetch__ServerStats *srv);

#endif
