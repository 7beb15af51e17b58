/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routes that become longer or shorter under an estimate, in virtual time. */
#include "unittest.h"
#include "link/sim_fixture.h"

TEST(test_longer_route)
{
	unsigned k;

	for (k = 0; k < 2; k++) {
		linksim_init(&sim, 80, 0);
		linksim_link(&sim, 20000000, 10000);
		sim.tiny_percent = 50;
		sim.spec_max = 65536;
		sim.speculate = true;
		linksim_demand(
		    &sim, k ? 4 : 1, k ? 20000 : 100000, k ? 65536 : 16384);
		linksim_run(&sim, 10 * SECOND_US);
		assert_base(10);
		linksim_link(&sim, 20000000, 80000);
		linksim_run(&sim, 12 * SECOND_US);
		assert_base(10);
		assert_rate_after(8 * SECOND_US, 15);
		/*
		 * A shorter one is believed at once, but what was in flight
		 * on the longer one is a queue on it first.
		 */
		linksim_link(&sim, 20000000, 10000);
		linksim_run(&sim, 2 * SECOND_US);
		assert_in_range(linkest_base_us(sim.le), 9000, 20000);
		linksim_run(&sim, 10 * SECOND_US);
		assert_base(15);
	}
}

/* A route that is longer all at once: clients that look at names show it, with
 * calls ahead beside them and without. */
TEST(test_longer_at_once)
{
	static const uint64_t routes[][2] = {
	    {500, 40000}, {10000, 80000}, {40000, 300000}};
	unsigned i, k;

	for (i = 0; i < 3 * 4; i++) {
		k = i / 4;
		linksim_init(&sim, 80, 0);
		linksim_link(&sim, 20000000, routes[k][0]);
		sim.tiny_percent = 90;
		sim.speculate = i & 1;
		linksim_demand(&sim, i & 2 ? 8 : 1, 1000, 2000);
		linksim_run(&sim, SECOND_US);
		linksim_demand(&sim, 8, 1000, 65536);
		assert_rate_after(10 * SECOND_US, 15);
		linksim_demand(&sim, i & 2 ? 8 : 1, 1000, 2000);
		linksim_run(&sim, 2 * SECOND_US);
		linksim_link(&sim, 20000000, routes[k][1]);
		linksim_run(&sim, SECOND_US + 5 * routes[k][1]);
		assert_int_equal(linkest_routes(sim.le), 1);
		assert_base(10);
		assert_rate(30);
		linksim_link(&sim, 20000000, routes[k][0]);
		linksim_run(&sim, 2 * SECOND_US);
		assert_in_range(
		    linkest_base_us(sim.le), 1, routes[k][0] * 2 + 4000);
	}
}

/* Replies of calls that are sent one after the other, `trip_us` later each. */
static void serial(
    struct linkest *le, uint64_t *now_us, uint64_t trip_us, unsigned n)
{
	struct linkest_mark mark;

	for (unsigned i = 0; i < n; i++) {
		linkest_sent(le, &mark, 100, *now_us);
		*now_us += trip_us;
		linkest_received(le, &mark, 100, *now_us);
	}
}

/* A queue that other hosts fill is not taken for a longer route. */
TEST(test_queue_of_others)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now_us = SECOND_US, trip_us;

	serial(le, &now_us, 40000, 50);
	/* It grows, and then it stands. */
	for (trip_us = 45000; trip_us < 150000; trip_us += 5000)
		serial(le, &now_us, trip_us, 1);
	serial(le, &now_us, 150000, 10);
	assert_int_equal(linkest_routes(le), 0);
	assert_int_equal(linkest_base_us(le), 40000);
	assert_false(linkest_suspects(le, now_us));
	/* It comes and goes. */
	for (int i = 0; i < 50; i++) {
		serial(le, &now_us, 80000, 5);
		serial(le, &now_us, 42000, 1);
	}
	assert_int_equal(linkest_routes(le), 0);
	assert_in_range(linkest_base_us(le), 40000, 42000);
	/* A step is believed, although the reply that was under way when it
	 * happened came sooner than those behind it. */
	serial(le, &now_us, 60000, 1);
	serial(le, &now_us, 80000, 12);
	assert_int_equal(linkest_routes(le), 1);
	assert_int_equal(linkest_base_us(le), 80000);
	assert_int_equal(linkest_standing_us(le), 0);
}

/* One late reply, long before a step, does not keep it from being believed. */
TEST(test_late_once)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now_us = SECOND_US;

	serial(le, &now_us, 1000, 50);
	serial(le, &now_us, 10000, 1);
	now_us += 3 * SECOND_US;
	serial(le, &now_us, 40000, 15);
	assert_int_equal(linkest_routes(le), 1);
	assert_int_equal(linkest_base_us(le), 40000);
}
