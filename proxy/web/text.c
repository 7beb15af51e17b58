/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that grows by half, and what is put into it: numbers, seconds, JSON. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web/text.h"

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

void text_seconds(struct text *t, uint64_t us)
{
	char buf[8];
	size_t len = 6;

	text_number(t, us / 1000000);
	if (us % 1000000 == 0)
		return;
	snprintf(buf, sizeof(buf), "%06u", (unsigned)(us % 1000000));
	while (buf[len - 1] == '0')
		len--;
	text_string(t, ".");
	text_add(t, buf, len);
}

/* How many bytes of a well-formed character stand there; 0: none (RFC 3629,
 * section 4). */
static size_t utf8_length(const unsigned char *p, size_t len)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (n == 1)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

void text_json(struct text *t, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t n;

	text_string(t, "\"");
	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = utf8_length(p + i, len - i);
		if (n == 0)
			text_string(t, "?");
		else if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\' ||
			 p[i] == '<' || p[i] == 0x7f)
			text_print(t, "\\u%04x", p[i]);
		else
			text_add(t, (const char *)p + i, n);
	}
	text_string(t, "\"");
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
