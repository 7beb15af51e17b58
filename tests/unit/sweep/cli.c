/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads numbers and names on the command line. */
#include "sweep/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_bad_usage(const char *what)
{
	fprintf(stderr, "%s: %s; see --help\n", program_invocation_short_name,
	    what);
	exit(2);
}

uint64_t cli_number(const char *text, uint64_t least, uint64_t most)
{
	char *end, what[100];
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < least ||
	    n > most) {
		snprintf(what, sizeof(what),
		    "%.20s: a number from %ju to %ju is wanted", text,
		    (uintmax_t)least, (uintmax_t)most);
		cli_bad_usage(what);
	}
	return n;
}

void cli_choose(const char *name, const char *const *names, bool *set,
    unsigned n, const char *what)
{
	bool known = false;

	for (unsigned i = 0; i < n; i++) {
		set[i] = strcmp(name, names[i]) == 0;
		known |= set[i];
	}
	if (!known)
		cli_bad_usage(what);
}

unsigned cli_processors(unsigned most)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (n < 1)
		return 1;
	return (unsigned long)n < most ? (unsigned)n : most;
}
