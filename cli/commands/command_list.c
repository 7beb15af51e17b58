/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all commands of forefetch. main.c finds a command here by its
 * name, complete.c offers what stands here to shells, and `forefetch help`
 * shows it in this order, so those that people need first come first. */
#include "commands/command_list.h"

#include <stddef.h>
#include <string.h>

#include "bench/bench.h"
#include "doctor/doctor.h"
#include "top/top.h"

const struct ctl_command *const command_list[] = {
    &mount_command,
    &umount_command,
    &status_command,
    &stats_command,
    &top_command,
    &drop_command,
    &reorder_command,
    &reload_command,
    &pause_command,
    &resume_command,
    &warm_command,
    &pin_command,
    &pins_command,
    &unpin_command,
    &hint_command,
    &explain_command,
    &trace_command,
    &trees_command,
    &farm_command,
    &doctor_command,
    &probe_command,
    &log_level_command,
    &bench_command,
    &bugreport_command,
    NULL,
};

const struct ctl_command *command_find(const char *name)
{
	for (size_t i = 0; command_list[i]; i++)
		if (strcmp(command_list[i]->name, name) == 0 ||
		    (command_list[i]->former &&
			strcmp(command_list[i]->former, name) == 0))
			return command_list[i];
	return NULL;
}
