/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pinned files: what stays when all else goes. */
#include "datacache/datacache_fixture.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { LEN = 100 * KIB, SCAN = 1000000 };

static bool pin(struct fixture *fx, uint64_t file, uint64_t bytes, unsigned p)
{
	struct data_key key = key_of(file);

	return datacache_pin(fx->dc, &key, bytes, p, true);
}

static bool is_pinned(struct fixture *fx, uint64_t file, unsigned p)
{
	struct data_key key = key_of(file);

	return datacache_is_pinned(fx->dc, &key, p);
}

static struct datacache_pin_stats pin_stats(struct fixture *fx, unsigned p)
{
	struct datacache_pin_walk w = {0};

	while (!datacache_pin_stats_step(fx->dc, &w, SIZE_MAX / 2))
		;
	return w.pins[p];
}

static void fill(struct fixture *fx, uint64_t first, unsigned files)
{
	for (unsigned i = 0; i < files; i++) {
		add_some(fx, first + i, 1, 0, LEN, FIRM);
		if (i % 16 == 0)
			iopool_drain(fx->pool);
		stats_of(fx);
	}
	iopool_drain(fx->pool);
	stats_of(fx);
}

/* Other data, `times` as much as the cache holds. */
static void flood(struct fixture *fx, unsigned times)
{
	static uint64_t next = SCAN;
	unsigned files = (unsigned)(times * fx->size / LEN);

	fill(fx, next, files);
	next += files;
}

static unsigned count_found(struct fixture *fx, uint64_t first, unsigned files)
{
	unsigned n = 0;

	for (unsigned i = 0; i < files; i++)
		n += find_some(fx, first + i, 1, 0, LEN);
	return n;
}

/* Without using it, which would have it outlast newer data. */
static bool has(struct fixture *fx, uint64_t file)
{
	struct data_version v = version_of(1);
	struct datacache_read rd = {
	    .key = key_of(file), .version = &v, .len = LEN};

	return datacache_have(fx->dc, &rd) == LEN;
}

static void within_bounds(struct fixture *fx)
{
	if (fx->most_disk > fx->size + fx->size / 50)
		fail_msg("%d bytes on disk", (int)fx->most_disk);
}

FIXTURE(struct fixture, fixture_of_64m, fixture_end);

/* Data that comes after its file was pinned, and data that was there. */
TEST(test_stays, struct fixture *fx)
{
	enum { N = 100 };

	fill(fx, 0, N);
	for (unsigned i = 0; i < 2 * N; i++)
		assert_true(pin(fx, i, LEN, i % 3));
	fill(fx, N, N);
	flood(fx, 4);
	assert_int_equal(count_found(fx, 0, 2 * N), 2 * N);
	assert_int_equal(stats_of(fx).pinned_bytes, 2 * N * LEN);
	assert_int_equal(pin_stats(fx, 1).files, (2 * N + 1) / 3);
	assert_int_equal(pin_stats(fx, 1).cached_bytes, (2 * N + 1) / 3 * LEN);
	/* The rest of the cache is used on. */
	assert_true(stats_of(fx).live_bytes > 45 * MIB);
	within_bounds(fx);
}

/* One file in `every` of what lies side by side is pinned. */
static void scattered(unsigned every, unsigned files)
{
	struct fixture *fx = fixture_new(64 * MIB);
	unsigned found = 0;

	for (unsigned i = 0; i < files; i++)
		if (i % every == 0)
			assert_true(pin(fx, i, LEN, 0));
	/* Marked late, so they lie among the others. */
	datacache_unpin(fx->dc, 0);
	fill(fx, 0, files);
	for (unsigned i = 0; i < files; i += every)
		assert_true(pin(fx, i, LEN, 0));
	flood(fx, 4);
	for (unsigned i = 0; i < files; i += every)
		found += find_some(fx, i, 1, 0, LEN);
	assert_int_equal(found, (files + every - 1) / every);
	within_bounds(fx);
}

TEST(test_scattered)
{
	scattered(2, 500);
	scattered(3, 500);
	scattered(10, 500);
}

/* A little more than half of every segment is pinned: what is new is cached
 * all the same. */
TEST(test_spread, struct fixture *fx)
{
	enum { EACH = 20, PINNED = 11, N = 29 * EACH };
	unsigned found = 0, pinned = 0;

	fill(fx, 0, N);
	for (unsigned i = 0; i < N; i++)
		if (i % EACH < PINNED && has(fx, i)) {
			assert_true(pin(fx, i, LEN, 0));
			pinned++;
		}
	assert_true(stats_of(fx).pinned_bytes > 28 * MIB);
	for (uint64_t first = SCAN; first < SCAN + 1000; first += 50) {
		fill(fx, first, 50);
		for (unsigned i = 0; i < 50; i++)
			found += has(fx, first + i);
	}
	assert_int_equal(found, 1000);
	assert_int_equal(stats_of(fx).refused_bytes, 0);
	found = 0;
	for (unsigned i = 0; i < N; i++)
		found += i % EACH < PINNED && find_some(fx, i, 1, 0, LEN);
	assert_int_equal(found, pinned);
	within_bounds(fx);
}

/* Hardly a segment beside what is pinned: no standstill, nothing pinned lost.
 */
TEST(test_tiny)
{
	for (uint64_t size = 6 * MIB; size <= 16 * MIB; size += 2 * MIB) {
		ENDS_BY(fixture_end) struct fixture fx;
		unsigned n = (unsigned)(size / 2 / LEN), found = 0;

		fixture_begin(&fx, size);
		for (unsigned i = 0; i < n; i++)
			assert_true(pin(&fx, i, LEN, 0));
		for (unsigned i = 0; i < n; i++) {
			fill(&fx, i, 1);
			fill(&fx, SCAN + i, 1);
			found += has(&fx, i);
		}
		for (unsigned i = 0; i < 300; i++)
			fill(&fx, SCAN * 2 + i, 1);
		for (unsigned i = 0; i < n; i++)
			found -= has(&fx, i);
		assert_int_equal(found, 0);
		if (fx.most_disk > size + size / 50)
			fail_msg(
			    "%d bytes of %d", (int)fx.most_disk, (int)size);
	}
}

/* A disk smaller than the cache may be: what cannot be moved stays. */
TEST(test_small_disk)
{
	enum { N = 140 };
	struct fixture fx;
	unsigned pinned = 0, found = 0, fresh = 0;

	fixture_prepare(&fx, 64 * MIB);
	if (mount("none", fx.dir, "tmpfs", 0, "size=20m,mode=700") < 0) {
		fixture_open(&fx);
		fixture_end(&fx);
		skip();
	}
	fixture_open(&fx);
	fill(&fx, 0, N);
	for (unsigned i = 0; i < N; i += 2)
		if (has(&fx, i)) {
			assert_true(pin(&fx, i, LEN, 0));
			pinned++;
		}
	assert_true(pinned > N / 3);
	fill(&fx, SCAN, 600);
	for (unsigned i = 0; i < N; i += 2)
		found += find_some(&fx, i, 1, 0, LEN);
	assert_int_equal(found, pinned);
	/* Then it is used on. */
	datacache_unpin(fx.dc, 0);
	for (unsigned i = 0; i < 600; i++) {
		fill(&fx, 2 * SCAN + i, 1);
		fresh += has(&fx, 2 * SCAN + i);
	}
	assert_true(fresh > 590);
	fixture_close(&fx);
	assert_int_equal(umount2(fx.dir, MNT_DETACH), 0);
	fixture_open(&fx);
	fixture_end(&fx);
}

/* Up to the very limit. */
TEST(test_half, struct fixture *fx)
{
	unsigned n = 32 * MIB / LEN;

	assert_int_equal(datacache_pin_limit_bytes(fx->dc), 32 * MIB);
	for (unsigned i = 0; i < n; i++)
		assert_true(pin(fx, i, LEN, 5));
	assert_false(pin(fx, n, LEN, 5));
	assert_false(is_pinned(fx, n, 5));
	assert_true(pin(fx, 0, LEN, 6));
	for (unsigned i = 0; i < n; i++) {
		fill(fx, i, 1);
		fill(fx, SCAN / 2 + i, 2);
	}
	flood(fx, 4);
	assert_int_equal(count_found(fx, 0, n), n);
	within_bounds(fx);
	/* A file that grew keeps what it had. */
	assert_false(pin(fx, 0, 2 * LEN, 5));
	assert_true(is_pinned(fx, 0, 5));
}

/* More data than was said: the limit holds. */
TEST(test_liar, struct fixture *fx)
{
	for (unsigned i = 0; i < 1000; i++)
		assert_true(pin(fx, i, 1, 0));
	fill(fx, 0, 1000);
	assert_true(stats_of(fx).pinned_bytes <= 32 * MIB);
	flood(fx, 3);
	assert_true(stats_of(fx).pinned_bytes > 31 * MIB);
	assert_true(find_some(fx, 0, 1, 0, LEN));
	within_bounds(fx);
}

/* Files change again and again: their old data makes room. */
TEST(test_changes, struct fixture *fx)
{
	enum { N = 250, TURNS = 12 };
	unsigned found = 0;

	for (unsigned i = 0; i < N; i++)
		assert_true(pin(fx, i, LEN, 0));
	for (uint64_t turn = 1; turn <= TURNS; turn++) {
		for (unsigned i = 0; i < N; i++) {
			if (turn > 1 && i % 3 == turn % 3)
				continue;
			add_some(fx, i, turn, 0, LEN, FIRM);
			if (i % 8 == 0)
				iopool_drain(fx->pool);
			stats_of(fx);
		}
		fill(fx, SCAN / 2 + 100 * turn, 100);
	}
	assert_int_equal(datacache_pins_changed(fx->dc), 1);
	assert_int_equal(datacache_pins_changed(fx->dc), 0);
	for (unsigned i = 0; i < N; i++)
		for (uint64_t back = 0; back < 2; back++)
			found += find_some(fx, i, TURNS - back, 0, LEN);
	/* A find of another version drops a file: each counts at most once. */
	assert_true(found >= N / 3);
	within_bounds(fx);
}

TEST(test_unpin, struct fixture *fx)
{
	enum { N = 200 };

	for (unsigned i = 0; i < N; i++)
		assert_true(pin(fx, i, LEN, 0));
	for (unsigned i = 0; i < N / 2; i++)
		assert_true(pin(fx, i, LEN, 31));
	fill(fx, 0, N);
	datacache_unpin(fx->dc, 0);
	assert_int_equal(pin_stats(fx, 0).files, 0);
	assert_int_equal(pin_stats(fx, 31).files, N / 2);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(is_pinned(fx, i, 31), i < N / 2);
	assert_int_equal(stats_of(fx).pinned_bytes, N / 2 * LEN);
	flood(fx, 2);
	assert_int_equal(count_found(fx, 0, N), N / 2);
	/* Met again, or not. */
	datacache_pin_begin(fx->dc, 31);
	for (unsigned i = 0; i < 10; i++)
		assert_true(pin(fx, i, LEN, 31));
	datacache_pin_end(fx->dc, 31);
	assert_int_equal(pin_stats(fx, 31).files, 10);
	assert_int_equal(stats_of(fx).pinned_bytes, 10 * LEN);
	flood(fx, 2);
	assert_int_equal(count_found(fx, 0, N), 10);
	datacache_unpin(fx->dc, 31);
	assert_int_equal(stats_of(fx).pinned_bytes, 0);
	flood(fx, 2);
	assert_int_equal(count_found(fx, 0, N), 0);
	within_bounds(fx);
}

struct copied {
	struct fixture *fx;
	struct {
		struct data_key key;
		uint64_t bytes;
		uint32_t pins;
	} v[1000];
	unsigned n;
};

static void copy_one(
    void *ctx, const struct data_key *key, uint64_t bytes, uint32_t pins)
{
	struct copied *c = ctx;

	c->v[c->n].key = *key;
	c->v[c->n].bytes = bytes;
	c->v[c->n++].pins = pins;
}

/* Set again after a start, before anything else: nothing is lost by it. */
TEST(test_restart, struct fixture *fx)
{
	static struct copied c;
	enum { N = 200 };

	fill(fx, 0, 2 * N);
	for (unsigned i = 0; i < N; i++)
		assert_true(pin(fx, 2 * i, LEN, 3));
	for (unsigned turn = 0; turn < 3; turn++) {
		flood(fx, 2);
		c.n = 0;
		datacache_each_pinned(fx->dc, copy_one, &c);
		assert_int_equal(c.n, N);
		fixture_reopen(fx);
		for (unsigned i = 0; i < N; i++) {
			assert_int_equal(c.v[i].pins, 8);
			assert_true(datacache_pin(
			    fx->dc, &c.v[i].key, c.v[i].bytes, 3, true));
		}
		assert_int_equal(stats_of(fx).pinned_bytes, N * LEN);
	}
	flood(fx, 2);
	for (unsigned i = 0; i < N; i++)
		assert_true(find_some(fx, 2 * i, 1, 0, LEN));
	within_bounds(fx);
}

/* A child is killed while pinned data moves: all of it is found again. */
TEST(test_kill)
{
	enum { N = 60 };
	struct fixture *fx = fixture_new(16 * MIB);

	fill(fx, 0, 2 * N);
	fixture_close(fx);
	iopool_free(fx->pool);
	for (unsigned round = 0; round < 20; round++) {
		int fds[2];
		char byte;
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0) {
			fx->pool = iopool_new(fx->base, 2);
			fixture_open(fx);
			for (unsigned i = 0; i < N; i++)
				(void)pin(fx, 2 * i, LEN, 0);
			for (unsigned i = 0;; i++) {
				add_some(fx, SCAN + i, 1, 0, LEN, FIRM);
				event_base_loop(fx->base, EVLOOP_NONBLOCK);
				if (i == 100 + round * 37 &&
				    write(fds[1], "", 1) != 1)
					_exit(1);
			}
		}
		close(fds[1]);
		assert_int_equal(read(fds[0], &byte, 1), 1);
		close(fds[0]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		fx->pool = iopool_new(fx->base, 2);
		fixture_open(fx);
		for (unsigned i = 0; i < N; i++)
			if (!find_some(fx, 2 * i, 1, 0, LEN))
				fail_msg("round %u: file %u", round, 2 * i);
		assert_int_equal(stats_of(fx).bad_extents, 0);
		fixture_close(fx);
		iopool_free(fx->pool);
	}
	fx->pool = iopool_new(fx->base, 1);
}

TEST(test_files, struct fixture *fx)
{
	unsigned n = 0;

	datacache_set_memory(fx->dc, 4 * MIB);
	while (n < 100000 && pin(fx, n, 1, 0))
		n++;
	assert_int_equal(n, 4 * MIB / 2 / 256);
	datacache_unpin(fx->dc, 0);
	assert_int_equal(pin_stats(fx, 0).files, 0);
	for (unsigned i = 0; i < n; i++)
		assert_true(pin(fx, n + i, 1, i % 2));
	datacache_unpin(fx->dc, 1);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(is_pinned(fx, n + i, 0), i % 2 == 0);
}

TEST(test_flush, struct fixture *fx)
{
	assert_true(pin(fx, 0, LEN, 0));
	fill(fx, 0, 1);
	datacache_flush(fx->dc);
	iopool_drain(fx->pool);
	assert_int_equal(stats_of(fx).pinned_bytes, 0);
	assert_true(is_pinned(fx, 0, 0));
	assert_true(datacache_pins_changed(fx->dc) & 1);
	fill(fx, 0, 1);
	flood(fx, 2);
	assert_true(find_some(fx, 0, 1, 0, LEN));
}
