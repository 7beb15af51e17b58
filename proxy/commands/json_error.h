/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command with --json that fails tells a program why, too: if it has printed
 * no value, it prints {"error": TEXT}, where TEXT is what stands on stderr.
 */
#ifndef FOREFETCH_JSON_ERROR_H
#define FOREFETCH_JSON_ERROR_H

/* From now on what is printed is looked at, on its way. Without memory for that
 * nothing is. May be called again. */
void json_error_begin(void);

/* Prints the error, if there is one: `code` is the exit code. Returns it. */
int json_error_end(int code);

#endif
