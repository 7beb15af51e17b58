/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everything in a table is judged when it is too old, and nobody looks at it
 * while nothing is. */
#include "unittest.h"
#include "base/ageing.h"

enum { PLACES = 8, AT_ONCE = 3 };

/* A place holds the time at which its thing is too old, until that is judged;
 * an empty place holds 0. */
struct table {
	struct ageing ageing;
	uint64_t old_us[PLACES];
	unsigned looks, judged;
};

static void put(struct table *t, unsigned place, uint64_t old_us)
{
	t->old_us[place] = old_us;
	ageing_expect(&t->ageing, old_us);
}

static void turn(struct table *t, uint64_t now_us)
{
	for (int i = 0;
	     i < AT_ONCE && ageing_is_due(&t->ageing, PLACES, now_us); i++) {
		uint64_t *old_us = &t->old_us[ageing_next(&t->ageing)];

		t->looks++;
		if (*old_us == 0)
			continue;
		if (*old_us <= now_us) {
			*old_us = 0;
			t->judged++;
		} else {
			ageing_expect(&t->ageing, *old_us);
		}
	}
}

static void turns(struct table *t, uint64_t now_us)
{
	for (int i = 0; i < 2 * PLACES; i++)
		turn(t, now_us);
}

TEST(test_nothing_is_looked_at_in_vain)
{
	struct table t = {.looks = 0};

	ageing_init(&t.ageing);
	turns(&t, 1000);
	assert_int_equal(t.looks, 0);
	put(&t, 5, 2000);
	turns(&t, 1999);
	assert_int_equal(t.looks, 0);
	turns(&t, 2000);
	assert_int_equal(t.judged, 1);
	assert_int_equal(t.looks, PLACES);
	turns(&t, 9000);
	assert_int_equal(t.looks, PLACES);
}

TEST(test_what_is_put_behind_a_round_waits_for_the_next)
{
	struct table t = {.looks = 0};

	ageing_init(&t.ageing);
	put(&t, 7, 100);
	turn(&t, 100);
	/* Places 0 to 2 were looked at, so this one was passed. */
	put(&t, 1, 150);
	turns(&t, 149);
	assert_int_equal(t.judged, 1);
	turns(&t, 150);
	assert_int_equal(t.judged, 2);
	/* The same where its time has come before the round is over. */
	put(&t, 7, 200);
	turn(&t, 200);
	put(&t, 0, 200);
	turns(&t, 200);
	assert_int_equal(t.judged, 4);
}

TEST(test_who_becomes_young_again_is_judged_later)
{
	struct table t = {.looks = 0};

	ageing_init(&t.ageing);
	put(&t, 3, 100);
	put(&t, 4, 300);
	put(&t, 3, 200);
	turns(&t, 100);
	assert_int_equal(t.judged, 0);
	turns(&t, 200);
	assert_int_equal(t.judged, 1);
	turns(&t, 300);
	assert_int_equal(t.judged, 2);
	assert_int_equal(t.looks, 3 * PLACES);
}
