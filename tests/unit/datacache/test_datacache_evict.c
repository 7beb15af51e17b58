/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A full cache gives up data: it keeps to its size, and a scan spoils little.
 */
#include "datacache/datacache_fixture.h"

static uint64_t dir_bytes(const struct fixture *fx)
{
	uint64_t sum = 0;
	DIR *dir = opendir(fx->dir);
	struct dirent *de;
	struct stat st;

	while ((de = readdir(dir)))
		if (de->d_name[0] != '.' &&
		    fstatat(dirfd(dir), de->d_name, &st, 0) == 0)
			sum += (uint64_t)st.st_blocks * 512;
	closedir(dir);
	return sum;
}

TEST(test_size_held)
{
	static const uint64_t sizes[] = {16 * MIB, 40 * MIB};

	for (unsigned s = 0; s < 2; s++) {
		ENDS_BY(fixture_end) struct fixture fx;
		uint64_t most = 0, now, live = 0;

		fixture_begin(&fx, sizes[s]);
		srand(s);
		for (unsigned i = 0; i < 6000; i++) {
			unsigned f = (unsigned)rand() % 3000;
			uint32_t len = (uint32_t)rand() % 60000 + 1;
			unsigned flags = i % 3 ? FIRM : DATACACHE_PREFETCHED;

			add_some(
			    &fx, f, 1, 0, i % 2 ? len : len / 100 + 1, flags);
			find_some(&fx, (unsigned)rand() % 3000, 1, 0, 100);
			stats_of(&fx);
			if (i % 8)
				continue;
			event_base_loop(fx.base, EVLOOP_NONBLOCK);
			now = dir_bytes(&fx);
			most = now > most ? now : most;
			if (i % 64 == 0)
				iopool_drain(fx.pool);
		}
		iopool_drain(fx.pool);
		live = stats_of(&fx).live_bytes;
		assert_true(fx.most_disk <= fx.size + fx.size / 50);
		assert_true(most <= fx.size + fx.size / 50);
		assert_true(live > fx.size / 4);
		/* Less is made of it at once. */
		datacache_resize(fx.dc, 8 * MIB);
		iopool_drain(fx.pool);
		assert_true(stats_of(&fx).disk_bytes <= 8 * MIB);
	}
}

/* 6 MiB that are used again and again, while 4 x the cache goes by once. */
TEST(test_scan)
{
	enum { HOT = 60, LEN = 100 * KIB };
	struct fixture *fx = fixture_new(32 * MIB);
	struct datacache_stats st;
	unsigned n;

	add_files(fx, HOT, LEN);
	for (unsigned i = 0; i < 4 * 32 * 10; i++) {
		add_some(fx, 1000 + i, 1, 0, LEN, FIRM);
		find_some(fx, i % HOT, 1, 0, LEN);
		if (i % 4 == 0)
			iopool_drain(fx->pool);
	}
	n = count_files(fx, HOT, LEN);
	assert_in_range(n, HOT * 9 / 10, HOT);
	st = stats_of(fx);
	assert_true(st.kept_bytes > 6 * MIB);
	assert_true(st.evicted_bytes > 90 * MIB);
	assert_int_equal(st.bad_extents, 0);
	/* Extents that the eviction moved are as good on disk as they were
	 * before. */
	fixture_reopen(fx);
	assert_true(count_files(fx, HOT, LEN) >= HOT * 9 / 10);
	assert_int_equal(stats_of(fx).bad_extents, 0);
}

TEST(test_prefetched_first)
{
	enum { LEN = 100 * KIB, N = 120 };
	struct fixture *fx = fixture_new(32 * MIB);
	unsigned ahead = 0, demand = 0, used = 0;

	for (unsigned i = 0; i < N; i++) {
		add_some(fx, i, 1, 0, LEN, FIRM);
		add_some(fx, 1000 + i, 1, 0, LEN, FIRM | DATACACHE_PREFETCHED);
		if (i % 4 == 0)
			iopool_drain(fx->pool);
	}
	iopool_drain(fx->pool);
	for (unsigned i = 0; i < N; i += 10)
		used += find_some(fx, 1000 + i, 1, 0, LEN);
	for (unsigned i = 0; i < 90; i++) {
		add_some(fx, 5000 + i, 1, 0, LEN, FIRM);
		if (i % 4 == 0)
			iopool_drain(fx->pool);
	}
	demand = count_files(fx, N, LEN);
	assert_int_equal(demand, N);
	for (unsigned i = 1; i < N; i++)
		ahead += i % 10 && find_some(fx, 1000 + i, 1, 0, LEN);
	assert_true(ahead < 60);
	assert_true(stats_of(fx).unused_bytes > 5 * MIB);
	assert_true(used >= 10);
	for (unsigned i = 0; i < N; i += 10)
		used -= find_some(fx, 1000 + i, 1, 0, LEN);
	/* Moved on, but for what did not fit. */
	assert_in_range(used, 0, 3);
}
