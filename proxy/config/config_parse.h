/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes of the text of files a checked struct config. Private to config*.c.
 * config_files.c reads the files and hands their text over, in their order. */
#ifndef FOREFETCH_CONFIG_PARSE_H
#define FOREFETCH_CONFIG_PARSE_H

#include "config/config.h"

struct config_parser;

/* Makes a parser that fills `cfg`, which is all zero. Messages go to `err`, a
 * line each, as many as there is room for, and `errors_max` at most. NULL
 * without memory. */
struct config_parser *config_parser_new(
    struct config *cfg, unsigned errors_max, char *err, size_t errlen);

/* Parses one file after another: `len` bytes of text, which is copied, and the
 * name that messages call it. Only the first may have a [forefetch] section. */
void config_parser_add(
    struct config_parser *p, const char *name, const char *text, size_t len);
/* Takes an error in place of a file that could not be read. */
void config_parser_refuse(
    struct config_parser *p, const char *name, const char *why);

/* Ends the parsing after the last file: 0, or -EINVAL with a message in `err`;
 * `cfg` then holds what was read so far, and is the caller's to free. Frees the
 * parser. */
int config_parser_end(struct config_parser *p);

#endif
