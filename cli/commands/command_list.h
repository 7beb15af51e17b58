/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All commands of forefetch, in the order in which its help shows them. */
#ifndef FOREFETCH_COMMAND_LIST_H
#define FOREFETCH_COMMAND_LIST_H

#include "ctl/ctl_command.h"

/* Each is defined in the file of its command (commands/, mount/, doctor/,
 * top/). Only command_list.c uses most of them. */
extern const struct ctl_command status_command, stats_command, drop_command,
    reorder_command, warm_command, pin_command, pins_command, unpin_command,
    pins_command, hint_command, explain_command, trace_command, trees_command,
    farm_command, reload_command, pause_command, resume_command, mount_command,
    umount_command, log_level_command;

/* All commands; the last element is NULL. The table is constant and lives as
 * long as the program. */
extern const struct ctl_command *const command_list[];
/* The one of that name, or former name; or NULL. */
const struct ctl_command *command_find(const char *name);

/*
 * `forefetch trees merge FILE... -o OUT`: reads the files of exported access
 * trees in opt->args[1] and on, merges them in this process, and writes the
 * result to opt->output. It asks no daemon, so that trees can be brought
 * together on a machine that has none. Returns an exit code, after a message on
 * stderr if it is not EXIT_SUCCESS; OUT is unchanged then.
 */
int trees_merge(const struct ctl_options *opt);

#endif
