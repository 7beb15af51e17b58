/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words in data that may be names.
 *
 * Nothing is known here of any format. A word is a run of the bytes that names
 * are made of; between slashes the parts of a path stand behind each other. So
 * the same scan finds "./x" in JavaScript, <a/b.h> in C, libx.so.1 in ELF and
 * numpy.core in what Python compiled. In data that looks compressed or random
 * it finds nothing.
 */
#ifndef FOREFETCH_TOKENS_H
#define FOREFETCH_TOKENS_H

#include <stddef.h>
#include <stdint.h>

enum {
	TOKENS_DATA_MAX = 65536, /* bytes that are looked at */
	TOKENS_MAX = 2048,
	TOKENS_SEEN = 8192, /* power of two */
};

enum token_flags {
	TOKEN_CONT = 1,   /* stands behind a slash and the token before it */
	TOKEN_QUOTED = 2, /* between quotes or brackets, or ends with a NUL */
	TOKEN_HERE = 4,   /* begins with "./" or "../" */
	TOKEN_DOTTED = 8, /* has a dot within, as names of files have */
	TOKEN_PARTS = 16, /* of a word with dots, which were taken for slashes
			   */
	TOKEN_ABSOLUTE = 32, /* the first of a path that begins with a slash */
};

/* A word, or one part of a path: the parts of a path stand behind each other.
 */
struct token {
	uint32_t hash; /* name_hash32() */
	uint8_t flags;
	uint8_t ups; /* of the first of a path: how many "../" it begins with */
};

/* The state of one scan. It need not be initialised. */
struct tokens {
	struct token at[TOKENS_MAX];
	uint32_t n;
	/* Private. */
	uint32_t words;
	uint32_t seen[TOKENS_SEEN];
};

/* Never 0. */
uint32_t name_hash32(const char *name, size_t len);

/* The distinct words of the data in their order. Of words that look like words
 * of a language, and not like names, half of the room is taken at most. */
void tokens_scan(struct tokens *t, const void *data, size_t len);

#endif
