/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packs bytes into records, and takes them out again. metapack.c says what is
 * in them. Reading trusts nothing: each length is held against what is left, so
 * a damaged file makes a view `bad` and leads nowhere else. */
#include "cache/metafile.h"

#include <stdlib.h>
#include <string.h>

void metabuf_put(struct metabuf *b, const void *data, size_t len)
{
	if (b->len + len > b->room) {
		size_t room = b->room ? b->room : 65536;
		void *more;

		while (room < b->len + len)
			room *= 2;
		more = realloc(b->data, room);
		if (!more) {
			b->failed = true;
			return;
		}
		b->data = more;
		b->room = room;
	}
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}

void metabuf_put_u8(struct metabuf *b, uint8_t v)
{
	metabuf_put(b, &v, sizeof(v));
}

void metabuf_put_u32(struct metabuf *b, uint32_t v)
{
	metabuf_put(b, &v, sizeof(v));
}

void metabuf_put_u64(struct metabuf *b, uint64_t v)
{
	metabuf_put(b, &v, sizeof(v));
}

void metabuf_put_bytes(struct metabuf *b, const void *data, size_t len)
{
	metabuf_put_u32(b, (uint32_t)len);
	metabuf_put(b, data, len);
}

size_t metabuf_begin(struct metabuf *b, enum metafile_type type)
{
	size_t at = b->len;

	metabuf_put_u32(b, 0);
	metabuf_put_u8(b, (uint8_t)type);
	return at;
}

void metabuf_end(struct metabuf *b, size_t at)
{
	uint32_t len = (uint32_t)(b->len - at);

	if (!b->failed)
		memcpy(b->data + at, &len, sizeof(len));
}

void metaview_get(struct metaview *v, void *to, size_t len)
{
	if (v->len < len) {
		v->bad = true;
		memset(to, 0, len);
		return;
	}
	memcpy(to, v->data, len);
	v->data += len;
	v->len -= len;
}

uint8_t metaview_get_u8(struct metaview *v)
{
	uint8_t n;

	metaview_get(v, &n, sizeof(n));
	return n;
}

uint32_t metaview_get_u32(struct metaview *v)
{
	uint32_t n;

	metaview_get(v, &n, sizeof(n));
	return n;
}

uint64_t metaview_get_u64(struct metaview *v)
{
	uint64_t n;

	metaview_get(v, &n, sizeof(n));
	return n;
}

const void *metaview_get_bytes(struct metaview *v, uint32_t *len)
{
	const void *data;

	*len = metaview_get_u32(v);
	data = v->data;
	if (v->len < *len) {
		v->bad = true;
		*len = 0;
		return "";
	}
	v->data += *len;
	v->len -= *len;
	return data;
}

bool metaview_next(
    struct metaview *v, enum metafile_type *type, struct metaview *record)
{
	enum { HEAD = 5 };
	uint32_t len;

	if (v->len < HEAD)
		return false;
	memcpy(&len, v->data, sizeof(len));
	if (len < HEAD || len > v->len) {
		v->bad = true;
		return false;
	}
	*type = (enum metafile_type)v->data[4];
	*record = (struct metaview){.data = v->data + HEAD, .len = len - HEAD};
	v->data += len;
	v->len -= len;
	return true;
}
