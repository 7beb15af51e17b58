/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs of patternio share their options, and the way they fail. */
#ifndef FOREFETCH_PATTERNIO_H
#define FOREFETCH_PATTERNIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options {
	const char *program, *path;
	size_t block; /* bytes */
	uint64_t blocks;
	long stride; /* blocks */
	unsigned work_us;
	bool direct, map, list;
};

/* Says why, and ends the program. */
void die(const char *format, ...)
    __attribute__((noreturn, format(printf, 1, 2)));
uint64_t mix(uint64_t x);

#endif
