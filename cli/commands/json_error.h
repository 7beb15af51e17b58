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

/* From now on everything that is printed on stdout and stderr passes through
 * here. Without memory for that, messages reach a program only as text on
 * stderr. It may be called again, without effect. */
void json_error_begin(void);

/* Begins a part of the work: messages on stderr from now on are about it, and
 * those before it are forgotten. */
void json_error_part(void);
/* Writes the member "error" of the object that is open in `json`: the messages
 * of the part, or `why` where there were none, or null where `failed` is not
 * set. */
void json_error_put(struct json *json, bool failed, const char *why);
/* While this is set, text on stderr is no error: the line of progress goes
 * there, too. */
void json_error_ignore(bool ignore);

/* To be called once, at the end of main(): prints the error, if there is one
 * and nothing was printed on stdout. `code` is the exit code of the command; it
 * is returned. */
int json_error_end(int code);

#endif
