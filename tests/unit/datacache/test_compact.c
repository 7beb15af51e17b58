/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When data is laid out, and how fast; in virtual time. */
#include "datacache/datacache_fixture.h"

#include <errno.h>

#include "datacache/compact.h"

enum { LEN = 32 * KIB, N = 100 };

#define SECOND_US UINT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)

struct world {
	struct fixture fx;
	struct compact *c;
	uint64_t now_us, calls;
	bool busy;
	uint64_t order; /* of use */
};

static uint64_t calls_of(void *ctx)
{
	return ((struct world *)ctx)->calls;
}

static bool busy_of(void *ctx)
{
	return ((struct world *)ctx)->busy;
}

static void wait(struct world *w, uint64_t us)
{
	uint64_t end = w->now_us + us;

	while (w->now_us < end) {
		w->now_us += compact_tick(w->c, w->now_us);
		iopool_drain(w->fx.pool);
	}
}

static void world_begin(struct world *w, uint64_t rate)
{
	struct compact_params p = {
	    .rate_bytes = rate, .calls = calls_of, .busy = busy_of, .ctx = w};

	memset(w, 0, sizeof(*w));
	fixture_begin(&w->fx, 64 * MIB);
	for (unsigned i = 0; i < N; i++)
		add_some(&w->fx, i, 1, 0, LEN, FIRM);
	iopool_drain(w->fx.pool);
	p.data = w->fx.dc;
	w->now_us = 1000 * SECOND_US;
	w->c = compact_new(&p, w->now_us);
	assert_non_null(w->c);
	/* After this pause, reads of clients belong to another run. */
	wait(w, 6 * SECOND_US);
}

static void world_end(struct world *w)
{
	compact_free(w->c);
	fixture_end(&w->fx);
}

/* It is there until the test is over. */
static struct world *world_new(uint64_t rate)
{
	struct world *w = AFTER(free, calloc(1, sizeof(*w)));

	assert_non_null(w);
	world_begin(w, rate);
	return AFTER(world_end, w);
}

/* A client reads all, in an order of its own. */
static void use(struct world *w)
{
	unsigned order[N];

	for (unsigned i = 0; i < N; i++)
		order[i] = i;
	for (unsigned i = N - 1; i > 0; i--) {
		unsigned k = (unsigned)(pattern_word(w->order, 3, i) % (i + 1));
		unsigned swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	for (unsigned i = 0; i < N; i++) {
		assert_true(find_some(&w->fx, order[i], 1, 0, LEN));
		w->calls++;
	}
	(void)compact_tick(w->c, w->now_us);
}

static uint64_t moved(struct world *w)
{
	return stats_of(&w->fx).layout_moved_bytes;
}

/* After some seconds of silence, not before. */
TEST(test_idle)
{
	struct world *w = world_new(100 * MIB);

	use(w);
	wait(w, 4 * SECOND_US);
	assert_int_equal(moved(w), 0);
	assert_false(compact_busy(w->c));
	/* Something is under way. */
	w->busy = true;
	wait(w, 20 * SECOND_US);
	assert_int_equal(moved(w), 0);
	w->busy = false;
	/* A client asks for attributes, now and then. */
	for (unsigned i = 0; i < 20; i++) {
		w->calls++;
		wait(w, 3 * SECOND_US);
	}
	assert_int_equal(moved(w), 0);
	wait(w, 10 * SECOND_US);
	assert_int_equal(moved(w), N * LEN);
	/* Once is enough. */
	wait(w, 60 * MINUTE_US);
	assert_int_equal(moved(w), N * LEN);
	assert_int_equal(stats_of(&w->fx).layout_passes, 1);
}

TEST(test_rate)
{
	struct world *w = world_new(MIB);
	uint64_t before, most = 0;

	use(w);
	for (unsigned i = 0; i < 20; i++) {
		before = moved(w);
		wait(w, SECOND_US);
		if (moved(w) - before > most)
			most = moved(w) - before;
	}
	assert_int_equal(moved(w), N * LEN);
	assert_true(most <= MIB + MIB / 8);
	assert_true(most >= MIB / 2);
}

/* A pass ends when a client calls, and what it moved is not moved again. */
TEST(test_call)
{
	struct world *w = world_new(MIB);
	uint64_t before;

	use(w);
	while (moved(w) < N * LEN / 2)
		wait(w, SECOND_US / 10);
	w->calls++;
	wait(w, SECOND_US / 10);
	before = moved(w);
	assert_false(compact_busy(w->c));
	wait(w, 3 * SECOND_US);
	assert_int_equal(moved(w), before);
	wait(w, 30 * MINUTE_US);
	assert_true(moved(w) >= N * LEN);
	assert_true(moved(w) <= 2 * N * LEN);
}

/* The waits grow while the order is another one each time; a run in the order
 * of the layout makes them short again. */
TEST(test_unstable)
{
	struct world *w = world_new(100 * MIB);
	uint64_t passes = 0;

	for (unsigned i = 0; i < 12 * 10; i++) {
		w->order++;
		use(w);
		wait(w, 6 * MINUTE_US);
	}
	/* Twelve hours. */
	passes = stats_of(&w->fx).layout_passes;
	assert_true(passes >= 5);
	assert_true(passes <= 8);
	wait(w, 48 * 60 * MINUTE_US);
	/* In order, so there is nothing to be done; but soon there is. */
	passes = stats_of(&w->fx).layout_passes;
	use(w);
	wait(w, 2 * MINUTE_US);
	assert_int_equal(stats_of(&w->fx).layout_passes, passes);
	w->order++;
	use(w);
	wait(w, MINUTE_US);
	assert_int_equal(stats_of(&w->fx).layout_passes, passes + 1);
	w->order++;
	use(w);
	wait(w, 11 * MINUTE_US);
	assert_int_equal(stats_of(&w->fx).layout_passes, passes + 2);
}

TEST(test_off)
{
	struct world *w = world_new(0);
	struct compact_params none = {
	    .calls = calls_of, .busy = busy_of, .ctx = w};
	struct compact *c;

	use(w);
	wait(w, 60 * MINUTE_US);
	assert_int_equal(moved(w), 0);
	/* Where it is told to it does, whoever calls. */
	assert_int_equal(compact_begin(w->c), 0);
	assert_true(compact_busy(w->c));
	assert_int_equal(compact_begin(w->c), -EALREADY);
	for (unsigned i = 0; compact_busy(w->c); i++) {
		assert_true(i < 10000);
		w->calls++;
		w->now_us += compact_tick(w->c, w->now_us);
		iopool_drain(w->fx.pool);
	}
	assert_int_equal(moved(w), N * LEN);
	/* On again, by a new configuration. */
	w->order++;
	use(w);
	compact_set_rate(w->c, MIB);
	wait(w, 60 * MINUTE_US);
	assert_true(moved(w) > N * LEN);
	c = AFTER(compact_free, compact_new(&none, 0));
	assert_int_equal(compact_begin(c), -ENODEV);
	assert_false(compact_busy(c));
}

/* A client calls again and again while a pass is made: that begins anew, but
 * not at each of its pauses. */
TEST(test_interrupted)
{
	struct world *w = world_new(MIB / 4);

	use(w);
	for (unsigned i = 0; i < 30; i++) {
		wait(w, 10 * SECOND_US);
		w->calls++;
	}
	assert_in_range(moved(w), 1, 2 * N * LEN / 3);
}
