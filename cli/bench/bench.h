/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command of this folder, for commands/command_list.c. */
#ifndef FOREFETCH_BENCH_H
#define FOREFETCH_BENCH_H

#include "ctl/ctl_command.h"

extern const struct ctl_command bench_command;

#endif
