/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks and decodes sequences of UTF-8, and knows which characters can be
 * seen. Names of files are any bytes, and a name must neither garble a table
 * nor hide a part of itself; so whoever prints one asks here first. */
#include "text/utf8.h"

/* Returns the length that a first byte announces, 0 where it begins none.
 * `*low` and `*high` get the bounds of the second byte, which rule out what is
 * longer than necessary, surrogates, and what is above U+10FFFF. */
static size_t sequence_begin(uint8_t first, uint8_t *low, uint8_t *high)
{
	*low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t utf8_length(const uint8_t *s, size_t len)
{
	uint8_t low, high;
	size_t i, n;

	if (len == 0)
		return 0;
	n = sequence_begin(s[0], &low, &high);
	if (n > len || n == 0)
		return 0;
	for (i = 1; i < n; i++) {
		if (s[i] < low || s[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return n;
}

uint32_t utf8_decode(const uint8_t *s, size_t n)
{
	static const uint8_t first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = s[0] & first[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/* Whether a character cannot be seen, or changes the order of what stands
 * beside it: soft hyphens, joiners, marks of direction, variation selectors,
 * fillers, tags. */
static bool is_hidden(uint32_t c)
{
	return c == 0xad || c == 0x34f || c == 0x61c || c == 0x115f ||
	       c == 0x1160 || c == 0x17b4 || c == 0x17b5 ||
	       (c >= 0x180b && c <= 0x180e) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	       c == 0x3164 || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff ||
	       c == 0xffa0 || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff);
}

bool utf8_is_shown(uint32_t c)
{
	return c >= 0x20 && (c < 0x7f || c > 0x9f) && !is_hidden(c);
}
