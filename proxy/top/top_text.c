/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Widths by the C library (wcwidth), in the locale that main() has set. */
#include "top/top_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "ctl/ctl_text.h"

static wchar_t decode(const uint8_t *s, size_t len)
{
	static const uint8_t first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = s[0] & first[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3f);
	return (wchar_t)c;
}

/* They cannot be seen, or change the order of what stands beside them. */
static bool is_hidden(wchar_t c)
{
	return c == 0xad || c == 0x34f || c == 0x61c || c == 0x115f ||
	       c == 0x1160 || c == 0x17b4 || c == 0x17b5 ||
	       (c >= 0x180b && c <= 0x180e) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	       c == 0x3164 || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff ||
	       c == 0xffa0 || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff);
}

static bool is_shown(const uint8_t *s, size_t n)
{
	wchar_t c = decode(s, n);

	return c >= 0x20 && !is_hidden(c) && wcwidth(c) >= 0;
}

char *top_text_clean(const void *bytes, size_t len)
{
	const uint8_t *s = bytes;
	char *out = malloc(4 * len + 1), *to = out;
	size_t n;

	if (!out)
		return NULL;
	for (; len > 0; s += n, len -= n) {
		n = ctl_utf8_length(s, len);
		if (n > 0 && is_shown(s, n)) {
			memcpy(to, s, n);
			to += n;
			continue;
		}
		to += sprintf(to, "\\x%02x", s[0]);
		n = 1;
	}
	*to = '\0';
	return out;
}

size_t top_text_next(const char *s, int *columns)
{
	size_t n = ctl_utf8_length((const uint8_t *)s, strnlen(s, 4));

	*columns = 0;
	if (n == 0)
		return *s ? 1 : 0;
	*columns = wcwidth(decode((const uint8_t *)s, n));
	return n;
}

int top_text_columns(const char *s)
{
	int columns = 0, one;
	size_t n;

	for (; (n = top_text_next(s, &one)) > 0; s += n)
		columns += one > 0 ? one : 0;
	return columns;
}
