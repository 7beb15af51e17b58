/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of this folder, for commands/command_list.c. */
#ifndef FOREFETCH_DOCTOR_H
#define FOREFETCH_DOCTOR_H

#include "ctl/ctl_command.h"

struct json;

extern const struct ctl_command probe_command, doctor_command,
    bugreport_command;

/* Looks at all that the command doctor does, with the daemon at `socket`, for
 * up to half a minute, and writes the array "doctor": "state" and "what" of
 * each finding, but no sentence, since names stand in those. */
void doctor_json(const char *socket, struct json *j);

#endif
