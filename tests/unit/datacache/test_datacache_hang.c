/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A disk that does not answer; the time is the test's. */
#include "datacache/datacache_fixture.h"

#define SECOND UINT64_C(1000000)

static void blocks_begin(struct fixture *fx, struct block b[2])
{
	for (int i = 0; i < 2; i++)
		block_begin(fx, &b[i], false);
}

static void blocks_end(struct fixture *fx, struct block b[2])
{
	for (int i = 0; i < 2; i++)
		block_release(&b[i]);
	iopool_drain(fx->pool);
	for (int i = 0; i < 2; i++)
		block_end(&b[i]);
}

/* Files that were not looked at since the start. */
static void begin(struct fixture *fx)
{
	fixture_begin(fx, 16 * MIB);
	for (unsigned i = 0; i < 4; i++)
		add_some(fx, i, 1, 0, 5000, FIRM);
	fixture_reopen(fx);
}

static enum datacache_found ask(
    struct fixture *fx, uint64_t file, struct datacache_waiter *w, bool patient)
{
	struct data_version v = version_of(1);
	struct datacache_read rd = {.key = key_of(file),
	    .version = &v,
	    .len = 5000,
	    .patient = patient};
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	unsigned n;

	w->on_ready = on_ready;
	return datacache_find(fx->dc, &rd, pieces, &n, w);
}

TEST(test_deadline)
{
	struct datacache_waiter w = {0}, other = {0};
	struct block b[2];
	ENDS_BY(fixture_end) struct fixture fx;

	begin(&fx);
	blocks_begin(&fx, b);
	assert_int_equal(ask(&fx, 0, &w, false), DATACACHE_WAIT);
	datacache_tick(fx.dc, 10 * SECOND, false);
	assert_non_null(w.request);
	datacache_tick(fx.dc, 10 * SECOND + SECOND / 2, false);
	assert_non_null(w.request);
	assert_int_equal(stats_of(&fx).hangs_since_us, 0);
	datacache_tick(fx.dc, 11 * SECOND, false);
	assert_true(w.late && !w.request);
	assert_int_equal(stats_of(&fx).hangs_since_us, 10 * SECOND);
	/* It misses, and so does who would have to wait. */
	assert_int_equal(ask(&fx, 0, &w, false), DATACACHE_MISS);
	assert_int_equal(ask(&fx, 1, &other, false), DATACACHE_MISS);
	/* A client finds data that comes meanwhile from the server in memory.
	 */
	add_some(&fx, 1, 1, 0, 5000, FIRM);
	assert_int_equal(ask(&fx, 1, &other, false), DATACACHE_HIT);
	blocks_end(&fx, b);
	datacache_tick(fx.dc, 12 * SECOND, false);
	datacache_tick(fx.dc, 13 * SECOND, false);
	assert_int_equal(stats_of(&fx).hangs_since_us, 0);
	/* The cache neither read nor threw away the extent whose reader gave
	 * up. */
	assert_int_equal(stats_of(&fx).bad_extents, 0);
	assert_true(find_some(&fx, 0, 1, 0, 5000));
}

/* While the server is away there is nobody else to ask. */
TEST(test_patient)
{
	struct datacache_waiter w = {0}, other = {0};
	struct block b[2];
	ENDS_BY(fixture_end) struct fixture fx;

	begin(&fx);
	blocks_begin(&fx, b);
	assert_int_equal(ask(&fx, 0, &w, true), DATACACHE_WAIT);
	for (unsigned s = 1; s < 30; s++)
		datacache_tick(fx.dc, s * SECOND, true);
	assert_non_null(w.request);
	assert_true(stats_of(&fx).hangs_since_us > 0);
	assert_int_equal(ask(&fx, 1, &other, true), DATACACHE_WAIT);
	blocks_end(&fx, b);
	assert_true(w.woken && !w.late && other.woken);
	assert_int_equal(ask(&fx, 0, &w, true), DATACACHE_HIT);
}

/* It is left alone for longer each time. */
TEST(test_again_and_again)
{
	uint64_t now = SECOND, pause = 0;
	struct datacache_waiter w;
	struct block b[2];
	ENDS_BY(fixture_end) struct fixture fx;

	begin(&fx);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t over;

		w = (struct datacache_waiter){0};
		blocks_begin(&fx, b);
		assert_int_equal(ask(&fx, i, &w, false), DATACACHE_WAIT);
		for (unsigned s = 0; s < 3; s++)
			datacache_tick(fx.dc, now += SECOND, false);
		assert_true(w.late);
		blocks_end(&fx, b);
		datacache_tick(fx.dc, over = now += SECOND, false);
		while (stats_of(&fx).hangs_since_us > 0)
			datacache_tick(fx.dc, now += SECOND, false);
		assert_true(now - over > pause);
		pause = now - over;
	}
}
