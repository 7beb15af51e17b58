/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The actions of `forefetch farm` that ask the daemon: each an exit code. */
#ifndef FOREFETCH_FARM_COMMAND_H
#define FOREFETCH_FARM_COMMAND_H

#include "control/control.pb-c.h"
#include "ctl/ctl_command.h"

struct findings;

int farm_status(const struct ctl_options *opt);
int farm_check(const struct ctl_options *opt);
int farm_flush(const struct ctl_options *opt);

/* Judges a check of the farm. With the round trips to the servers of `st`
 * beside that to the engine; NULL: these are not known. */
void farm_judge(const Forefetch__FarmChecked *checked,
    const Forefetch__Status *st, struct findings *out);

#endif
