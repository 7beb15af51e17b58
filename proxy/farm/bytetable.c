/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of short rows: see bytetable.h. Reading trusts no byte of what came,
 * since the engine may have given back anything that once was sealed. */
#include "farm/bytetable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* HEAD is the bytes before a row: how many it shares with the one before, and
 * its length. FIRST_ROOM is what a table begins with. */
enum {
	HEAD = 2, /* bytes before a row */
	FIRST_ROOM = 4096,
};

/* Makes room for so many bytes more; false without memory. The room doubles, so
 * that rows are copied a few times at most. */
static bool room(struct bytetable *t, size_t bytes)
{
	size_t cap = t->cap ? t->cap : FIRST_ROOM;
	unsigned char *data;

	while (cap < t->len + bytes)
		cap *= 2;
	if (cap == t->cap)
		return true;
	data = realloc(t->data, cap);
	if (!data)
		return false;
	t->data = data;
	t->cap = cap;
	return true;
}

bool bytetable_add(struct bytetable *t, const void *row, size_t len)
{
	const unsigned char *bytes = row;
	uint8_t same = 0;

	if (!room(t, 1 + HEAD + len))
		return false;
	while (same < t->last_len && same < len && t->last[same] == bytes[same])
		same++;
	if (t->len == 0)
		t->data[t->len++] = BYTETABLE_VERSION;
	t->data[t->len++] = same;
	t->data[t->len++] = (uint8_t)len;
	memcpy(&t->data[t->len], bytes + same, len - same);
	t->len += len - same;
	memcpy(t->last, bytes, len);
	t->last_len = (uint8_t)len;
	t->n++;
	return true;
}

void bytetable_clear(struct bytetable *t)
{
	free(t->data);
	*t = (struct bytetable){0};
}

int bytetable_open(struct bytetable_view *v, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	*v = (struct bytetable_view){0};
	if (len == 0)
		return -EBADMSG;
	v->data = bytes + 1;
	v->end = bytes + len;
	return bytes[0] == BYTETABLE_VERSION ? 0 : -EPROTONOSUPPORT;
}

bool bytetable_next(struct bytetable_view *v)
{
	size_t left = (size_t)(v->end - v->data);
	uint8_t same, len;

	if (left < HEAD || v->n == BYTETABLE_ROWS_MAX)
		return false;
	same = v->data[0];
	len = v->data[1];
	if (len == 0 || len > BYTETABLE_ROW_MAX || same > len ||
	    same > v->len || left - HEAD < (size_t)(len - same))
		return false;
	memcpy(&v->row[same], &v->data[HEAD], (size_t)(len - same));
	v->data += HEAD + len - same;
	v->len = len;
	v->n++;
	return true;
}

bool bytetable_bad(const struct bytetable_view *v)
{
	return v->data != v->end && v->n < BYTETABLE_ROWS_MAX;
}
