/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How wide text is, by the C library (wcwidth(3)), in the locale that
 * ctl_choose_text() has set. */
#include "top/top_text.h"

#include <string.h>
#include <wchar.h>

#include "ctl/ctl_text.h"
#include "text/utf8.h"

/* A byte that is no UTF-8 takes no column; clean text has none. */
size_t top_text_next(const char *s, int *columns)
{
	size_t n = utf8_length((const uint8_t *)s, strnlen(s, 4));

	*columns = 0;
	if (n == 0)
		return *s ? 1 : 0;
	*columns = wcwidth((wchar_t)utf8_decode((const uint8_t *)s, n));
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

size_t top_text_fitting(const char *s, int columns)
{
	size_t len = 0, n;
	int one;

	while ((n = top_text_next(s + len, &one)) > 0 && columns >= one) {
		columns -= one;
		len += n;
	}
	return len;
}
