/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A conversation is text, a step a line, words with a blank between them. A
 * line that makes no sense is passed over, so that every text is one.
 *
 *	mode bounded                how consistent; before all other steps
 *	client A call READ /d/a 0 4096
 *	server 0 bend 24 255        the oldest call that waits is answered so
 *	mood list 7                 … and each from now on
 *	pass 2000                   milliseconds
 *
 * Bytes are an x and hexadecimal digits. steps.c has all steps, client_step.c
 * what clients do, answer.c what the server answers.
 */
#ifndef FOREFETCH_FUZZ_LINE_H
#define FOREFETCH_FUZZ_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LINE_MAX_BYTES = 2200,
	LINE_WORDS = 12,
	LINE_BYTES = 1000, /* of bytes in one word */
};

struct line {
	unsigned n;
	char *words[LINE_WORDS + 1]; /* NULL behind the last */
	char text[LINE_MAX_BYTES];
};

/* The line that begins at `text`, cut into words; how long it is, with what
 * ends it. */
size_t line_cut(struct line *l, const char *text, size_t len);

/* Read word `i` of a line as a number, as text, or as bytes; 0, "" or no bytes
 * where the line has no such word. */
uint64_t line_number(char *const *words, unsigned n, unsigned i);
const char *line_word(char *const *words, unsigned n, unsigned i);
size_t line_bytes(
    char *const *words, unsigned n, unsigned i, unsigned char to[LINE_BYTES]);

#endif
