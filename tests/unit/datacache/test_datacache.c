/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads find the data that was added, and no other, from memory and from disk;
 * test_datacache_disk.c tests the disk itself. */
#include "datacache/datacache_fixture.h"
#include "datacache/datacache_write.h"

FIXTURE(struct fixture, fixture_of_16m, fixture_end);

TEST(test_find, struct fixture *fx)
{
	struct datacache_stats st;

	assert_false(find_some(fx, 1, 1, 0, 100));
	add_some(fx, 1, 1, 0, 64 * KIB, FIRM);
	/* Before anything ran, out of memory. */
	assert_int_equal(find_now(fx, 1, 1, 100, 1000, 0, NULL), DATACACHE_HIT);
	st = stats_of(fx);
	assert_int_equal(st.pending_bytes, 64 * KIB);
	iopool_drain(fx->pool);
	st = stats_of(fx);
	assert_int_equal(st.pending_bytes, 0);
	assert_int_equal(st.live_bytes, 64 * KIB);
	/* Out of the segment, without a wait: it was just written. */
	assert_int_equal(
	    find_now(fx, 1, 1, 0, 64 * KIB, 0, NULL), DATACACHE_HIT);
	assert_false(find_some(fx, 1, 1, 1, 64 * KIB));
	assert_false(find_some(fx, 2, 1, 0, 1));
}

TEST(test_pieces, struct fixture *fx)
{
	for (unsigned i = 0; i < 128; i++)
		add_some(fx, 1, 1, i * 4 * KIB, 4 * KIB, FIRM);
	/* Each is a record of its own yet. */
	assert_int_equal(
	    find_now(fx, 1, 1, 0, 256 * KIB, 0, NULL), DATACACHE_HIT);
	assert_int_equal(
	    find_now(fx, 1, 1, 0, 256 * KIB + 1, 0, NULL), DATACACHE_MISS);
	iopool_drain(fx->pool);
	/* Written side by side, they are one. */
	assert_true(find_some(fx, 1, 1, 0, 512 * KIB));
	assert_true(find_some(fx, 1, 1, 4 * KIB - 1, 4 * KIB + 2));
}

static uint64_t have(struct fixture *fx, uint64_t file, uint64_t version,
    uint64_t offset, uint32_t len, uint64_t valid_us)
{
	struct data_version v = version_of(version);
	struct datacache_read rd = {.key = key_of(file),
	    .version = &v,
	    .offset = offset,
	    .len = len,
	    .valid_us = valid_us};

	return datacache_have(fx->dc, &rd);
}

/* New data over old, at every edge; before and after it was written. */
TEST(test_overlap, struct fixture *fx)
{
	static const uint32_t ends[][2] = {{0, 1000}, {500, 1500}, {900, 100},
	    {999, 2}, {1000, 1000}, {1999, 5000}, {2000, 1000}, {0, 3000},
	    {1, 2998}, {2999, 1}};

	for (unsigned i = 0; i < 4 * LENGTH(ends); i++) {
		const uint32_t *e = ends[i / 4];
		bool firm = i % 4 < 2;
		uint64_t end = e[0] + e[1] > 3000 ? e[0] + e[1] : 3000;

		for (unsigned k = 0; k < 3; k++)
			add_sent(fx, i, 1, k * 1000, 1000, firm ? FIRM : 0, 1);
		if (i % 2)
			iopool_drain(fx->pool);
		add_sent(fx, i, 1, e[0], e[1], firm ? FIRM : 0, 2);
		assert_int_equal(have(fx, i, 1, 0, 9000, 0), end);
		assert_int_equal(have(fx, i, 1, 0, 9000, 2), firm ? end : e[1]);
		for (unsigned k = 0; k < 2; k++) {
			/* The cache never puts pieces together that are not
			 * firm: they may be of different moments. */
			assert_int_equal(find_some(fx, i, 1, 0, (uint32_t)end),
			    firm || (e[0] == 0 && e[1] == end));
			assert_true(find_at(fx, i, 1, e[0], e[1], 2));
			iopool_drain(fx->pool);
		}
	}
}

TEST(test_version, struct fixture *fx)
{
	struct data_version v1 = version_of(1), v2 = version_of(2);
	struct data_key key = key_of(1);

	add_some(fx, 1, 1, 0, 1000, FIRM);
	add_some(fx, 1, 1, 1000, 1000, FIRM);
	add_some(fx, 1, 2, 1000, 1000, FIRM);
	assert_false(find_some(fx, 1, 2, 0, 2000));
	assert_true(find_some(fx, 1, 2, 1000, 1000));
	assert_int_equal(stats_of(fx).extents, 1);
	assert_false(find_some(fx, 1, 3, 1000, 1000));
	assert_int_equal(stats_of(fx).files, 0);
	/* Bytes that stayed under a new version: not firm any more. */
	add_some(fx, 1, 1, 0, 1000, FIRM);
	datacache_rebind(fx->dc, &key, &v1, &v1, 5);
	assert_true(find_at(fx, 1, 1, 0, 1000, 5));
	assert_false(find_at(fx, 1, 1, 0, 1000, 6));
	assert_int_equal(have(fx, 1, 1, 500, 1000, 5), 500);
	datacache_rebind(fx->dc, &key, &v2, &v1, 5);
	assert_int_equal(stats_of(fx).files, 0);
	/* A rebind keeps the firm extents together, and drops the others. */
	add_some(fx, 1, 1, 0, 1000, FIRM);
	add_some(fx, 1, 1, 1000, 1000, FIRM);
	add_some(fx, 1, 1, 2000, 1000, 0);
	datacache_rebind(fx->dc, &key, &v1, &v1, 5);
	assert_true(find_at(fx, 1, 1, 0, 2000, 5));
	assert_false(find_at(fx, 1, 1, 2000, 1000, 0));
	add_some(fx, 1, 1, 2000, 1000, FIRM);
	assert_false(find_at(fx, 1, 1, 0, 3000, 5));
	datacache_rebind(fx->dc, &key, &v1, &v1, 9);
	assert_false(find_at(fx, 1, 1, 0, 1000, 0));
	assert_true(find_at(fx, 1, 1, 2000, 1000, 9));
}

TEST(test_rebind_bytes, struct fixture *fx)
{
	struct data_version v1 = version_of(1), v2 = version_of(2);
	struct datacache_read rd = {
	    .key = key_of(1), .version = &v2, .len = 1000, .valid_us = 7};
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	unsigned n;

	add_some(fx, 1, 1, 0, 1000, FIRM);
	datacache_rebind(fx->dc, &rd.key, &v1, &v2, 7);
	assert_int_equal(
	    datacache_find(fx->dc, &rd, pieces, &n, NULL), DATACACHE_HIT);
	assert_int_equal(n, 1);
	assert_int_equal(
	    ((const unsigned char *)pieces[0].data)[9], pattern_byte(1, 1, 9));
	/* Neither version comes back: it was promised to neither. */
	fixture_reopen(fx);
	rd.valid_us = 0;
	assert_int_equal(
	    datacache_find(fx->dc, &rd, pieces, &n, NULL), DATACACHE_MISS);
}

TEST(test_valid, struct fixture *fx)
{
	add_sent(fx, 1, 1, 0, 1000, 0, 100);
	add_sent(fx, 1, 1, 1000, 1000, FIRM, 50);
	add_sent(fx, 1, 1, 2000, 1000, 0, UINT64_C(1) << 48);
	assert_true(find_at(fx, 1, 1, 0, 1000, 100));
	assert_false(find_at(fx, 1, 1, 0, 1000, 101));
	assert_false(find_at(fx, 1, 1, 0, 3000, 100));
	assert_false(find_at(fx, 1, 1, 1000, 2000, 101));
	assert_true(find_at(fx, 1, 1, 1000, 1000, UINT64_C(1) << 50));
	assert_int_equal(have(fx, 1, 1, 0, 5000, 101), 2000);
	iopool_drain(fx->pool);
	assert_true(find_at(fx, 1, 1, 0, 1000, 100));
	assert_false(find_at(fx, 1, 1, 0, 1000, 101));
	/* Only what is firm is used after a start. */
	fixture_reopen(fx);
	assert_false(find_some(fx, 1, 1, 0, 1));
	assert_true(find_at(fx, 1, 1, 1000, 1000, 1000));
	assert_false(find_some(fx, 1, 1, 2000, 1));
}

/* A range that was cut does not come back, whenever it was cut. */
TEST(test_cut, struct fixture *fx)
{
	struct data_key key[4];

	for (unsigned i = 0; i < 4; i++) {
		key[i] = key_of(i);
		add_some(fx, i, 1, 0, 8192, FIRM);
		add_some(fx, i, 1, 8192, 8192, FIRM);
	}
	datacache_cut(fx->dc, &key[0], 4096, 8192); /* queued, or on its way */
	datacache_drop(fx->dc, &key[3]);
	iopool_drain(fx->pool);
	datacache_cut(fx->dc, &key[1], 4096, 8192); /* written */
	datacache_cut(fx->dc, &key[1], 100000, 8192);
	datacache_drop(fx->dc, &key[2]);
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(have(fx, 1, 1, 0, 16384, 0), 8192);
		assert_true(find_some(fx, 1, 1, 0, 4096));
		assert_true(find_some(fx, 1, 1, 12288, 4096));
		for (unsigned i = 0; i < 2; i++) {
			assert_false(find_some(fx, i, 1, 4095, 2));
			assert_false(find_some(fx, i, 1, 4096, 1));
			assert_false(find_some(fx, i, 1, 12287, 1));
		}
		assert_int_equal(have(fx, 2, 1, 0, 16384, 0), 0);
		assert_int_equal(have(fx, 3, 1, 0, 16384, 0), 0);
		fixture_reopen(fx);
	}
	/* Data that is added after a drop stays. */
	add_some(fx, 2, 1, 0, 16384, FIRM);
	fixture_reopen(fx);
	assert_true(find_some(fx, 2, 1, 0, 16384));
}

/* Few bytes of a large buffer do not keep it. */
TEST(test_copy, struct fixture *fx)
{
	struct rbuf *b;
	struct data_version v = version_of(1);
	struct datacache_add add = {
	    .key = key_of(1), .version = &v, .len = 100, .flags = FIRM};

	b = AFTER(rbuf_unref, rbuf_get(fx->bufs, RBUF_LARGE));
	add.data = b->data;
	add.hold = b;
	pattern_fill(b->data, 1, 1, 0, RBUF_SMALL * 2);
	datacache_add(fx->dc, &add);
	assert_int_equal(b->refs, 1);
	assert_int_equal(stats_of(fx).copied_bytes, 100);
	add.len = RBUF_SMALL * 2;
	datacache_add(fx->dc, &add);
	assert_int_equal(b->refs, 2);
	add.hold = NULL;
	add.len = 10;
	datacache_add(fx->dc, &add);
	assert_int_equal(stats_of(fx).copied_bytes, 110);
	assert_true(find_some(fx, 1, 1, 0, RBUF_SMALL * 2));
	iopool_drain(fx->pool);
	assert_int_equal(b->refs, 1);
}

/* More than may wait for the disk is refused, and nothing else happens. */
TEST(test_refuse)
{
	struct fixture *fx = fixture_new(256 * MIB);
	struct datacache_stats st;

	for (unsigned i = 0; i < 80; i++)
		add_some(fx, i, 1, 0, MIB, FIRM);
	st = stats_of(fx);
	assert_in_range(st.pending_bytes, 60 * MIB, 64 * MIB);
	assert_in_range(st.refused_bytes, 16 * MIB, 22 * MIB);
	iopool_drain(fx->pool);
	st = stats_of(fx);
	assert_int_equal(st.pending_bytes, 0);
	assert_int_equal(st.live_bytes, st.added_bytes);
	for (unsigned i = 0; i < 60; i++)
		assert_true(find_some(fx, i, 1, 0, MIB));
}

TEST(test_waiter, struct fixture *fx)
{
	struct datacache_waiter w[3];

	add_some(fx, 1, 1, 0, 8192, FIRM);
	fixture_reopen(fx);
	for (unsigned i = 0; i < 3; i++) {
		w[i] = (struct datacache_waiter){.on_ready = on_ready};
		assert_int_equal(
		    find_now(fx, 1, 1, i, 100, 0, &w[i]), DATACACHE_WAIT);
		assert_non_null(w[i].request);
	}
	datacache_cancel(fx->dc, &w[1]);
	datacache_cancel(fx->dc, &w[1]);
	assert_null(w[1].request);
	iopool_drain(fx->pool);
	assert_null(w[0].on_ready);
	assert_non_null(w[1].on_ready);
	assert_null(w[2].on_ready);
	assert_int_equal(find_now(fx, 1, 1, 0, 8192, 0, NULL), DATACACHE_HIT);
	assert_int_equal(stats_of(fx).bad_extents, 0);
	/* Forgotten by a close. */
	fixture_reopen(fx);
	assert_int_equal(find_now(fx, 1, 1, 0, 100, 0, &w[1]), DATACACHE_WAIT);
	fixture_reopen(fx);
	assert_non_null(w[1].on_ready);
	assert_null(w[1].request);
}

enum { FILES = 4, BLOCKS = 400, BLOCK = 512 };

/* Of each file its version, and which blocks were added and not cut. */
struct model {
	uint8_t version[FILES], there[FILES][BLOCKS];
};

static void model_step(struct fixture *fx, struct model *m, bool strict)
{
	unsigned f = (unsigned)rand() % FILES, what = (unsigned)rand() % 100;
	unsigned at = (unsigned)rand() % BLOCKS, n = 1 + (unsigned)rand() % 12;
	struct data_key key = key_of(f);
	bool all = true, found;

	n = n < BLOCKS - at ? n : BLOCKS - at;
	for (unsigned k = at; k < at + n; k++)
		all = all && m->there[f][k];
	if (what < 50) {
		add_some(fx, f, m->version[f], at * BLOCK, n * BLOCK,
		    FIRM | (what & 1 ? DATACACHE_PREFETCHED : 0));
		memset(&m->there[f][at], 1, n);
	} else if (what < 85) {
		found = find_some(fx, f, m->version[f], at * BLOCK, n * BLOCK);
		assert_true(strict ? found == all : all || !found);
	} else if (what < 96) {
		datacache_cut(fx->dc, &key, at * BLOCK, n * BLOCK);
		memset(&m->there[f][at], 0, n);
	} else if (what < 97) {
		m->version[f]++;
		memset(m->there[f], 0, BLOCKS);
		assert_false(find_some(fx, f, m->version[f], 0, BLOCK));
	} else if (what < 99) {
		iopool_drain(fx->pool);
	} else {
		fixture_reopen(fx);
	}
	/* A start may lose data whose neighbour was cut while it waited for the
	 * disk, so a strict run lets the disk finish after each step. */
	if (strict)
		iopool_drain(fx->pool);
}

TEST(test_random)
{
	static struct model m;
	ENDS_BY(fixture_end) struct fixture fx;

	memset(m.version, 1, sizeof(m.version));
	fixture_begin(&fx, 64 * MIB);
	srand(7);
	for (unsigned i = 0; i < 8000; i++)
		model_step(&fx, &m, i < 4000);
	assert_int_equal(stats_of(&fx).refused_bytes, 0);
}

/* Many extents of one file, in any order. */
TEST(test_large_file)
{
	enum { N = 20000 };
	struct fixture *fx = fixture_new(64 * MIB);
	uint64_t sum = 0;

	for (unsigned i = 0; i < N; i++) {
		add_some(fx, 1, 1, (i * UINT64_C(7919)) % N * 16, 16, FIRM);
		if (i % 1000 == 0)
			iopool_drain(fx->pool);
	}
	iopool_drain(fx->pool);
	assert_int_equal(have(fx, 1, 1, 0, N * 16, 0), N * 16);
	assert_int_equal(stats_of(fx).extents, N);
	for (unsigned i = 0; i < N; i += 97)
		assert_true(find_some(fx, 1, 1, i * 16, 16));
	for (unsigned i = 0; i < N; i += 3, sum += 16) {
		struct data_key key = key_of(1);

		datacache_cut(fx->dc, &key, i * 16, 16);
	}
	assert_int_equal(have(fx, 1, 1, 0, N * 16, 0), N * 16 - sum);
	fixture_reopen(fx);
	assert_int_equal(have(fx, 1, 1, 0, N * 16, 0), N * 16 - sum);
	datacache_flush(fx->dc);
	iopool_drain(fx->pool);
	assert_int_equal(stats_of(fx).disk_bytes, 0);
	assert_true(stats_of(fx).memory_bytes < 100000);
}

TEST(test_behind, struct fixture *fx)
{
	enum { N = 20, LEN = 1 << 20 };

	assert_false(datacache_is_behind(NULL));
	for (unsigned i = 0; i < N; i++) {
		if (i < N / 2)
			assert_false(datacache_is_behind(fx->dc));
		add_some(fx, 1, 1, (uint64_t)i * LEN, LEN, FIRM);
	}
	assert_true(datacache_is_behind(fx->dc));
	iopool_drain(fx->pool);
	assert_false(datacache_is_behind(fx->dc));
}

/* Data that the server sends again sooner than the disk writes it is not kept,
 * but now and then; pinned data is, and what would take the server longer. */
TEST(test_spares_near_data, struct fixture *fx)
{
	enum { N = 64, LEN = 1 << 20, FAR = 3600 };
	struct data_key pinned = key_of(2);
	unsigned kept = 0;

	for (unsigned i = 0; i < 4; i++) {
		add_some(fx, 1, 1, i * LEN, LEN, FIRM);
		iopool_drain(fx->pool);
	}
	assert_true(datacache_cost_us(fx->dc, LEN) > 1);
	assert_true(datacache_pin(fx->dc, &pinned, LEN, 0, true));
	add_of(fx, 2, 1, 0, LEN, FIRM, 0, 1);
	add_of(fx, 3, 1, 0, LEN, FIRM, 0, UINT64_C(1000000) * FAR);
	assert_true(find_some(fx, 2, 1, 0, LEN));
	assert_true(find_some(fx, 3, 1, 0, LEN));
	for (unsigned i = 0; i < N; i++) {
		add_of(fx, 100 + i, 1, 0, LEN, FIRM, 0, 1);
		kept += find_some(fx, 100 + i, 1, 0, LEN);
		iopool_drain(fx->pool);
	}
	assert_in_range(kept, 1, N / 16);
	assert_int_equal(stats_of(fx).spared_bytes, (N - kept) * LEN);
}

/* A client that got newer bytes does not find older ones later. What is the
 * same for certain stays. */
TEST(test_spared_data_supersedes, struct fixture *fx)
{
	enum { LEN = 1 << 20 };

	fx->dc->write_us = 10000000;
	add_some(fx, 1, 1, 0, LEN, 0);
	assert_true(find_some(fx, 1, 1, 0, LEN));
	add_of(fx, 1, 1, 0, LEN, FIRM, 0, 1);
	assert_false(find_some(fx, 1, 1, 0, LEN));
	add_some(fx, 2, 1, 0, LEN, FIRM);
	add_of(fx, 2, 1, 0, LEN, 0, 0, 1);
	assert_false(find_some(fx, 2, 1, 0, LEN));
	add_some(fx, 3, 1, LEN / 2, LEN / 2, FIRM);
	add_of(fx, 3, 1, 0, LEN, FIRM, 0, 1);
	assert_true(find_some(fx, 3, 1, LEN / 2, LEN / 2));
	assert_int_equal(stats_of(fx).spared_bytes, 3 * LEN);
}

/* A disk that was slow once is found to be fast again, though nothing but a few
 * small writes comes to it. */
TEST(test_spares_for_a_while, struct fixture *fx)
{
	enum { LEN = 128 << 10, UNIT = 1 << 20 };
	uint64_t slow_us, i;

	add_some(fx, 1, 1, 0, UNIT, FIRM);
	iopool_drain(fx->pool);
	slow_us = fx->dc->write_us = 10000000;
	for (i = 0; i < 2000 && fx->dc->write_us > slow_us / 10; i++) {
		add_of(fx, 100 + i, 1, 0, LEN, FIRM, 0, 1);
		iopool_drain(fx->pool);
	}
	assert_true(i > 32 && i < 2000);
}

/* The cache writes together the data that comes in bit by bit: a client that
 * reads 4 KiB at a time does not pay for a write of each. */
TEST(test_gathered)
{
	struct fixture *fx = fixture_new(64 * MIB);

	fixture_close(fx);
	fx->gathers = true;
	fixture_open(fx);
	for (unsigned i = 0; i < BATCH_MAX - 1; i++) {
		add_some(fx, i, 1, 0, 4 * KIB, FIRM);
		assert_int_equal(iopool_jobs(fx->pool), 0);
		assert_true(find_some(fx, i, 1, 0, 4 * KIB));
	}
	/* As many as a write takes do not wait, nor does a large piece. */
	add_some(fx, BATCH_MAX, 1, 0, 4 * KIB, FIRM);
	assert_int_equal(iopool_jobs(fx->pool), 1);
	iopool_drain(fx->pool);
	assert_int_equal(stats_of(fx).pending_bytes, 0);
	add_some(fx, 0, 2, 0, 256 * KIB, FIRM);
	assert_int_equal(iopool_jobs(fx->pool), 1);
	/* A piece that comes beside a write waits for others, or for the tick.
	 */
	add_some(fx, 1, 2, 0, 4 * KIB, FIRM);
	iopool_drain(fx->pool);
	assert_true(stats_of(fx).pending_bytes > 0);
	datacache_tick(fx->dc, 1000000, false);
	iopool_drain(fx->pool);
	assert_int_equal(stats_of(fx).pending_bytes, 0);
	/* The cache does not write what it was told to forget. */
	add_some(fx, 2, 2, 0, 4 * KIB, FIRM);
	datacache_flush(fx->dc);
	datacache_tick(fx->dc, 2000000, false);
	iopool_drain(fx->pool);
	assert_int_equal(stats_of(fx).pending_bytes, 0);
	/* A stop loses nothing. */
	add_some(fx, 3, 2, 0, 4 * KIB, FIRM);
	assert_int_equal(iopool_jobs(fx->pool), 0);
	fixture_reopen(fx);
	assert_true(find_some(fx, 3, 2, 0, 4 * KIB));
}
