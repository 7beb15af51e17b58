/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the text of files to a checked struct config. Private to config*.c. */
#ifndef FOREFETCH_CONFIG_PARSE_H
#define FOREFETCH_CONFIG_PARSE_H

#include "config/config.h"

struct config_parser;

/* Fills `cfg`, which is all zero. Messages go to `err`, a line each, as many as
 * there is room for, and `errors_max` at most. NULL without memory. */
struct config_parser *config_parser_new(
    struct config *cfg, unsigned errors_max, char *err, size_t errlen);

/* One file after another: `len` bytes of text, and what messages call it. The
 * first may have a [forefetch] section. */
void config_parser_add(
    struct config_parser *p, const char *name, const char *text, size_t len);
/* A file that could not be read. */
void config_parser_refuse(
    struct config_parser *p, const char *name, const char *why);

/* After the last file: 0, or -EINVAL with a message in `err`; `cfg` then holds
 * what was read so far. Frees the parser. */
int config_parser_end(struct config_parser *p);

#endif
