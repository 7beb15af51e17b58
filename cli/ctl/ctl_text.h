/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with units, words, and bytes of unknown origin, for people. */
#ifndef FOREFETCH_CTL_TEXT_H
#define FOREFETCH_CTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <protobuf-c/protobuf-c.h>

#define CTL_TEXT_MAX 32 /* enough for any of these */

/* "850 us", "40.2 ms", "1.53 s"; three digits. */
const char *ctl_text_us(char buf[CTL_TEXT_MAX], uint64_t us);

/* "512 B", "40.2 KiB". */
const char *ctl_text_bytes(char buf[CTL_TEXT_MAX], uint64_t bytes);

/* "850 kbit/s", "40.2 Mbit/s": what links are sold in, and prefetch_rate is set
 * in. */
const char *ctl_text_rate(char buf[CTL_TEXT_MAX], uint64_t bytes_per_second);

/* "12 s", "3 h 12 min", "4 d 2 h". */
const char *ctl_text_duration(char buf[CTL_TEXT_MAX], uint64_t us);

/*
 * Bytes of unknown origin, for a person: whoever names a file on the server
 * chooses what stands in a path, and what a terminal makes of it. UTF-8 stays
 * as it is; what is none, control characters, and those that turn the direction
 * of writing or cannot be seen become \xNN. All that is not our own text goes
 * to a terminal by one of these, or by ctl_put.h or ctl_table.h, which use
 * them.
 */
void ctl_put_bytes(FILE *out, const uint8_t *s, size_t len);
/* Makes text of which columns can be counted: characters of no known width in
 * the locale become \xNN, too. To be freed; NULL without memory. */
char *ctl_text_clean(const void *bytes, size_t len);
/* A line, made as by printf, of which all becomes clean. */
void ctl_say(FILE *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes such a line on stderr: "forefetch: PATH: …"; `path` NULL: without a
 * path. */
void ctl_complain(const char *path, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Says on stderr that the arguments of `command` are wrong, and, unless it is
 * NULL, which action was meant. */
void ctl_mistaken(const char *command, const char *meant);

/* Whether UTF-8 is printed; else what is not ASCII is escaped.
 * ctl_choose_text() has chosen the locale: UTF-8 wherever the program runs,
 * unless LC_ALL, LC_CTYPE or LANG ask for another character set. */
void ctl_choose_text(void);
bool ctl_utf8(void);

/* Whether text on `out` may have colours: it is a terminal that has them, and
 * nobody has set NO_COLOR (no-color.org). */
bool ctl_colour(FILE *out);

#endif
