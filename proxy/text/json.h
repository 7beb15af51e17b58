/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON, one value on one line. Messages are printed by what protobuf-c knows of
 * them, so that each field of control.proto is there under its own name.
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
 * The writer. `key` is NULL for the outermost value and within an array. Start
 * with {.out = FILE}; the caller closes what it opens.
 */
struct json {
	FILE *out;
	bool comma; /* a value precedes on this level */
	/* For the daemon's page: a field NAME_us is NAME, in seconds, and no
	 * text has a character that means something in HTML. */
	bool page;
};

void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_number(struct json *j, const char *key, uint64_t value);
/* Seconds, with as many decimals as the microseconds need; or null for 0. */
void json_seconds(struct json *j, const char *key, uint64_t us);
void json_seconds_known(struct json *j, const char *key, uint64_t us);
/* Six digits. */
void json_real(struct json *j, const char *key, double value);
void json_null(struct json *j, const char *key);
void json_bool(struct json *j, const char *key, bool value);
void json_text(struct json *j, const char *key, const char *text);

/*
 * Any bytes as a string, or null where there are none. UTF-8 stays; a byte that
 * is not part of it is written \udcNN, a lone surrogate, as Python's
 * surrogateescape does, so that the bytes can be had back.
 */
void json_bytes(struct json *j, const char *key, const uint8_t *s, size_t len);

/* The same of a field; null where `bytes` is NULL. */
void json_known(
    struct json *j, const char *key, const ProtobufCBinaryData *bytes);

/*
 * A message as an object, or its fields alone. What is not there or not known
 * is null, be it a message, a number, a text or an id; so no text is empty. A
 * word of an enum is in lower case; a fixed64 is an id, in 16 hexadecimal
 * digits.
 */
void json_message(struct json *j, const char *key, const void *message);
void json_fields(struct json *j, const void *message);
/* Only the fields that `names` has, with blanks between. */
void json_some(struct json *j, const void *message, const char *names);

/* LAID_OUT is "laid-out"; "unknown" where this release knows no such word. */
const char *json_word(
    char buf[JSON_WORD_MAX], const ProtobufCEnumDescriptor *of, int value);

/* A message on stdout, as a line. */
void json_print(const void *message);

#endif
