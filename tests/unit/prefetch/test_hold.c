/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pauses end when they should, and a metered link carries no byte ahead beyond
 * its share of an hour. */
#include "unittest.h"
#include "link/linkest.h"
#include "prefetch/ground/hold.h"

#define SECOND UINT64_C(1000000)
#define HOUR   (3600 * SECOND)
#define T0     (UINT64_C(1) << 40)

enum { BYTES = 100000, CALL = 30000 };

static struct hold *metered(void)
{
	struct hold *h = hold_new();

	assert_non_null(h);
	hold_set_metered(h, true, BYTES);
	return h;
}

TEST(test_nothing_is_held)
{
	struct hold *h = AFTER(hold_free, hold_new());
	struct hold_status st;

	hold_sent(h, UINT64_MAX / 4, T0);
	assert_true(hold_lets(h, false, UINT64_MAX / 4, T0));
	hold_get_status(h, T0, &st);
	assert_false(st.paused || st.metered);
	assert_int_equal(st.used_bytes, 0);
	assert_int_equal(st.hour_left_us, 0);
}

TEST(test_pause)
{
	struct hold *h = AFTER(hold_free, hold_new());
	struct hold_status st;

	hold_pause(h, T0 + 10 * SECOND);
	assert_false(hold_lets(h, false, 1, T0));
	assert_false(hold_lets(h, true, 1, T0));
	hold_get_status(h, T0 + SECOND, &st);
	assert_true(st.paused);
	assert_int_equal(st.pause_left_us, 9 * SECOND);
	assert_true(hold_lets(h, false, 1, T0 + 10 * SECOND));
	assert_false(hold_is_paused(h, T0 + 10 * SECOND));
	/* Another one replaces it, be it longer or shorter. */
	hold_pause(h, HOLD_NO_END);
	assert_false(hold_lets(h, true, 1, T0 + 1000 * HOUR));
	hold_get_status(h, T0, &st);
	assert_true(st.pause_left_us == HOLD_NO_END);
	hold_pause(h, T0 + SECOND);
	assert_true(hold_lets(h, true, 1, T0 + SECOND));
	hold_pause(h, HOLD_NO_END);
	hold_pause(h, 0);
	assert_true(hold_lets(h, true, 1, T0));
}

/* Sends what it lets; returns the wire bytes. */
static uint64_t spend(struct hold *h, uint64_t now_us)
{
	uint64_t wire = 0;

	while (hold_lets(h, false, CALL, now_us)) {
		hold_sent(h, CALL, now_us);
		wire += linkest_wire_bytes(CALL);
	}
	return wire;
}

TEST(test_ceiling)
{
	struct hold *h = AFTER(hold_free, metered());
	struct hold_status st;
	uint64_t wire = spend(h, T0);

	assert_true(wire > 0 && wire <= BYTES);
	hold_get_status(h, T0 + SECOND, &st);
	assert_int_equal(st.used_bytes, wire);
	assert_int_equal(st.budget_bytes, BYTES);
	assert_int_equal(st.hour_left_us, HOUR - SECOND);
	/* A smaller call does not slip through, what was asked for does. */
	assert_false(hold_lets(h, false, 1, T0 + HOUR - 1));
	assert_true(hold_lets(h, true, 100 * BYTES, T0));
	/* The next hour begins with the next call. */
	assert_int_equal(spend(h, T0 + 5 * HOUR), wire);
	hold_get_status(h, T0 + 5 * HOUR, &st);
	assert_int_equal(st.hour_left_us, HOUR);
	hold_get_status(h, T0 + 6 * HOUR, &st);
	assert_int_equal(st.used_bytes, 0);
	assert_int_equal(st.hour_left_us, 0);
}

TEST(test_replies_count)
{
	struct hold *h = AFTER(hold_free, metered());
	struct hold_status st;

	hold_sent(h, CALL, T0);
	hold_received(h, CALL, 100);
	hold_get_status(h, T0, &st);
	assert_int_equal(st.used_bytes, linkest_wire_bytes(100));
	/* The reply of a call from before counts as a whole. */
	hold_get_status(h, T0 + HOUR, &st);
	assert_int_equal(st.used_bytes, 0);
	hold_received(h, CALL, 1000);
	hold_get_status(h, T0, &st);
	assert_int_equal(st.used_bytes, linkest_wire_bytes(1000));
}

TEST(test_link_that_comes_and_goes)
{
	struct hold *h = AFTER(hold_free, metered());
	struct hold_status st;
	uint64_t wire = spend(h, T0);

	hold_set_metered(h, false, BYTES);
	assert_true(hold_lets(h, false, 100 * BYTES, T0 + SECOND));
	hold_sent(h, 100 * BYTES, T0 + SECOND);
	hold_received(h, 100 * BYTES, 100 * BYTES);
	/* It is the same hour when it is metered again. */
	hold_set_metered(h, true, BYTES);
	assert_false(hold_lets(h, false, CALL, T0 + 2 * SECOND));
	hold_get_status(h, T0 + 2 * SECOND, &st);
	assert_int_equal(st.used_bytes, wire);
	/* More is allowed now. */
	hold_set_metered(h, true, 2 * BYTES);
	assert_true(hold_lets(h, false, CALL, T0 + 2 * SECOND));
	hold_set_metered(h, true, 0);
	assert_false(hold_lets(h, false, 0, T0 + 2 * HOUR));
}
