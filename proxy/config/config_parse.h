/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the text of a file to a checked struct config. Private to config*.c. */
#ifndef FOREFETCH_CONFIG_PARSE_H
#define FOREFETCH_CONFIG_PARSE_H

#include "config/config.h"

/*
 * Fill `cfg`, which is all zero, from `len` bytes of text. Returns 0, or
 * -EINVAL with a message in `err`; `cfg` then holds what was read so far.
 */
int config_parse_text(struct config *cfg, const char *text, size_t len,
    const char *name, char *err, size_t errlen);

#endif
