/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of sweep and histories. What is wrong there ends the process
 * with status 2. */
#ifndef FOREFETCH_TESTS_CLI_H
#define FOREFETCH_TESTS_CLI_H

#include <stdbool.h>
#include <stdint.h>

_Noreturn void cli_bad_usage(const char *what);
uint64_t cli_number(const char *text, uint64_t least, uint64_t most);
/* Sets the one of `n` names that is meant, and no other; `what`: which there
 * are. */
void cli_choose(const char *name, const char *const *names, bool *set,
    unsigned n, const char *what);
/* How many processes may run at once: one a processor, up to `most`. */
unsigned cli_processors(unsigned most);

#endif
