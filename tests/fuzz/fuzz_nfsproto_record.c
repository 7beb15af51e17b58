/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record marking. The input is a program that writes a stream (fragments
 * with made-up contents, or raw bytes) and says in what pieces it comes; a
 * model that has the whole stream before it says what must come out.
 */
#include "fuzz.h"
#include "nfsproto/rbuf.h"
#include "nfsproto/record.h"

enum { STREAM_MAX = 9 << 18, KEPT_MAX = 16, OP_BYTES = 4 };

struct stream {
	unsigned char *data;
	size_t len;
	size_t at; /* how far the reader or the model is */
};

static void stream_put(struct stream *s, const void *data, size_t len)
{
	if (len > STREAM_MAX - s->len)
		len = STREAM_MAX - s->len;
	memcpy(s->data + s->len, data, len);
	s->len += len;
}

/* No period of a power of two, so that what is moved wrongly shows. */
enum { PATTERN = 4099 };
static unsigned char pattern[PATTERN + 251];

static void pattern_fill(void)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i * 167 + (i >> 8) * 59);
}

static void stream_put_fragment(struct stream *s, uint32_t mark, size_t body)
{
	unsigned char m[RECORD_MARK_BYTES] = {(unsigned char)(mark >> 24),
	    (unsigned char)(mark >> 16), (unsigned char)(mark >> 8),
	    (unsigned char)mark};

	stream_put(s, m, sizeof(m));
	while (body > 0 && s->len < STREAM_MAX) {
		size_t n = body < PATTERN ? body : PATTERN;

		stream_put(s, pattern + s->len % 251, n);
		body -= n;
	}
}

/*
 * Operations of four bytes: kind and three bytes of length. A short raw run
 * takes its bytes from the input; a lie claims more than it sends.
 */
static void stream_write(struct stream *s, const uint8_t *in, size_t size)
{
	while (size >= OP_BYTES) {
		uint32_t last = in[0] & 1 ? RECORD_LAST_FRAGMENT : 0;
		uint32_t len =
		    in[1] | (uint32_t)in[2] << 8 | (uint32_t)in[3] << 16;
		size_t raw = in[1] < size - OP_BYTES ? in[1] : size - OP_BYTES;
		unsigned kind = in[0] >> 1 & 7;

		in += OP_BYTES;
		size -= OP_BYTES;
		if (kind == 0) {
			stream_put(s, in, raw);
			in += raw;
			size -= raw;
		} else if (kind == 1) {
			stream_put_fragment(s, last | len, len & 0xff);
		} else {
			/* Mostly short, or else all would be large. */
			len &= kind < 5 ? 0x3ff : kind < 7 ? 0xffff : 0x1fffff;
			stream_put_fragment(s, last | len, len);
		}
	}
}

/* The model: what record_reader_next() must say once it has all bytes. */
static enum record_status model_next(
    struct stream *s, unsigned char *out, size_t *len)
{
	size_t at = s->at;

	*len = 0;
	for (unsigned n = 1;; n++) {
		const unsigned char *p = s->data + at;
		uint32_t mark;

		if (s->len - at < RECORD_MARK_BYTES)
			return RECORD_MORE;
		mark = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		       (uint32_t)p[2] << 8 | p[3];
		at += RECORD_MARK_BYTES;
		if (n > RECORD_FRAGMENTS_MAX)
			return RECORD_FRAGMENTS;
		if ((mark & ~RECORD_LAST_FRAGMENT) > RECORD_BYTES_MAX - *len)
			return RECORD_TOO_LONG;
		if ((mark & ~RECORD_LAST_FRAGMENT) > s->len - at)
			return RECORD_MORE;
		memcpy(out + *len, s->data + at, mark & ~RECORD_LAST_FRAGMENT);
		*len += mark & ~RECORD_LAST_FRAGMENT;
		at += mark & ~RECORD_LAST_FRAGMENT;
		if (mark & RECORD_LAST_FRAGMENT)
			break;
	}
	s->at = at;
	return *len % 4 ? RECORD_ODD : RECORD_READY;
}

struct keeper {
	struct record kept[KEPT_MAX];
	unsigned char *copies[KEPT_MAX];
	unsigned count;
};

static void keeper_add(struct keeper *k, const struct record *rec)
{
	if (k->count == KEPT_MAX)
		return;
	k->copies[k->count] = malloc(rec->len + 1);
	MUST(k->copies[k->count]);
	memcpy(k->copies[k->count], rec->data, rec->len);
	k->kept[k->count] = *rec;
	rbuf_ref(rec->buf);
	k->count++;
}

static void keeper_check(struct keeper *k)
{
	for (unsigned i = 0; i < k->count; i++) {
		const struct record *rec = &k->kept[i];

		MUST(memcmp(rec->data, k->copies[i], rec->len) == 0);
		rbuf_unref(rec->buf);
		free(k->copies[i]);
	}
}

static void check_record(
    const struct record *rec, const unsigned char *want, size_t len)
{
	MUST(rec->len == len && len % 4 == 0 && len <= RECORD_BYTES_MAX);
	MUST((uintptr_t)rec->data % 4 == 0);
	MUST(rec->data >= rec->buf->data &&
	     rec->data + len <= rec->buf->data + rec->buf->size);
	MUST(memcmp(rec->data, want, len) == 0);
}

/*
 * Bytes of the next piece, from one to all there is room for; a long stream
 * does not come in single bytes, which would only take time.
 */
static size_t piece(uint8_t how, size_t room, size_t left)
{
	size_t n = (size_t)1 << (how & 31);

	n += (how >> 5) + left / 1024;
	n = n < room ? n : room;
	return n < left ? n : left;
}

static enum record_status drain(struct record_reader *r, struct stream *model,
    unsigned char *want, struct keeper *keep, bool hold)
{
	enum record_status st, expect;
	struct record rec;
	size_t len;

	for (;;) {
		st = record_reader_next(r, &rec);
		if (st == RECORD_MORE)
			return st;
		expect = model_next(model, want, &len);
		MUST(st == expect);
		if (st != RECORD_READY)
			return st;
		check_record(&rec, want, len);
		if (hold)
			keeper_add(keep, &rec);
	}
}

static void read_all(
    struct record_reader *r, struct stream *s, const uint8_t *in, size_t size)
{
	struct stream model = {s->data, s->len, 0};
	static unsigned char want[RECORD_BYTES_MAX];
	struct keeper keep = {.count = 0};
	enum record_status st = RECORD_MORE;
	size_t room, n, len;

	for (size_t i = 0; st == RECORD_MORE && s->at < s->len; i++) {
		void *to = record_reader_space(r, &room);

		MUST(to && room > 0 && room <= RBUF_LARGE);
		n = piece(in[i % size], room, s->len - s->at);
		memcpy(to, s->data + s->at, n);
		record_reader_filled(r, n);
		s->at += n;
		st = drain(r, &model, want, &keep, in[i % size] & 0x80);
	}
	if (st == RECORD_MORE) {
		MUST(model_next(&model, want, &len) == RECORD_MORE);
		MUST((record_reader_partial_bytes(r) > 0) ==
		     (model.at < model.len));
	}
	MUST(record_reader_moved_bytes(r) <= 4 * s->len);
	keeper_check(&keep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char bytes[STREAM_MAX];
	struct stream s = {bytes, 0, 0};
	struct record_reader *r;
	struct rbuf_pool *pool;
	size_t pieces;

	if (size < 2)
		return 0;
	pattern_fill();
	/* The first byte says how many of the next are sizes of pieces. */
	pieces = 1 + data[0] % (size - 1);
	pool = rbuf_pool_new(data[0] >> 7, data[0] >> 5 & 3);
	r = record_reader_new(pool);
	MUST(pool && r);
	stream_write(&s, data + 1 + pieces, size - 1 - pieces);
	read_all(r, &s, data + 1, pieces);
	record_reader_free(r);
	rbuf_pool_free(pool);
	return 0;
}
