/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_CTL_JSON_H
#define FOREFETCH_CTL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes one JSON value on one line. `key` is NULL for the outermost value
 * and within an array. Start with {.out = FILE}; the caller closes what it
 * opens.
 */
struct ctl_json {
	FILE *out;
	bool comma; /* a value precedes on this level */
};

void ctl_json_open(struct ctl_json *j, const char *key, char bracket);
void ctl_json_close(struct ctl_json *j, char bracket);
void ctl_json_number(struct ctl_json *j, const char *key, uint64_t value);

/* null for 0: what is not known. */
void ctl_json_known(struct ctl_json *j, const char *key, uint64_t value);

void ctl_json_bool(struct ctl_json *j, const char *key, bool value);
void ctl_json_text(struct ctl_json *j, const char *key, const char *text);

/*
 * Any bytes as a string. UTF-8 stays; a byte that is not part of it is
 * written \udcNN, a lone surrogate, as Python's surrogateescape does, so
 * that the bytes can be had back.
 */
void ctl_json_bytes(
    struct ctl_json *j, const char *key, const uint8_t *s, size_t len);

#endif
