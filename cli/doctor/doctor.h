/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of this folder, for commands/command_list.c. */
#ifndef FOREFETCH_DOCTOR_H
#define FOREFETCH_DOCTOR_H

#include "ctl/ctl_command.h"

extern const struct ctl_command probe_command, doctor_command;

#endif
