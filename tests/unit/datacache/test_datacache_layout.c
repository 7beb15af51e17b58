/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data laid out in the order of its use: what moves, what stays, and what
 * happens on a full disk, with pins, drops and eviction meanwhile.
 */
#include <sys/mount.h>
#include <sys/wait.h>

#include "datacache/layout_fixture.h"

TEST(test_order)
{
	ENDS_BY(fixture_end) struct fixture fx;
	struct datacache_stats st, before;

	begin_used(&fx);
	before = stats_of(&fx);
	assert_false(is_sequential(&before.run));
	assert_int_equal(before.run.bytes, N * LEN);
	st = pass(&fx, false);
	assert_int_equal(st.layout_end, DATACACHE_LAYOUT_DONE);
	assert_int_equal(st.layout_passes, 1);
	assert_int_equal(st.layout_moved_bytes, N * LEN);
	assert_int_equal(st.layout_before.bytes, N * LEN);
	assert_int_equal(st.layout_after.bytes, N * LEN);
	assert_false(is_sequential(&st.layout_before));
	assert_true(is_sequential(&st.layout_after));
	assert_true(st.layout_after.runs < 8);
	/* The segments that the pass emptied are gone, and so is its plan. */
	assert_int_equal(st.live_bytes, N * LEN);
	assert_true(st.disk_bytes <= before.disk_bytes + 3 * MIB);
	assert_true(st.memory_bytes <= before.memory_bytes + 4 * KIB);
	assert_true(fx.most_disk <= fx.size + fx.size / 50);
	/* A warm start reads in that order. */
	fixture_reopen(&fx);
	assert_int_equal(stats_of(&fx).loaded_extents, N);
	assert_int_equal(use(&fx), N);
	st = stats_of(&fx);
	assert_int_equal(st.run.bytes, N * LEN);
	assert_true(is_sequential(&st.run));
	/* A second pass finds the layout good, and moves nothing. */
	st = pass(&fx, false);
	assert_int_equal(st.layout_end, DATACACHE_LAYOUT_GOOD);
	assert_int_equal(st.layout_moved_bytes, 0);
	assert_int_equal(st.layout_passes, 0);
	assert_int_equal(datacache_layout_begin(fx.dc, false), -ENODATA);
}

/* A pass does not move data that was fetched ahead and never read, or that
 * nobody has read since the start. */
TEST(test_unused)
{
	struct fixture *fx = fixture_new(64 * MIB);
	struct datacache_stats st;

	assert_int_equal(datacache_layout_begin(fx->dc, true), -ENODATA);
	for (unsigned i = 0; i < N; i++)
		add_some(fx, i, 1, 0, LEN, FIRM | DATACACHE_PREFETCHED);
	iopool_drain(fx->pool);
	assert_int_equal(datacache_layout_begin(fx->dc, true), -ENODATA);
	datacache_new_run(fx->dc);
	for (unsigned i = N / 2; i > 0; i--)
		assert_true(find_some(fx, 2 * i - 1, 1, 0, LEN));
	st = pass(fx, false);
	assert_int_equal(st.layout_moved_bytes, N / 2 * LEN);
	assert_true(is_sequential(&st.layout_after));
	assert_int_equal(st.live_bytes, N * LEN);
	/* Not again, unless it is used again; and what is long stays. */
	assert_int_equal(datacache_layout_begin(fx->dc, false), -ENODATA);
	fixture_reopen(fx);
	assert_int_equal(datacache_layout_begin(fx->dc, true), -ENODATA);
	assert_int_equal(use(fx), N);
}

/* Only the last run's order counts, and what it read first. */
TEST(test_last_run)
{
	ENDS_BY(fixture_end) struct fixture fx;
	struct datacache_stats st;

	begin_used(&fx);
	datacache_new_run(fx.dc);
	for (unsigned i = 0; i < N; i++) {
		assert_true(find_some(&fx, i, 1, 0, LEN));
		assert_true(find_some(&fx, i / 2, 1, 0, LEN));
	}
	st = stats_of(&fx);
	assert_true(is_sequential(&st.run));
	assert_int_equal(pass(&fx, false).layout_moved_bytes, 0);
	assert_int_equal(use(&fx), N);
	assert_true(pass(&fx, false).layout_moved_bytes > 0);
}

/* A reader keeps what it was given, whatever moves. */
TEST(test_references)
{
	ENDS_BY(fixture_end) struct fixture fx;
	struct data_version v = version_of(1);
	struct rbuf_piece pieces[N];

	begin_used(&fx);
	for (unsigned i = 0; i < N; i++) {
		struct datacache_read rd = {
		    .key = key_of(i), .version = &v, .len = LEN};
		unsigned n;

		assert_int_equal(
		    datacache_find(fx.dc, &rd, &pieces[i], &n, NULL),
		    DATACACHE_HIT);
		assert_int_equal(n, 1);
		rbuf_ref(pieces[i].hold);
	}
	(void)pass(&fx, true);
	assert_int_equal(use(&fx), N);
	for (unsigned i = 0; i < N; i++) {
		const unsigned char *data = pieces[i].data;

		for (uint32_t k = 0; k < LEN; k++)
			assert_true(data[k] == pattern_byte(i, 1, k));
		rbuf_unref(pieces[i].hold);
	}
	iopool_drain(fx.pool);
	assert_true(stats_of(&fx).disk_bytes < 20 * MIB);
}

/* Found while they are on their way, and dropped, cut and written anew. */
TEST(test_changes)
{
	ENDS_BY(fixture_end) struct fixture fx;
	struct data_key key;

	begin_used(&fx);
	assert_int_equal(datacache_layout_begin(fx.dc, false), 0);
	for (unsigned i = 0; datacache_layout_busy(fx.dc); i++) {
		unsigned one = nth(i % N);

		(void)datacache_layout_step(fx.dc, MIB);
		if (i % 3 == 0 && i < N)
			drop(&fx, one);
		key = key_of(nth((i + 7) % N));
		if (i % 5 == 0)
			datacache_cut(fx.dc, &key, 0, LEN / 2);
		if (i % 7 == 0)
			add_some(&fx, nth((i + 11) % N), 2, 0, LEN, FIRM);
		if (i % 2 == 0)
			iopool_drain(fx.pool);
	}
	for (unsigned i = 0; i < N; i += 2)
		drop(&fx, i);
	iopool_drain(fx.pool);
	fixture_reopen(&fx);
	for (unsigned i = 0; i < N; i += 2)
		assert_false(has(&fx, i));
	for (unsigned i = 1; i < N; i += 2)
		(void)(find_some(&fx, i, 1, LEN / 2, LEN / 2) ||
		       find_some(&fx, i, 2, 0, LEN));
}

/* A part of what was written together stays where it is, whole. */
TEST(test_parts)
{
	ENDS_BY(fixture_end) struct fixture fx;
	struct data_key key;

	begin_used(&fx);
	for (unsigned i = 0; i < N; i += 4) {
		key = key_of(i);
		datacache_cut(fx.dc, &key, LEN / 4, LEN / 4);
	}
	datacache_new_run(fx.dc);
	for (unsigned i = 0; i < N; i++)
		assert_true(find_some(&fx, nth(i), 1, LEN / 2, LEN / 2));
	assert_int_equal(pass(&fx, false).layout_moved_bytes, N / 4 * 3 * LEN);
	for (unsigned twice = 0; twice < 2; twice++) {
		for (unsigned i = 0; i < N; i++) {
			assert_true(find_some(&fx, i, 1, LEN / 2, LEN / 2));
			assert_true(find_some(&fx, i, 1, 0, LEN / 4));
			assert_int_equal(
			    find_some(&fx, i, 1, 0, LEN), i % 4 != 0);
		}
		fixture_reopen(&fx);
	}
}

/* ---- room ------------------------------------------------------------- */

static unsigned count(struct fixture *fx, uint64_t first, unsigned files)
{
	unsigned n = 0;

	for (unsigned i = 0; i < files; i++)
		n += has(fx, first + i);
	return n;
}

/* In a cache that is full nothing is given up for the layout. */
TEST(test_full_cache)
{
	struct fixture *fx = fixture_new(16 * MIB);
	struct datacache_stats before, st;
	unsigned files;

	fill(fx, 0, 1000);
	/* The cache evicts now, ahead of need, so that the pass below need not.
	 */
	datacache_resize(fx->dc, fx->size);
	iopool_drain(fx->pool);
	files = count(fx, 0, 1000);
	datacache_new_run(fx->dc);
	for (unsigned i = 0; i < 1000; i++)
		(void)find_some(fx, i * 77 % 1000, 1, 0, LEN);
	before = stats_of(fx);
	assert_true(before.evicted_extents > 0);
	st = pass(fx, false);
	assert_int_equal(st.layout_end, DATACACHE_LAYOUT_ROOM);
	assert_int_equal(st.evicted_extents, before.evicted_extents);
	assert_int_equal(count(fx, 0, 1000), files);
	assert_true(fx->most_disk <= fx->size + fx->size / 50);
	fixture_reopen(fx);
	assert_int_equal(count(fx, 0, 1000), files);
}

/* Others write so much that segments go while they are moved out of. */
TEST(test_evicted)
{
	ENDS_BY(fixture_end) struct fixture fx;
	uint64_t next = OTHER;

	begin_used(&fx);
	assert_int_equal(datacache_layout_begin(fx.dc, false), 0);
	while (datacache_layout_busy(fx.dc)) {
		(void)datacache_layout_step(fx.dc, 8 * LEN);
		for (unsigned i = 0; i < 64; i++)
			add_some(&fx, next++, 1, 0, LEN, FIRM);
		if (next % 128 == 0)
			iopool_drain(fx.pool);
		stats_of(&fx);
	}
	fill(&fx, next, 4 * 64 * MIB / LEN);
	assert_true(fx.most_disk <= fx.size + fx.size / 50);
	(void)use(&fx);
	fixture_reopen(&fx);
	(void)use(&fx);
}

/* An extent that a pass moves is not lost when the cache evicts its old segment
 * meanwhile. */
TEST(test_evicted_source)
{
	ENDS_BY(fixture_end) struct fixture fx;

	begin_used(&fx);
	assert_int_equal(datacache_layout_begin(fx.dc, true), 0);
	while (datacache_layout_busy(fx.dc)) {
		(void)datacache_layout_step(fx.dc, MIB);
		/* All but what is being written to is to go. */
		datacache_resize(fx.dc, 1 * MIB);
		datacache_resize(fx.dc, fx.size);
		iopool_drain(fx.pool);
	}
	iopool_drain(fx.pool);
	(void)use(&fx);
	fixture_reopen(&fx);
	(void)use(&fx);
}

TEST(test_pinned)
{
	struct fixture *fx = fixture_new(64 * MIB);
	struct datacache_stats st;

	fill(fx, 0, N);
	for (unsigned i = 0; i < N; i += 2) {
		struct data_key key = key_of(i);

		assert_true(datacache_pin(fx->dc, &key, LEN, 3, true));
	}
	assert_int_equal(use(fx), N);
	st = pass(fx, false);
	assert_int_equal(st.pinned_bytes, N / 2 * LEN);
	assert_int_equal(st.layout_moved_bytes, N * LEN);
	assert_int_equal(use(fx), N);
	fill(fx, OTHER, 4 * 64 * MIB / LEN);
	assert_int_equal(stats_of(fx).pinned_bytes, N / 2 * LEN);
	for (unsigned i = 0; i < N; i += 2)
		assert_true(find_some(fx, i, 1, 0, LEN));
	assert_true(fx->most_disk <= fx->size + fx->size / 50);
}

/* A disk without room for it: what was cached is served on, and new data is
 * taken as before. */
TEST(test_full_disk)
{
	struct fixture fx;
	struct datacache_stats st;

	fixture_prepare(&fx, 64 * MIB);
	if (mount("none", fx.dir, "tmpfs", 0, "size=9m,mode=700") < 0) {
		fixture_open(&fx);
		fixture_end(&fx);
		skip();
	}
	fixture_open(&fx);
	fill(&fx, 0, N);
	assert_int_equal(use(&fx), N);
	st = pass(&fx, false);
	assert_int_equal(st.layout_end, DATACACHE_LAYOUT_DISK);
	assert_true(st.on);
	assert_int_equal(use(&fx), N);
	/* Not again by itself. */
	assert_int_equal(datacache_layout_begin(fx.dc, false), -ENOSPC);
	fill(&fx, OTHER, 300);
	assert_true(count(&fx, OTHER + 290, 10) > 0);
	fixture_reopen(&fx);
	(void)use(&fx);
	fixture_close(&fx);
	assert_int_equal(umount2(fx.dir, MNT_DETACH), 0);
	fixture_open(&fx);
	fixture_end(&fx);
}

TEST(test_flush)
{
	ENDS_BY(fixture_end) struct fixture fx;

	begin_used(&fx);
	for (unsigned steps = 0; steps < 12; steps++) {
		assert_int_equal(datacache_layout_begin(fx.dc, true), 0);
		for (unsigned i = 0; i < steps; i++)
			(void)datacache_layout_step(fx.dc, 4 * LEN);
		if (steps % 2)
			datacache_flush(fx.dc);
		else
			datacache_layout_stop(fx.dc);
		assert_false(datacache_layout_busy(fx.dc));
		iopool_drain(fx.pool);
		fill(&fx, 0, N);
		assert_int_equal(use(&fx), N);
	}
	/* Closed in the midst of it. */
	assert_int_equal(datacache_layout_begin(fx.dc, true), 0);
	for (unsigned i = 0; i < 6; i++)
		(void)datacache_layout_step(fx.dc, 4 * LEN);
	fixture_reopen(&fx);
	assert_int_equal(use(&fx), N);
}

/* Little memory: fewer extents, those used last. */
TEST(test_memory)
{
	ENDS_BY(fixture_end) struct fixture fx;
	struct datacache_stats st;
	uint64_t most;

	begin_used(&fx);
	most = 4 * stats_of(&fx).memory_bytes;
	datacache_set_memory(fx.dc, most);
	assert_int_equal(datacache_layout_begin(fx.dc, true), 0);
	assert_true(stats_of(&fx).memory_bytes <= most);
	datacache_layout_stop(fx.dc);
	st = pass(&fx, true);
	assert_true(st.layout_before.bytes > 0);
	assert_int_equal(st.evicted_extents, 0);
	assert_int_equal(use(&fx), N);
	datacache_set_memory(fx.dc, st.memory_bytes);
	assert_int_equal(datacache_layout_begin(fx.dc, true), -ENOMEM);
}
