/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that grows by half, and the numbers and times that are put into it. web/
 * makes its answers of this, with some thousand numbers each. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

/* Makes room for `len` bytes more; false without memory, now or before. */
static bool text_room(struct text *t, size_t len)
{
	size_t room = t->room + t->room / 2;
	char *data;

	if (t->failed)
		return false;
	if (t->room - t->len >= len)
		return true;
	if (room < t->len + len)
		room = t->len + len + 256;
	data = realloc(t->data, room);
	if (!data) {
		t->failed = true;
		return false;
	}
	t->data = data;
	t->room = room;
	return true;
}

void text_add(struct text *t, const char *data, size_t len)
{
	if (len == 0 || !text_room(t, len))
		return;
	memcpy(t->data + t->len, data, len);
	t->len += len;
}

void text_string(struct text *t, const char *string)
{
	text_add(t, string, strlen(string));
}

void text_print(struct text *t, const char *format, ...)
{
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (len < 0 || !text_room(t, (size_t)len + 1))
		return;
	va_start(ap, format);
	vsnprintf(t->data + t->len, (size_t)len + 1, format, ap);
	va_end(ap);
	t->len += (size_t)len;
}

void text_number(struct text *t, uint64_t value)
{
	char buf[20];
	size_t at = sizeof(buf);

	do {
		buf[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	text_add(t, buf + at, sizeof(buf) - at);
}

const char *text_of_seconds(char buf[TEXT_SECONDS_MAX], uint64_t us)
{
	int len = snprintf(buf, TEXT_SECONDS_MAX, "%" PRIu64 ".%06u",
	    us / 1000000, (unsigned)(us % 1000000));

	while (buf[len - 1] == '0')
		len--;
	buf[buf[len - 1] == '.' ? len - 1 : len] = '\0';
	return buf;
}

void text_seconds(struct text *t, uint64_t us)
{
	char buf[TEXT_SECONDS_MAX];

	text_string(t, text_of_seconds(buf, us));
}

/* The write function of a stream, for fopencookie(3). It takes all bytes even
 * without memory: the text remembers that it failed, and the stream need not.
 */
static ssize_t text_write(void *cookie, const char *data, size_t len)
{
	text_add(cookie, data, len);
	return (ssize_t)len;
}

FILE *text_open(struct text *t)
{
	FILE *out =
	    fopencookie(t, "w", (cookie_io_functions_t){.write = text_write});

	t->failed |= !out;
	return out;
}

void text_clear(struct text *t)
{
	t->len = 0;
	t->failed = false;
}

void text_free(struct text *t)
{
	free(t->data);
	*t = (struct text){0};
}
