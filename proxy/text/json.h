/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON (RFC 8259), one value on one line. Messages are printed by what
 * protobuf-c knows of them, so that each field of control.proto is there under
 * its own name, and a new one needs no code here.
 */
#ifndef FOREFETCH_JSON_H
#define FOREFETCH_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <protobuf-c/protobuf-c.h>

enum { JSON_WORD_MAX = 32 };

/*
 * The writer, which begins as {.out = FILE}. It owns nothing: the stream is the
 * caller's, who also looks at its errors. `key` is NULL for the outermost value
 * and within an array; keys and texts are copied at once. The caller closes
 * what it opens.
 */
struct json {
	FILE *out;
	bool comma; /* a value precedes on this level, so a comma has to */
	/* For the daemon's page: a field NAME_us is NAME, in seconds, and no
	 * text has a character that means something in HTML. */
	bool page;
};

/* Begin and end an array ('[', ']') or an object ('{', '}'). */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_number(struct json *j, const char *key, uint64_t value);
/* Write microseconds as seconds, with as many decimals as they need; the second
 * writes null for 0. */
void json_seconds(struct json *j, const char *key, uint64_t us);
void json_seconds_known(struct json *j, const char *key, uint64_t us);
/* Writes a number with six digits. */
void json_real(struct json *j, const char *key, double value);
void json_null(struct json *j, const char *key);
void json_bool(struct json *j, const char *key, bool value);
/* Writes a text of UTF-8, up to its NUL; as json_bytes(). */
void json_text(struct json *j, const char *key, const char *text);

/*
 * Writes any bytes as a string, or null where there are none. UTF-8 stays; a
 * byte that is not part of it is written \udcNN, a lone surrogate, as Python's
 * surrogateescape does (PEP 383), so that the bytes can be had back. Characters
 * that cannot be seen are escaped.
 */
void json_bytes(struct json *j, const char *key, const uint8_t *s, size_t len);

/* The same for a field of bytes; null where `bytes` is NULL. */
void json_known(
    struct json *j, const char *key, const ProtobufCBinaryData *bytes);

/*
 * Write a message as an object, or its fields alone. A member that is not there
 * or not known is null, be it a message, a number, a text or an id; so no text
 * is empty. A word of an enum is in lower case; a fixed64 is an id, in 16
 * hexadecimal digits.
 */
void json_message(struct json *j, const char *key, const void *message);
void json_fields(struct json *j, const void *message);
/* Writes only the fields that `names` has, with blanks between; each must be a
 * field of the message. */
void json_some(struct json *j, const void *message, const char *names);

/* Writes the word of an enum to `buf` and returns that: LAID_OUT is "laid-out".
 * It is "unknown" where this release knows no such word. */
const char *json_word(
    char buf[JSON_WORD_MAX], const ProtobufCEnumDescriptor *of, int value);

/* Writes a message to stdout, as a line. */
void json_print(const void *message);

#endif
