/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The link says how many bytes a listing ahead may ask for, and whether a call
 * ahead is worth its bytes. */
#include "unittest.h"
#include "link/sim_fixture.h"
#include "prefetch/ground/ground.h"
#include "prefetch/ground/worth.h"

/* A queue of clients' replies does not make the link hold more: a page is a
 * third of what it holds, behind a queue, too, and a unit at least. */
TEST(test_page_behind_a_queue)
{
	static const uint64_t links[][2] = {
	    {2000000, 20000}, {20000000, 40000}, {100000000, 10000}};
	struct ground g = {0};
	uint64_t third, unit;
	unsigned i;

	for (i = 0; i < 3; i++) {
		linksim_init(&sim, 80, 0);
		linksim_link(&sim, links[i][0], links[i][1]);
		linksim_demand(&sim, 1, 100000, 16384);
		linksim_run(&sim, 5 * SECOND_US);
		linksim_demand(&sim, 32, 1000, 65536);
		linksim_run(&sim, 2 * SECOND_US);
		g.link = sim.le;
		g.budget = sim.budget;
		unit = linkest_unit_bytes(sim.le);
		third = sim.rate_Bps * sim.delay_us / SECOND_US / 3;
		assert_true(linkest_srtt_us(sim.le) > 2 * sim.delay_us);
		assert_near(
		    worth_page_bytes(&g), third > unit ? third : unit, 10);
	}
}

/* A client's long replies fill the link for many round trips. The daemon asks
 * for a block that is nearly certain to be read next all the same, since a
 * block that nobody uses makes others wait for its own bytes only. It does not
 * ask for one that is less likely than not. */
TEST(test_bid_behind_long_replies)
{
	struct worth_bid bid = {.p = .9, .bytes = 4096};
	struct ground g = {0};

	linksim_init(&sim, 80, 0);
	linksim_link(&sim, 10000000, 5000);
	linksim_demand(&sim, 1, 300, 262144);
	sim.demand_min = 262144;
	sim.tiny_percent = 0;
	linksim_run(&sim, 5 * SECOND_US);
	while (linkest_inflight_bytes(sim.le) < 262144)
		linksim_run(&sim, 300);
	g.link = sim.le;
	g.budget = sim.budget;
	g.now_us = sim.now_us;
	assert_true(worth_now(&g, &bid));
	bid.p = .4;
	assert_false(worth_now(&g, &bid));
}
