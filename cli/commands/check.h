/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch status --check`. */
#ifndef FOREFETCH_CHECK_H
#define FOREFETCH_CHECK_H

#include <stdbool.h>

#include "control/control.pb-c.h"

/*
 * Prints on stdout a line for each thing in `st` that is not in order, or with
 * `json` all of it as one value: {"problems": [...], "warnings": [...], "ok":
 * BOOL}. It prints nothing where everything is in order and `json` is not set.
 *
 * Returns the exit code of the command: EXIT_FAILURE if there was a problem,
 * EXIT_SUCCESS if there was none or only warnings. `st` stays the caller's.
 */
int check_print(const Forefetch__Status *st, bool json);

/* Prints the line for a daemon that sent no status, by the errno of
 * ctl_status(); nothing for 0. */
void check_away(int error);

#endif
