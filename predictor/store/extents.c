/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shape of a run is a few pieces: neighbours are joined as they are read,
 * and three equal pieces at equal distances become one with a count. A run that
 * does not fit into EXTENTS_MAX pieces is random, and its order is kept
 * instead.
 */
#include "predictor/store/extents.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/store/keymap.h"
#include "predictor/store/vec.h"

enum {
	FIRST_FILES = 64,
	ORDER_SHARE = 256, /* bytes of orders for each file of the limit */
	ORDER_LEAST = 16,  /* pieces that an order needs to replace another */
};

/* `count` equal pieces, `stride` from start to start. All in blocks. */
struct extents_piece {
	uint32_t at, length, count;
	int32_t stride;
};

struct shape {
	struct extents_piece at[EXTENTS_MAX];
	uint8_t n;
	bool random; /* there were more pieces */
};

struct extents_file {
	uint32_t object;        /* UINT32_MAX: not in use */
	struct shape now, last; /* of the present run, and the one before */
	struct order now_order, last_order;
	uint32_t run; /* the number of `last` */
};

struct extents {
	struct keymap *map;
	struct extents_file *files;
	uint32_t n, cap, limit;
	uint32_t hand;       /* the next file that gives way */
	uint32_t runs;       /* up to now */
	size_t order_bytes;  /* of all files */
	uint32_t order_hand; /* the next file that loses its orders */
};

struct extents *extents_new(uint32_t limit)
{
	struct extents *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->map = keymap_new();
	e->limit = limit ? limit : 1;
	if (!e->map) {
		free(e);
		return NULL;
	}
	return e;
}

void extents_free(struct extents *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; i < e->n; i++) {
		order_clear(&e->files[i].now_order);
		order_clear(&e->files[i].last_order);
	}
	keymap_free(e->map);
	free(e->files);
	free(e);
}

static struct extents_file *file_find(const struct extents *e, uint32_t object)
{
	uint32_t at = keymap_get(e->map, object);

	return at == KEYMAP_NONE ? NULL : &e->files[at];
}

/* The bytes of all orders have a bound of their own, so each that goes is taken
 * off. */
static void order_forget(struct extents *e, struct order *o)
{
	e->order_bytes -= o->cap;
	order_clear(o);
}

static void file_forget(struct extents *e, struct extents_file *f)
{
	order_forget(e, &f->now_order);
	order_forget(e, &f->last_order);
}

/* A new entry, in the place of the oldest where all are taken; NULL without
 * memory. */
static struct extents_file *file_make(struct extents *e, uint32_t object)
{
	uint32_t at;

	/* Without memory for more files, the oldest gives way. */
	if (e->n == e->cap)
		VEC_GROW(e->files, e->cap, e->cap ? e->cap * 2 : FIRST_FILES,
		    e->limit);
	if (!e->files)
		return NULL;
	if (e->n < e->cap) {
		at = e->n++;
	} else {
		at = e->hand;
		e->hand = (e->hand + 1) % e->n;
		if (e->files[at].object != UINT32_MAX)
			keymap_del(e->map, e->files[at].object);
		file_forget(e, &e->files[at]);
	}
	memset(&e->files[at], 0, sizeof(e->files[at]));
	e->files[at].object = object;
	if (keymap_put(e->map, object, at)) {
		e->files[at].object = UINT32_MAX;
		return NULL;
	}
	return &e->files[at];
}

/* A run is over. Its order becomes the last one, unless the file is random and
 * the run read only a few pieces of it. */
static void orders_turn(struct extents *e, struct extents_file *f)
{
	if (f->last.random && order_count(&f->now_order) < ORDER_LEAST &&
	    order_count(&f->last_order) > 0) {
		order_forget(e, &f->now_order);
		return;
	}
	order_forget(e, &f->last_order);
	if (!f->last.random)
		order_forget(e, &f->now_order);
	f->last_order = f->now_order;
	f->now_order = (struct order){0};
}

/* Orders are large: when there are too many, those of other files go. */
static void orders_trim(struct extents *e, const struct extents_file *but)
{
	for (uint32_t i = 0; i < e->n; i++) {
		struct extents_file *f = &e->files[e->order_hand++ % e->n];

		if (e->order_bytes <= (size_t)e->limit * ORDER_SHARE)
			return;
		if (f != but)
			file_forget(e, f);
	}
}

static void order_read(
    struct extents *e, struct extents_file *f, uint32_t at, uint32_t length)
{
	uint16_t cap = f->now_order.cap;

	order_add(&f->now_order, at, length);
	e->order_bytes += (size_t)(f->now_order.cap - cap);
	if (f->now_order.cap > cap)
		orders_trim(e, f);
}

void extents_begin(struct extents *e, uint32_t object)
{
	struct extents_file *f = file_find(e, object);

	if (!f || f->now.n == 0)
		return;
	f->last = f->now;
	f->now.n = 0;
	f->now.random = false;
	orders_turn(e, f);
	f->run = ++e->runs;
}

/* Joins the blocks with the piece if it has them, or they lie right before or
 * behind it; false if not. */
static bool piece_join(struct extents_piece *p, uint32_t at, uint32_t length)
{
	uint32_t end = at + length, had = p->at + p->length;

	if (p->count > 1) {
		int64_t far = ((int64_t)at - p->at);

		/* A row of pieces cannot grow, but may be read again. */
		return p->stride && far % p->stride == 0 &&
		       far / p->stride >= 0 && far / p->stride < p->count &&
		       length <= p->length;
	}
	if (at > had || end < p->at)
		return false;
	if (at < p->at)
		p->at = at;
	p->length = (end > had ? end : had) - p->at;
	return true;
}

/* From one single piece to an equal one; 0 if they are not. */
static int64_t piece_stride(
    const struct extents_piece *a, const struct extents_piece *b)
{
	return a->count == 1 && b->count == 1 && a->length == b->length
		   ? (int64_t)b->at - a->at
		   : 0;
}

/* Makes the last piece part of the row before it, or the last three pieces a
 * row. Two do not make one, because reads out of order would look like it. */
static void shape_fold(struct shape *t)
{
	struct extents_piece *a, *b = &t->at[t->n - 1];
	int64_t stride;

	if (t->n >= 2) {
		a = b - 1;
		stride = (int64_t)a->stride * a->count;
		if (a->count > 1 && b->count == 1 && b->length == a->length &&
		    (int64_t)b->at - a->at == stride) {
			a->count++;
			t->n--;
			return;
		}
	}
	if (t->n < 3)
		return;
	a = b - 2;
	stride = piece_stride(a, a + 1);
	if (stride == 0 || stride > INT32_MAX || stride < INT32_MIN ||
	    piece_stride(a + 1, b) != stride)
		return;
	a->stride = (int32_t)stride;
	a->count = 3;
	t->n = (uint8_t)(t->n - 2);
}

/* Piece `i` has grown, and takes in the pieces that it touches now. */
static void shape_unite(struct shape *t, int i)
{
	for (int j = t->n - 1; j >= 0; j--) {
		const struct extents_piece *b = &t->at[j];

		if (j == i || b->count > 1 || t->at[i].count > 1 ||
		    !piece_join(&t->at[i], b->at, b->length))
			continue;
		for (int k = j; k + 1 < t->n; k++)
			t->at[k] = t->at[k + 1];
		t->n--;
		i -= j < i;
	}
}

/* Adds a piece to the shape. The newest pieces are looked at first, since reads
 * mostly go on where the last ones were. */
static void shape_add(struct shape *t, uint32_t at, uint32_t length)
{
	for (int i = t->n - 1; i >= 0; i--) {
		if (piece_join(&t->at[i], at, length)) {
			shape_unite(t, i);
			shape_fold(t);
			return;
		}
	}
	if (t->n == EXTENTS_MAX) {
		t->random = true;
		return;
	}
	t->at[t->n++] =
	    (struct extents_piece){.at = at, .length = length, .count = 1};
	shape_fold(t);
}

/* So many bytes in blocks, rounded up; half of all numbers at most, so that
 * sums of two do not overflow. */
static uint32_t blocks(uint64_t bytes)
{
	bytes = (bytes + EXTENT_BLOCK - 1) / EXTENT_BLOCK;
	return bytes < UINT32_MAX / 2 ? (uint32_t)bytes : UINT32_MAX / 2;
}

void extents_read(struct extents *e, uint32_t object, uint64_t offset_bytes,
    uint32_t count_bytes, uint32_t first_bytes)
{
	struct extents_file *f = file_find(e, object);
	uint32_t at = blocks(offset_bytes - offset_bytes % EXTENT_BLOCK);
	uint32_t length =
	    blocks((uint64_t)count_bytes + offset_bytes % EXTENT_BLOCK);

	if (length == 0)
		return;
	if (!f) {
		/* A file of which only the beginning is read needs no entry. */
		if (offset_bytes == 0)
			return;
		f = file_make(e, object);
		if (!f)
			return;
	}
	if (f->now.n == 0 && first_bytes && offset_bytes > 0)
		shape_add(&f->now, 0, blocks(first_bytes));
	if (!f->now.random)
		shape_add(&f->now, at, length);
	order_read(e, f, at, length);
}

size_t extents_get(const struct extents *e, uint32_t object,
    struct predictor_extent *out, size_t max)
{
	const struct extents_file *f = file_find(e, object);
	const struct shape *t;
	size_t n = 0;

	if (!f)
		return 0;
	t = f->last.n > 0 ? &f->last : &f->now;
	for (; !t->random && n < t->n && n < max; n++) {
		const struct extents_piece *p = &t->at[n];

		out[n].offset_bytes = (uint64_t)p->at * EXTENT_BLOCK;
		out[n].stride_bytes = (int64_t)p->stride * EXTENT_BLOCK;
		out[n].length_bytes = p->length < UINT32_MAX / EXTENT_BLOCK
					  ? p->length * EXTENT_BLOCK
					  : UINT32_MAX;
		out[n].count = p->count;
	}
	return n;
}

void extents_set(struct extents *e, uint32_t object,
    const struct predictor_extent *in, size_t n)
{
	struct extents_file *f = file_find(e, object);

	if (!f)
		f = file_make(e, object);
	if (!f)
		return;
	f->last.n = 0;
	f->last.random = false;
	for (size_t i = 0; i < n && i < EXTENTS_MAX; i++)
		f->last.at[f->last.n++] =
		    (struct extents_piece){.at = blocks(in[i].offset_bytes),
			.length = blocks(in[i].length_bytes),
			.count = in[i].count,
			.stride = (int32_t)(in[i].stride_bytes / EXTENT_BLOCK)};
}

uint32_t extents_run(const struct extents *e, uint32_t object)
{
	const struct extents_file *f = file_find(e, object);

	return f ? f->run : 0;
}

/* The order of the last run, or of the present one if that is the first. */
static const struct order *order_of(const struct extents *e, uint32_t object)
{
	const struct extents_file *f = file_find(e, object);

	if (!f)
		return NULL;
	if (order_count(&f->last_order) == 0 && f->now.random)
		return &f->now_order;
	return &f->last_order;
}

size_t extents_order(const struct extents *e, uint32_t object,
    struct order_piece *out, size_t max)
{
	const struct order *o = order_of(e, object);

	return o ? order_get(o, out, max) : 0;
}

size_t extents_order_pack(
    const struct extents *e, uint32_t object, unsigned char *out)
{
	const struct order *o = order_of(e, object);

	return o ? order_pack(o, out) : 0;
}

bool extents_order_set(
    struct extents *e, uint32_t object, const void *bytes, size_t len)
{
	struct extents_file *f = file_find(e, object);
	struct order o = {0};

	if (!order_set(&o, bytes, len))
		return false;
	if (!f)
		f = file_make(e, object);
	if (!f) {
		order_clear(&o);
		return false;
	}
	order_forget(e, &f->last_order);
	f->last_order = o;
	f->run = ++e->runs;
	e->order_bytes += o.cap;
	orders_trim(e, f);
	return true;
}

bool extents_full(const struct extents *e)
{
	return e->n >= e->limit;
}

size_t extents_count(const struct extents *e)
{
	return e->n;
}

void extents_drop(struct extents *e, uint32_t object)
{
	struct extents_file *f = file_find(e, object);

	if (!f)
		return;
	file_forget(e, f);
	f->object = UINT32_MAX;
	keymap_del(e->map, object);
}

size_t extents_memory_bytes(const struct extents *e)
{
	return sizeof(*e) + keymap_memory_bytes(e->map) +
	       e->cap * sizeof(*e->files) + e->order_bytes;
}
