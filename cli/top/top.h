/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch top; see top_text.h for the folder. */
#ifndef FOREFETCH_TOP_H
#define FOREFETCH_TOP_H

#include "ctl/ctl_command.h"

extern const struct ctl_command top_command;

#endif
