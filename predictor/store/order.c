/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packing and unpacking orders: see order.h. A run over a large file may have
 * thousands of pieces; packed, one that begins near the end of the one before
 * takes two or three bytes. */
#include "predictor/store/order.h"

#include <stdlib.h>
#include <string.h>

enum {
	LENGTH_MAX = 32, /* blocks of one piece */
	FIRST_BYTES = 64,
	NUMBER_BYTES = 5, /* for 33 bits */
};

void order_clear(struct order *o)
{
	free(o->bytes);
	memset(o, 0, sizeof(*o));
}

/* Room for one more piece, whatever numbers it has; false where the order is
 * too long, or without memory. */
static bool room(struct order *o)
{
	size_t cap = o->cap ? o->cap * 2u : FIRST_BYTES;
	unsigned char *more;

	if (o->cap - o->len >= 2 * NUMBER_BYTES)
		return true;
	if (cap > ORDER_BYTES)
		return false;
	more = realloc(o->bytes, cap);
	if (!more)
		return false;
	o->bytes = more;
	o->cap = (uint16_t)cap;
	return true;
}

/* Seven bits a byte, the lowest first; the highest bit says that more follow.
 */
static void put(struct order *o, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		o->bytes[o->len++] = (unsigned char)(v | 128);
	o->bytes[o->len++] = (unsigned char)v;
}

/* The last piece does not grow any more, and is packed. */
static void finish(struct order *o)
{
	int64_t skip = (int64_t)o->last.at - o->end;

	if (o->last.length == 0)
		return;
	if (o->n == ORDER_MAX || !room(o)) {
		o->over = true;
		return;
	}
	put(o, skip < 0 ? ((uint64_t)-skip << 1) - 1 : (uint64_t)skip << 1);
	put(o, o->last.length);
	o->n++;
	o->end = o->last.at + o->last.length;
	o->last.length = 0;
}

void order_add(struct order *o, uint32_t at, uint32_t length)
{
	struct order_piece *x = &o->last;

	if (o->over || length == 0)
		return;
	if (length > LENGTH_MAX)
		length = LENGTH_MAX;
	/* The same blocks again, or those right behind them. */
	if (x->length > 0 && at >= x->at && at <= x->at + x->length &&
	    at + length <= x->at + LENGTH_MAX) {
		if (at + length > x->at + x->length)
			x->length = at + length - x->at;
		return;
	}
	finish(o);
	if (!o->over)
		*x = (struct order_piece){at, length};
}

size_t order_count(const struct order *o)
{
	return o->over ? 0 : (size_t)o->n + (o->last.length > 0);
}

/* The reverse of put(); false where the bytes end before the number does. */
static bool get(const unsigned char **at, const unsigned char *end, uint64_t *v)
{
	*v = 0;
	for (int bits = 0; bits < 7 * NUMBER_BYTES && *at < end; bits += 7) {
		unsigned char c = *(*at)++;

		*v |= (uint64_t)(c & 127) << bits;
		if (!(c & 128))
			return true;
	}
	return false;
}

/* Unpacks the piece behind one that ends at `*end`; false if it is nonsense. */
static bool get_piece(const unsigned char **at, const unsigned char *stop,
    int64_t *end, struct order_piece *x)
{
	uint64_t skip, length;

	if (!get(at, stop, &skip) || !get(at, stop, &length) || length == 0 ||
	    length > LENGTH_MAX)
		return false;
	*end += skip & 1 ? -(int64_t)(skip / 2) - 1 : (int64_t)(skip / 2);
	if (*end < 0 || *end > UINT32_MAX / 2)
		return false;
	*x = (struct order_piece){(uint32_t)*end, (uint32_t)length};
	*end += (int64_t)length;
	return true;
}

size_t order_get(const struct order *o, struct order_piece *out, size_t max)
{
	const unsigned char *at = o->bytes;
	int64_t end = 0;
	size_t n = 0;

	if (o->over)
		return 0;
	while (n < max && n < o->n &&
	       get_piece(&at, o->bytes + o->len, &end, &out[n]))
		n++;
	if (n == o->n && n < max && o->last.length > 0)
		out[n++] = o->last;
	return n;
}

size_t order_pack(const struct order *o, unsigned char *out)
{
	struct order copy = *o;

	if (o->len > 0)
		memcpy(out, o->bytes, o->len);
	/* It has room enough, so finish() will not allocate. */
	copy.bytes = out;
	copy.cap = ORDER_PACKED;
	finish(&copy);
	return copy.over ? 0 : copy.len;
}

bool order_set(struct order *o, const void *bytes, size_t len)
{
	const unsigned char *at = bytes, *stop = at + len;
	struct order_piece x;
	int64_t end = 0;
	uint16_t n = 0;

	if (len == 0 || len > ORDER_PACKED)
		return false;
	while (at < stop) {
		if (n == ORDER_MAX || !get_piece(&at, stop, &end, &x))
			return false;
		n++;
	}
	order_clear(o);
	o->bytes = malloc(len);
	if (!o->bytes)
		return false;
	memcpy(o->bytes, bytes, len);
	o->len = o->cap = (uint16_t)len;
	o->n = n;
	o->end = (uint32_t)end;
	return true;
}
