/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON, one value on one line. Messages are printed by what protobuf-c knows of
 * them, so that each field of control.proto is there under its own name.
 */
#ifndef FOREFETCH_CTL_JSON_H
#define FOREFETCH_CTL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <protobuf-c/protobuf-c.h>

/*
 * The writer. `key` is NULL for the outermost value and within an array. Start
 * with {.out = FILE}; the caller closes what it opens.
 */
struct ctl_json {
	FILE *out;
	bool comma; /* a value precedes on this level */
};

void ctl_json_open(struct ctl_json *j, const char *key, char bracket);
void ctl_json_close(struct ctl_json *j, char bracket);
void ctl_json_number(struct ctl_json *j, const char *key, uint64_t value);
/* Six digits. */
void ctl_json_real(struct ctl_json *j, const char *key, double value);
void ctl_json_null(struct ctl_json *j, const char *key);
void ctl_json_bool(struct ctl_json *j, const char *key, bool value);
void ctl_json_text(struct ctl_json *j, const char *key, const char *text);

/*
 * Any bytes as a string, or null where there are none. UTF-8 stays; a byte that
 * is not part of it is written \udcNN, a lone surrogate, as Python's
 * surrogateescape does, so that the bytes can be had back.
 */
void ctl_json_bytes(
    struct ctl_json *j, const char *key, const uint8_t *s, size_t len);

/* The same of a field; null where `bytes` is NULL. */
void ctl_json_known(
    struct ctl_json *j, const char *key, const ProtobufCBinaryData *bytes);

struct ctl_place;
/* Where a path is at the server: the member "export_path". */
void ctl_json_place(struct ctl_json *j, const struct ctl_place *at);

/*
 * A message as an object, or its fields alone. What is not there or not known
 * is null, be it a message, a number, a text or an id; so no text is empty. A
 * word of an enum is in lower case; a fixed64 is an id, in 16 hexadecimal
 * digits.
 */
void ctl_json_message(struct ctl_json *j, const char *key, const void *message);
void ctl_json_fields(struct ctl_json *j, const void *message);

/* A message on stdout, as a line. */
void ctl_json_print(const void *message);

#endif
