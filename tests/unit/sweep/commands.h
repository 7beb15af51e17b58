/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of `forefetch`, as requests over the control socket. */
#ifndef FOREFETCH_TESTS_COMMANDS_H
#define FOREFETCH_TESTS_COMMANDS_H

#include <stdbool.h>

struct place;

/* Whether there was an answer, be it an error of the command's. `err` as that
 * of place_control(). */
bool commands_give(struct place *p, const char *name, char *err);

#endif
