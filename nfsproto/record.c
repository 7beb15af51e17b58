/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cuts a stream of bytes into records, in place: the marks between fragments
 * are taken out, and a record's bytes move only where that leaves a gap, or
 * where its buffer ends. The layout of the current buffer:
 *
 *	0 … start   records that were given out
 *	start … end bytes of the record in the making, marks taken out
 *	scan … fill bytes that were received and not looked at
 *
 * `end` and `scan` are equal until a record has a second fragment, whose mark
 * leaves a gap of four bytes between them.
 */
#include "nfsproto/record.h"

#include <string.h>
#include <stdlib.h>

/* Below this a buffer is not worth a recv() any more. */
enum { SPACE_MIN = 4096 };

/* Offsets count bytes from the beginning of `buf`. */
struct record_reader {
	struct rbuf_pool *pool;
	struct rbuf *buf;
	size_t start, end, scan, fill;
	size_t missing; /* bytes of the current fragment still to come */
	unsigned fragments;
	bool last; /* the current fragment is the record's last */
	bool in_fragment;
	size_t last_bytes; /* of the last record: the next may be like it */
	uint64_t moved_bytes;
};

struct record_reader *record_reader_new(struct rbuf_pool *pool)
{
	struct record_reader *r = calloc(1, sizeof(*r));

	if (r)
		r->pool = pool;
	return r;
}

void record_reader_free(struct record_reader *r)
{
	if (!r)
		return;
	rbuf_unref(r->buf);
	free(r);
}

/* Whether the next record is thought to need a large buffer: one client's
 * records are mostly alike, so the last one tells. */
static bool reader_large(const struct record_reader *r)
{
	return r->last_bytes > RBUF_SMALL;
}

/* Goes on in a buffer with room for `need` bytes from `start` on. The bytes
 * that are there already have to move, because a record lies in one piece. */
static bool reader_rebase(struct record_reader *r, size_t need)
{
	struct rbuf *b;
	size_t keep = r->fill - r->start;

	if (need < keep + SPACE_MIN)
		need = keep + SPACE_MIN;
	if (reader_large(r) && need <= RBUF_SMALL)
		need = RBUF_SMALL + 1;
	b = rbuf_get(r->pool, need);
	if (!b)
		return false;
	if (r->buf && keep > 0)
		memcpy(b->data, r->buf->data + r->start, keep);
	r->moved_bytes += keep;
	rbuf_unref(r->buf);
	r->buf = b;
	r->end -= r->start;
	r->scan -= r->start;
	r->fill -= r->start;
	r->start = 0;
	return true;
}

/* Bytes that are known or thought to be missing of the present record. */
static size_t reader_expect(const struct record_reader *r)
{
	if (r->in_fragment)
		return r->missing;
	if (reader_large(r) && r->fill - r->start < RECORD_MARK_BYTES)
		return r->last_bytes + RECORD_MARK_BYTES;
	return 0;
}

void *record_reader_space(struct record_reader *r, size_t *len)
{
	size_t expect = reader_expect(r);
	size_t want = expect > SPACE_MIN ? expect : SPACE_MIN;

	/* Nothing kept and nobody else looking: begin anew in place. */
	if (r->buf && r->fill == r->start && r->buf->refs == 1 &&
	    (r->buf->size > RBUF_SMALL) == reader_large(r))
		r->start = r->end = r->scan = r->fill = 0;
	if (!r->buf || r->buf->size - r->fill < want)
		if (!reader_rebase(r, r->fill - r->start + want))
			return NULL;
	*len = r->buf->size - r->fill;
	/* Bytes behind a large record have to be moved, so take few. */
	if (r->end - r->start + expect > RBUF_SMALL && *len > want + SPACE_MIN)
		*len = want + SPACE_MIN;
	return r->buf->data + r->fill;
}

void record_reader_filled(struct record_reader *r, size_t len)
{
	r->fill += len;
}

static uint32_t load_mark(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* Read a fragment's mark, if it is there. */
static enum record_status reader_mark(struct record_reader *r)
{
	uint32_t mark;

	if (r->fill - r->scan < RECORD_MARK_BYTES)
		return RECORD_MORE;
	mark = load_mark(r->buf->data + r->scan);
	r->scan += RECORD_MARK_BYTES;
	r->last = mark & RECORD_LAST_FRAGMENT;
	r->missing = mark & ~RECORD_LAST_FRAGMENT;
	if (++r->fragments > RECORD_FRAGMENTS_MAX)
		return RECORD_FRAGMENTS;
	if (r->fragments == 1)
		r->start = r->end = r->scan;
	if (r->missing > RECORD_BYTES_MAX - (r->end - r->start))
		return RECORD_TOO_LONG;
	r->in_fragment = true;
	return RECORD_READY;
}

/* Take what came of the fragment. */
static void reader_take(struct record_reader *r)
{
	size_t have = r->fill - r->scan;
	size_t n = have < r->missing ? have : r->missing;

	if (r->end != r->scan && n > 0) {
		memmove(r->buf->data + r->end, r->buf->data + r->scan, n);
		r->moved_bytes += n;
	}
	r->end += n;
	r->scan += n;
	r->missing -= n;
	/* With nothing behind it, close the gap that a mark left. */
	if (r->scan == r->fill)
		r->scan = r->fill = r->end;
	r->in_fragment = r->missing > 0;
}

/* Gives the record out, and begins the next one behind it. */
static enum record_status reader_finish(
    struct record_reader *r, struct record *rec)
{
	rec->buf = r->buf;
	rec->data = r->buf->data + r->start;
	rec->len = r->end - r->start;
	r->last_bytes = rec->len;
	r->start = r->end = r->scan;
	r->fragments = 0;
	/* XDR has no odd sizes, and views need their boundaries kept. */
	return rec->len % 4 == 0 ? RECORD_READY : RECORD_ODD;
}

enum record_status record_reader_next(
    struct record_reader *r, struct record *rec)
{
	enum record_status st;

	if (!r->buf)
		return RECORD_MORE;
	for (;;) {
		if (!r->in_fragment) {
			st = reader_mark(r);
			if (st != RECORD_READY)
				return st;
		}
		reader_take(r);
		if (r->in_fragment)
			return RECORD_MORE;
		if (r->last)
			return reader_finish(r, rec);
	}
}

size_t record_reader_partial_bytes(const struct record_reader *r)
{
	size_t mark = r->fragments > 0 ? RECORD_MARK_BYTES : 0;

	return mark + r->fill - r->start;
}

uint64_t record_reader_moved_bytes(const struct record_reader *r)
{
	return r->moved_bytes;
}
