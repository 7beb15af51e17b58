/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UTF-8 (RFC 3629). All of text/ puts together what is told to people and to
 * programs: text that grows (text.h) and JSON (json.h), for the daemon's page
 * as for the commands.
 */
#ifndef FOREFETCH_UTF8_H
#define FOREFETCH_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the sequence at the start of `s`, which has `len`
 * bytes: 1 to 4, or 0 if there is none that is valid. Sequences that are longer
 * than necessary, surrogates, and characters above U+10FFFF are not valid (RFC
 * 3629 section 4). */
size_t utf8_length(const uint8_t *s, size_t len);

/* Returns the character of such a sequence, of `n` bytes. */
uint32_t utf8_decode(const uint8_t *s, size_t n);

/* Whether a character can be seen, and leaves its neighbours where they are:
 * control characters do not, nor those that turn the direction of writing. */
bool utf8_is_shown(uint32_t c);

#endif
