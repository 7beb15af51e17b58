/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers with their units, as people write them: "5 GiB", "1.5G", "1h30m",
 * "20 Mbit/s". For the configuration and the command line.
 */
#ifndef FOREFETCH_UNIT_H
#define FOREFETCH_UNIT_H

#include <stddef.h>
#include <stdint.h>

struct units;

extern const struct units units_none;    /* a bare number */
extern const struct units units_percent; /* "80%" */
extern const struct units units_size;    /* to bytes */
extern const struct units units_time;    /* to microseconds */
extern const struct units units_rate;    /* to bits a second */

/*
 * Parses the whole of `text` as a number. Blanks may stand before the unit; a
 * fraction has 6 digits at most, and is rounded down; a time may have several
 * parts, the greatest first. Zero needs no unit. Returns 0, -EINVAL for another
 * shape, -ERANGE when 64 bits do not hold it; `*out` is untouched then.
 */
int unit_parse(const struct units *units, const char *text, uint64_t *out);

/* Writes a number with the largest unit that leaves no remainder, so that it
 * reads the same, and returns `text`. */
const char *unit_format(const struct units *units, uint64_t n, char text[32]);

#endif
