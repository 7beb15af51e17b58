/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch status --check`. */
#ifndef FOREFETCH_CHECK_H
#define FOREFETCH_CHECK_H

#include <stdbool.h>

#include "control/control.pb-c.h"

/* Print what is not in order, a line each, or all of it as one JSON value: an
 * exit code, EXIT_SUCCESS where there is nothing. */
int check_print(const Forefetch__Status *st, bool json);

#endif
