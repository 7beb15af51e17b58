/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All commands of forefetch, in the order in which its help shows them. */
#ifndef FOREFETCH_COMMAND_LIST_H
#define FOREFETCH_COMMAND_LIST_H

#include "ctl/ctl_command.h"

extern const struct ctl_command status_command, stats_command, drop_command,
    reorder_command, warm_command, pin_command, pins_command, unpin_command,
    pins_command, hint_command, explain_command, trace_command, trees_command,
    farm_command, reload_command, pause_command, resume_command, mount_command,
    umount_command;

/* Ends with NULL. */
extern const struct ctl_command *const command_list[];
/* The one of that name, or former name; or NULL. */
const struct ctl_command *command_find(const char *name);

/* `trees merge` with -o, which asks no daemon: an exit code. */
int trees_merge(const struct ctl_options *opt);

#endif
