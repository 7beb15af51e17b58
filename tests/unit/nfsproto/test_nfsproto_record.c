/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Record marking: streams in, records out, and how much is moved for it. */
#include "unittest.h"
#include "nfsproto/nfsproto_wire.h"
#include "nfsproto/record.h"

enum { MIB = 1 << 20 };

/* The bytes of a stream and a reader of them. */
struct feed {
	struct rbuf_pool *pool;
	struct record_reader *r;
	struct wire w;
	size_t at;
};

static void feed_open(struct feed *f)
{
	memset(f, 0, sizeof(*f));
	f->pool = rbuf_pool_new(0, 4);
	assert_non_null(f->pool);
	f->r = record_reader_new(f->pool);
	assert_non_null(f->r);
}

static void feed_close(struct feed *f)
{
	record_reader_free(f->r);
	rbuf_pool_free(f->pool);
	wire_free(&f->w);
}

/* The bytes of record number `n` (< 1024) from its byte `from` on, up to its
 * end. They lie in one array for all records, made once: tests of megabytes
 * take as long as memcpy() does. */
static const unsigned char *content(size_t n, size_t from)
{
	static unsigned char bytes[RECORD_BYTES_MAX + 1024 * 31];
	static bool made;

	for (size_t i = 0; !made && i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + (i >> 8) * 5);
	made = true;
	return bytes + n * 31 + from;
}

/* A fragment of record number `n`, whose bytes start at `from`. */
static void put_fragment(
    struct feed *f, size_t n, size_t from, size_t len, bool last)
{
	struct wire *w = &f->w;

	wire_u32(w, (uint32_t)len | (last ? RECORD_LAST_FRAGMENT : 0));
	if (w->len + len > w->size) {
		w->size = 2 * (w->len + len);
		w->data = realloc(w->data, w->size);
		assert_non_null(w->data);
	}
	memcpy(w->data + w->len, content(n, from), len);
	w->len += len;
}

static void put_record(struct feed *f, size_t n, size_t len)
{
	put_fragment(f, n, 0, len, true);
}

/* Receive at most `max` bytes; how many. */
static size_t feed_recv(struct feed *f, size_t max)
{
	size_t room, n = f->w.len - f->at;
	void *to = record_reader_space(f->r, &room);

	assert_non_null(to);
	assert_true(room > 0);
	assert_true(room <= RBUF_LARGE);
	n = n < max ? n : max;
	n = n < room ? n : room;
	memcpy(to, f->w.data + f->at, n);
	record_reader_filled(f->r, n);
	f->at += n;
	return n;
}

static void check_content(const struct record *rec, size_t n, size_t len)
{
	assert_int_equal(rec->len, len);
	assert_int_equal((uintptr_t)rec->data % 4, 0);
	assert_true(rec->data >= rec->buf->data);
	assert_true(rec->data + len <= rec->buf->data + rec->buf->size);
	assert_memory_equal(rec->data, content(n, 0), len);
}

/* Receive in pieces of `step` until there is a record or an error. */
static enum record_status feed_next(
    struct feed *f, size_t step, struct record *rec)
{
	enum record_status st = record_reader_next(f->r, rec);

	while (st == RECORD_MORE && f->at < f->w.len) {
		feed_recv(f, step);
		st = record_reader_next(f->r, rec);
	}
	return st;
}

FIXTURE(struct feed, feed_open, feed_close);

TEST(one_record, struct feed *f)
{
	struct record rec;

	assert_int_equal(record_reader_next(f->r, &rec), RECORD_MORE);
	assert_int_equal(record_reader_partial_bytes(f->r), 0);
	put_record(f, 1, 128);
	assert_int_equal(feed_next(f, MIB, &rec), RECORD_READY);
	check_content(&rec, 1, 128);
	assert_int_equal(record_reader_next(f->r, &rec), RECORD_MORE);
	assert_int_equal(record_reader_partial_bytes(f->r), 0);
	assert_int_equal(record_reader_moved_bytes(f->r), 0);
}

TEST(many_records_in_one_piece, struct feed *f)
{
	struct record rec;

	for (size_t n = 0; n < 200; n++)
		put_record(f, n, 4 * n);
	for (size_t n = 0; n < 200; n++) {
		assert_int_equal(feed_next(f, MIB, &rec), RECORD_READY);
		check_content(&rec, n, 4 * n);
	}
	assert_int_equal(feed_next(f, MIB, &rec), RECORD_MORE);
}

TEST(byte_by_byte, struct feed *f)
{
	struct record rec;

	for (size_t n = 0; n < 20; n++)
		put_record(f, n, 40 * n);
	for (size_t n = 0; n < 20; n++) {
		assert_int_equal(feed_next(f, 1, &rec), RECORD_READY);
		check_content(&rec, n, 40 * n);
		assert_int_equal(record_reader_partial_bytes(f->r), 0);
	}
	/* Each record ended with its buffer empty: nothing to move. */
	assert_int_equal(record_reader_moved_bytes(f->r), 0);
	put_record(f, 20, 8);
	feed_recv(f, 1);
	assert_int_equal(record_reader_next(f->r, &rec), RECORD_MORE);
	assert_true(record_reader_partial_bytes(f->r) > 0);
}

static void fragments_of(size_t count, size_t len, size_t step)
{
	struct record rec;
	ENDS_BY(feed_close) struct feed f;

	feed_open(&f);
	for (size_t n = 0; n < 3; n++)
		for (size_t i = 0; i < count; i++)
			put_fragment(&f, n, i * len, len, i + 1 == count);
	for (size_t n = 0; n < 3; n++) {
		if (count > RECORD_FRAGMENTS_MAX) {
			assert_int_equal(
			    feed_next(&f, step, &rec), RECORD_FRAGMENTS);
			break;
		}
		assert_int_equal(feed_next(&f, step, &rec), RECORD_READY);
		check_content(&rec, n, count * len);
	}
}

TEST(fragments)
{
	static const size_t steps[] = {1, 3, 4096, MIB};

	for (size_t s = 0; s < 4; s++) {
		for (size_t count = 1; count <= RECORD_FRAGMENTS_MAX + 1;
		     count++) {
			fragments_of(count, 4, steps[s]);
			fragments_of(count, 12, steps[s]);
		}
		/* Fragments may be odd where the record is not. */
		fragments_of(4, 7, steps[s]);
		fragments_of(8, 1, steps[s]);
		fragments_of(16, 0, steps[s]);
		fragments_of(17, 0, steps[s]);
	}
	fragments_of(16, 60000, 9999);
}

TEST(a_second_fragment_is_moved, struct feed *f)
{
	struct record rec;

	put_fragment(f, 0, 0, 100, false);
	put_fragment(f, 0, 100, 60, true);
	assert_int_equal(feed_next(f, MIB, &rec), RECORD_READY);
	check_content(&rec, 0, 160);
	assert_int_equal(record_reader_moved_bytes(f->r), 60);
}

TEST(empty_fragments_between)
{
	struct record rec;
	struct feed f;

	for (size_t step = 1; step < 40; step++) {
		feed_open(&f);
		put_fragment(&f, 0, 0, 0, false);
		put_fragment(&f, 0, 0, 6, false);
		put_fragment(&f, 0, 6, 0, false);
		put_fragment(&f, 0, 6, 6, false);
		put_fragment(&f, 0, 12, 0, true);
		put_record(&f, 1, 0);
		put_record(&f, 2, 16);
		assert_int_equal(feed_next(&f, step, &rec), RECORD_READY);
		check_content(&rec, 0, 12);
		assert_int_equal(feed_next(&f, step, &rec), RECORD_READY);
		assert_int_equal(rec.len, 0);
		assert_int_equal(feed_next(&f, step, &rec), RECORD_READY);
		check_content(&rec, 2, 16);
		feed_close(&f);
	}
}

static enum record_status claim(size_t first, uint32_t mark)
{
	enum record_status st;
	struct record rec;
	struct feed f;

	feed_open(&f);
	if (first > 0)
		put_fragment(&f, 0, 0, first, false);
	wire_u32(&f.w, mark);
	st = feed_next(&f, MIB, &rec);
	/* feed_recv() asserts that no larger buffer is made. */
	if (st == RECORD_MORE)
		feed_recv(&f, 1);
	feed_close(&f);
	return st;
}

TEST(too_long)
{
	const uint32_t last = RECORD_LAST_FRAGMENT;

	assert_int_equal(claim(0, last | RECORD_BYTES_MAX), RECORD_MORE);
	assert_int_equal(
	    claim(0, last | (RECORD_BYTES_MAX + 1)), RECORD_TOO_LONG);
	assert_int_equal(claim(0, 0x7fffffff), RECORD_TOO_LONG);
	assert_int_equal(claim(0, 0xffffffff), RECORD_TOO_LONG);
	assert_int_equal(
	    claim(1000, last | (RECORD_BYTES_MAX - 1000)), RECORD_MORE);
	assert_int_equal(
	    claim(1000, last | (RECORD_BYTES_MAX - 999)), RECORD_TOO_LONG);
	assert_int_equal(claim(RECORD_BYTES_MAX, last | 4), RECORD_TOO_LONG);
	assert_int_equal(claim(4, 0x7fffffff), RECORD_TOO_LONG);
}

TEST(longest_record, struct feed *f)
{
	struct record rec;

	for (size_t n = 0; n < 3; n++)
		put_record(f, n, RECORD_BYTES_MAX);
	for (size_t n = 0; n < 3; n++) {
		assert_int_equal(feed_next(f, 70000, &rec), RECORD_READY);
		check_content(&rec, n, RECORD_BYTES_MAX);
	}
}

TEST(odd_length)
{
	struct record rec;
	struct feed f;

	for (size_t len = 1; len < 12; len++) {
		feed_open(&f);
		put_record(&f, 0, len);
		assert_int_equal(feed_next(&f, MIB, &rec),
		    len % 4 ? RECORD_ODD : RECORD_READY);
		feed_close(&f);
	}
}

enum { STEADY = 12, HELD = 3 };

/*
 * Bytes that records 2 to STEADY, of `len` bytes each, made the reader move.
 * With `hold`, the last HELD records are kept by reference, as WRITEs are
 * while they are sent on.
 */
static uint64_t steady_moved(size_t len, size_t step, bool hold)
{
	struct rbuf *held[STEADY] = {0};
	uint64_t first = 0, moved;
	struct record rec;
	struct feed f;

	feed_open(&f);
	for (size_t n = 0; n < STEADY; n++)
		put_record(&f, n, len);
	for (size_t n = 0; n < STEADY; n++) {
		assert_int_equal(feed_next(&f, step, &rec), RECORD_READY);
		check_content(&rec, n, len);
		if (n == 0)
			first = record_reader_moved_bytes(f.r);
		if (hold)
			held[n] = rbuf_ref(rec.buf);
		if (n >= HELD)
			rbuf_unref(held[n - HELD]);
	}
	moved = record_reader_moved_bytes(f.r) - first;
	for (size_t n = STEADY - HELD; n < STEADY; n++)
		rbuf_unref(held[n]);
	feed_close(&f);
	return moved;
}

TEST(large_records_are_hardly_moved)
{
	static const size_t lens[] = {MIB, MIB + 132, 512 << 10,
	    (512 << 10) + 132, (700 << 10) + 4, (256 << 10) + 132,
	    RECORD_BYTES_MAX};
	static const size_t steps[] = {
	    1448, 4096, 16384, 65536, 100000, 262144, MIB, 8 * MIB};

	for (size_t l = 0; l < 7; l++) {
		for (size_t s = 0; s < 8; s++) {
			for (int hold = 0; hold < 2; hold++) {
				uint64_t moved =
				    steady_moved(lens[l], steps[s], hold);

				if (moved > (STEADY - 1) * (8 << 10))
					fail_msg("len=%zu step=%zu hold=%d: "
						 "%llu bytes moved",
					    lens[l], steps[s], hold,
					    (unsigned long long)moved);
			}
		}
	}
}

TEST(small_after_large_shares_a_buffer, struct feed *f)
{
	struct rbuf *buf = NULL;
	struct record rec;
	unsigned changes = 0;

	put_record(f, 0, MIB);
	for (size_t n = 1; n <= 100; n++)
		put_record(f, n, 200);
	assert_int_equal(feed_next(f, 65536, &rec), RECORD_READY);
	for (size_t n = 1; n <= 100; n++) {
		assert_int_equal(feed_next(f, 65536, &rec), RECORD_READY);
		check_content(&rec, n, 200);
		changes += buf != rec.buf;
		buf = rec.buf;
	}
	assert_true(changes <= 3);
}

TEST(a_reference_keeps_the_bytes, struct feed *f)
{
	struct record kept, rec;

	put_record(f, 0, 4000);
	for (size_t n = 1; n <= 600; n++)
		put_record(f, n, 4 * n);
	put_record(f, 601, MIB);
	put_record(f, 602, 400);
	assert_int_equal(feed_next(f, 5000, &kept), RECORD_READY);
	rbuf_ref(kept.buf);
	for (size_t n = 1; n <= 602; n++)
		assert_int_equal(feed_next(f, 5000, &rec), RECORD_READY);
	check_content(&kept, 0, 4000);
	/* It outlives the reader and the pool. */
	check_content(&kept, 0, 4000);
	rbuf_unref(kept.buf);
}

static uint32_t next_random(uint32_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 17;
	*s ^= *s << 5;
	return *s;
}

enum { RANDOM_RECORDS = 60 };

static size_t random_length(uint32_t *seed)
{
	uint32_t kind = next_random(seed) % 16;
	uint32_t max = kind == 0 ? MIB : kind < 4 ? 80000 : 600;

	return next_random(seed) % max / 4 * 4;
}

static void put_random(struct feed *f, uint32_t *seed, size_t lens[])
{
	for (size_t n = 0; n < RANDOM_RECORDS; n++) {
		size_t left = lens[n] = random_length(seed), part;
		unsigned pieces = next_random(seed) % RECORD_FRAGMENTS_MAX;

		if (next_random(seed) % 2)
			pieces = 0;
		for (unsigned i = 0; i < pieces; i++) {
			part = next_random(seed) % (left + 1);
			put_fragment(f, n, lens[n] - left, part, false);
			left -= part;
		}
		put_fragment(f, n, lens[n] - left, left, true);
	}
}

static void random_stream(uint32_t seed)
{
	struct record rec, held = {0};
	size_t lens[RANDOM_RECORDS], held_n = 0, max;
	ENDS_BY(feed_close) struct feed f;

	feed_open(&f);
	put_random(&f, &seed, lens);
	max = (size_t)1 << (8 + next_random(&seed) % 12);
	for (size_t n = 0; n < RANDOM_RECORDS; n++) {
		while (record_reader_next(f.r, &rec) == RECORD_MORE)
			assert_true(
			    feed_recv(&f, 1 + next_random(&seed) % max) > 0);
		/* record_reader_next() filled it in the loop's last test. */
		check_content(&rec, n, lens[n]);
		if (next_random(&seed) % 4 == 0) {
			if (held.buf)
				check_content(&held, held_n, lens[held_n]);
			rbuf_unref(held.buf);
			held = rec;
			held_n = n;
			rbuf_ref(held.buf);
		}
	}
	assert_int_equal(f.at, f.w.len);
	assert_int_equal(record_reader_partial_bytes(f.r), 0);
	assert_true(record_reader_moved_bytes(f.r) <= 3 * f.w.len);
	rbuf_unref(held.buf);
}

TEST(random_streams)
{
	for (uint32_t seed = 1; seed <= 40; seed++)
		random_stream(seed * 2654435761u);
}

TEST(pool_reuses_and_outlives)
{
	struct rbuf_pool *pool = rbuf_pool_new(1, 1);
	struct rbuf *a, *b;

	assert_non_null(pool);
	a = rbuf_get(pool, 1);
	assert_int_equal(a->size, RBUF_SMALL);
	assert_int_equal((uintptr_t)a->data % 64, 0);
	rbuf_unref(a);
	assert_ptr_equal(rbuf_get(pool, RBUF_SMALL), a);
	b = rbuf_get(pool, RBUF_SMALL + 1);
	assert_int_equal(b->size, RBUF_LARGE);
	assert_ptr_equal(rbuf_ref(b), b);
	rbuf_unref(b);
	memset(b->data, 1, b->size);
	rbuf_unref(a);
	rbuf_pool_free(pool);
	rbuf_unref(b);
	rbuf_unref(NULL);
	rbuf_pool_free(NULL);
	record_reader_free(NULL);
}
