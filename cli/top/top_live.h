/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The display on a terminal. */
#ifndef FOREFETCH_TOP_LIVE_H
#define FOREFETCH_TOP_LIVE_H

#include <stdbool.h>

#include "ctl/ctl_command.h"
#include "top/top_sample.h"

enum { TOP_LIVE_WHY = 384 }; /* bytes of a message */

/* Runs until a key or a signal ends it, or the daemon turns out to be of
 * another release. Takes `first`, the first sample. False with a message for
 * the user in `why`. */
bool top_live_run(const struct ctl_options *opt, struct top_sample *first,
    double interval_s, char why[TOP_LIVE_WHY]);

#endif
