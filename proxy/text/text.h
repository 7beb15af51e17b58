/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that grows. None of the functions that add fails: without memory the
 * text is left as it is, and `failed` says so, which the caller looks at once,
 * at the end. */
#ifndef FOREFETCH_TEXT_H
#define FOREFETCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A text, all zeros at first; text_free() frees its memory. */
struct text {
	char *data; /* without a zero at its end */
	size_t len, room;
	bool failed; /* memory was short, and something is missing */
};

/* Add `len` bytes, a string up to its NUL, or a text as printf(3) makes it. */
void text_add(struct text *t, const char *data, size_t len);
void text_string(struct text *t, const char *string);
void text_print(struct text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a decimal number. Many are needed, so they do not go through printf(3).
 */
void text_number(struct text *t, uint64_t value);
/* Adds microseconds as seconds, with as many decimals as they need. */
void text_seconds(struct text *t, uint64_t us);
enum { TEXT_SECONDS_MAX = 24 };
/* Writes the same to `buf`, and returns that. */
const char *text_of_seconds(char buf[TEXT_SECONDS_MAX], uint64_t us);

/* Opens a stream that adds to `t` what is written to it, until the caller
 * closes it by fclose(3). NULL without memory, and then `t` has failed. */
FILE *text_open(struct text *t);
/* Empties the text for another use, and keeps its memory. */
void text_clear(struct text *t);
/* Frees the memory; the text is all zeros again. */
void text_free(struct text *t);

#endif
