/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that grows. Whether memory was short somewhere is asked once. */
#ifndef FOREFETCH_TEXT_H
#define FOREFETCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zeros at first. */
struct text {
	char *data; /* without a zero at its end */
	size_t len, room;
	bool failed; /* memory was short */
};

void text_add(struct text *t, const char *data, size_t len);
void text_string(struct text *t, const char *string);
void text_print(struct text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A decimal number; many are needed, so they do not go through printf. */
void text_number(struct text *t, uint64_t value);
/* Seconds, with as many decimals as the microseconds need. */
void text_seconds(struct text *t, uint64_t us);
enum { TEXT_SECONDS_MAX = 24 };
const char *text_of_seconds(char buf[TEXT_SECONDS_MAX], uint64_t us);

/* A stream that adds to `t` what is written to it, until the caller closes it.
 * NULL without memory, and then `t` has failed. */
FILE *text_open(struct text *t);
/* Empties it, and keeps the memory. */
void text_clear(struct text *t);
void text_free(struct text *t);

#endif
