/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command with --json that fails tells a program why, too: if it has printed
 * no value, it prints {"error": TEXT}, where TEXT is what stands on stderr. One
 * that goes on after an error says so in the value of that part of its work.
 */
#ifndef FOREFETCH_JSON_ERROR_H
#define FOREFETCH_JSON_ERROR_H

#include <stdbool.h>

struct json;

/* From now on what is printed is looked at, on its way. Without memory for that
 * nothing is. May be called again. */
void json_error_begin(void);

/* Begins a part: messages on stderr after this are about it. */
void json_error_part(void);
/* The member "error" of an object: what was said of the part, or `why` where
 * nothing was; null where `failed` is not set. */
void json_error_put(struct json *json, bool failed, const char *why);
/* While it is set, what is said is no error, but how far something is. */
void json_error_ignore(bool ignore);

/* Prints the error, if there is one: `code` is the exit code. Returns it. */
int json_error_end(int code);

#endif
