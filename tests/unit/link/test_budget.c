/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The budget says what speculation may send on a link that demand uses too. */
#include "unittest.h"
#include "link/sim_fixture.h"

TEST(test_first_window)
{
	struct config_rate cap = {0, 80};
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct budget *b = AFTER(budget_free, budget_new(le, &cap));
	uint64_t wait_us = 1;
	unsigned n;

	for (n = 0; budget_may(b, 4000, 0, &wait_us); n++)
		budget_sent(b, 4000, 0);
	assert_int_equal(n, 1);
	assert_int_equal(wait_us, 0);
	assert_int_equal(budget_inflight_bytes(b), linkest_wire_bytes(4000));
	while (n--)
		budget_lost(b, 4000);
	assert_int_equal(budget_inflight_bytes(b), 0);
	assert_int_equal(
	    budget_inflight_max_bytes(b), linkest_wire_bytes(4000));
	/* A long call goes alone. */
	assert_true(budget_may(b, 65536, 0, &wait_us));
	budget_sent(b, 65536, 0);
	assert_false(budget_may(b, 100, 0, &wait_us));
	budget_lost(b, 65536);
}

TEST(test_pause)
{
	struct config_rate cap = {0, 100};
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct budget *b = AFTER(budget_free, budget_new(le, &cap));
	uint64_t wait_us;

	budget_pause(b, 5000);
	budget_pause(b, 3000);
	assert_false(budget_may(b, 100, 1000, &wait_us));
	assert_int_equal(wait_us, 4000);
	assert_true(budget_may(b, 100, 5000, &wait_us));
}

TEST(test_tokens)
{
	struct config_rate cap = {80000, 0}; /* 10 bytes a millisecond */
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct budget *b = AFTER(budget_free, budget_new(le, &cap));
	uint64_t wait_us, wire = linkest_wire_bytes(16000);

	assert_true(budget_may(b, 16000, 10 * SECOND_US, &wait_us));
	budget_sent(b, 16000, 10 * SECOND_US);
	budget_lost(b, 16000);
	assert_false(budget_may(b, 16000, 10 * SECOND_US, &wait_us));
	assert_in_range(wait_us, wire * 95, wire * 101);
	assert_true(budget_may(b, 16000, 10 * SECOND_US + wait_us, &wait_us));
}

/* Wire bytes that may go at once; their replies are there at once, too. */
static uint64_t spend(struct budget *b, uint64_t now_us, uint64_t *wait_us)
{
	uint64_t bytes = 0;

	while (budget_may(b, 1000, now_us, wait_us)) {
		budget_sent(b, 1000, now_us);
		budget_lost(b, 1000);
		bytes += linkest_wire_bytes(1000);
	}
	return bytes;
}

/* A timer that is late does not make the link idle; but that is no burst. */
TEST(test_late)
{
	struct config_rate cap = {0, 80};
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct budget *b = AFTER(budget_free, budget_new(le, &cap));
	uint64_t wait_us, now_us = SECOND_US, on_time, wire;

	linkest_set_kind(le, CONFIG_LINK_WIRED); /* a byte a microsecond */
	wire = linkest_wire_bytes(1000);
	spend(b, now_us, &wait_us);
	now_us += wait_us;
	on_time = spend(b, now_us, &wait_us);
	assert_true(on_time > 0 && wait_us > 0);
	now_us += wait_us + 10000;
	assert_in_range(spend(b, now_us, &wait_us), on_time + 10000 - wire,
	    on_time + 10000 + wire);
	/* Nothing of it is left. */
	now_us += wait_us;
	assert_in_range(
	    spend(b, now_us, &wait_us), on_time - wire, on_time + wire);
	now_us += wait_us + 60 * SECOND_US;
	assert_in_range(
	    spend(b, now_us, &wait_us), on_time - wire, on_time + wire);
	now_us += wait_us + 90000;
	assert_in_range(spend(b, now_us, &wait_us), on_time + 20000 - wire,
	    on_time + 20000 + wire);
}

static void share_start(
    uint64_t rate_bits, uint64_t delay_us, unsigned percent, uint64_t cap_bits)
{
	linksim_init(&sim, percent, cap_bits);
	linksim_link(&sim, rate_bits, delay_us);
	sim.tiny_percent = 50;
	sim.spec_max = 65536;
	sim.speculate = true;
	linksim_demand(&sim, 1, 100000, 16384);
}

static uint64_t unit_us(void)
{
	return linkest_wire_bytes(linkest_unit_bytes(sim.le)) * SECOND_US /
	       sim.rate_Bps;
}

static void assert_no_queue(void)
{
	uint64_t unit, limit;

	linksim_run(&sim, 15 * SECOND_US);
	memset(&sim.added, 0, sizeof(sim.added));
	sim.over_max_bytes = 0;
	linksim_run(&sim, 30 * SECOND_US);
	unit = unit_us();
	limit = sim.rate_Bps * sim.delay_us / SECOND_US +
		linkest_wire_bytes(linkest_unit_bytes(sim.le));
	assert_in_range(sim.over_max_bytes, 0, limit / 20);
	/* A bucket of the histogram is up to a sixteenth wide. */
	assert_in_range(
	    histogram_percentile(&sim.added, 500), 0, unit * 17 / 16);
	assert_in_range(
	    histogram_percentile(&sim.added, 990), 0, 2 * unit * 17 / 16);
}

TEST(test_no_queue)
{
	static const uint64_t links[][2] = {{1000000000, 1000},
	    {20000000, 40000}, {20000000, 1000}, {2000000, 20000}};
	unsigned i, heavy;

	for (i = 0; i < 4; i++) {
		for (heavy = 0; heavy < 2; heavy++) {
			share_start(links[i][0], links[i][1], 80, 0);
			if (heavy)
				linksim_demand(&sim, 2, 20000, 65536);
			assert_no_queue();
		}
	}
}

/* From the first call on, of a link of which nothing is known. */
TEST(test_start)
{
	static const uint64_t links[][2] = {{20000000, 40000}, {20000000, 1000},
	    {2000000, 20000}, {1000000, 100000}, {500000, 20000}};
	static const uint64_t sizes[] = {128, 1000, 65536};
	uint64_t holds, unit;
	unsigned i, k;

	for (i = 0; i < 5 * 3 * 2; i++) {
		linksim_init(&sim, 80, 0);
		linksim_link(&sim, links[i / 6][0], links[i / 6][1]);
		sim.spec_max = sizes[i / 2 % 3];
		sim.speculate = true;
		linksim_demand(&sim, i % 2, 100000, 16384);
		/* Some 0.8 of what the link carries, four round trips later:
		 * with what is shown at least, and then with the rate. */
		for (k = 0; k < 6; k++) {
			sim.spec_bytes = 0;
			linksim_run(&sim, 2 * sim.delay_us);
		}
		holds = sim.rate_Bps * sim.delay_us / SECOND_US;
		unit = linkest_wire_bytes(linkest_unit_bytes(sim.le));
		if (i % 2 == 0 && holds > 2 * unit)
			assert_in_range(sim.spec_bytes, holds, 2 * holds);
		linksim_run(&sim, 5 * SECOND_US);
		assert_in_range(
		    sim.over_max_bytes, 0, (holds + unit) / 20 + 1514);
	}
}

/* Speculation carries `want_Bps` in ten seconds, after the first `us`: at least
 * `least` and at most `most` percent of it. */
static void assert_carries(
    uint64_t us, uint64_t want_Bps, unsigned least, unsigned most)
{
	uint64_t before, want = want_Bps * 10;

	linksim_run(&sim, us);
	before = sim.spec_bytes;
	linksim_run(&sim, 10 * SECOND_US);
	assert_in_range(
	    sim.spec_bytes - before, want / 100 * least, want / 100 * most);
}

/* Speculation alone gets its share of the link, and finds out the rate. */
TEST(test_share)
{
	static const unsigned percent[] = {25, 50, 80};
	unsigned i;

	for (i = 0; i < 3; i++) {
		share_start(20000000, 40000, percent[i], 0);
		assert_carries(
		    5 * SECOND_US, sim.rate_Bps / 100 * percent[i], 90, 105);
	}
}

/* On a route that is longer all at once it gets its share again, soon. */
TEST(test_longer_route)
{
	uint64_t before, want;

	share_start(20000000, 1000, 80, 0);
	linksim_demand(&sim, 4, 1000, 2000);
	linksim_run(&sim, 5 * SECOND_US);
	linksim_link(&sim, 20000000, 40000);
	linksim_run(&sim, SECOND_US);
	before = sim.spec_bytes;
	linksim_run(&sim, 2 * SECOND_US);
	want = sim.rate_Bps * 2 / 100 * 80;
	assert_in_range(
	    sim.spec_bytes - before, want / 100 * 80, want / 100 * 105);
}

/* Calls that are certain to be of use fill the link, if nobody else does,
 * whatever the share, and build no queue before those that do. A limit that is
 * a rate holds for them, too. */
TEST(test_certain)
{
	static const unsigned percent[] = {10, 50, 80};
	unsigned i;

	for (i = 0; i < 4; i++) {
		share_start(20000000, 40000, i < 3 ? percent[i] : 0,
		    i < 3 ? 0 : 5000000);
		sim.spec_p = 1;
		assert_carries(
		    5 * SECOND_US, i < 3 ? sim.rate_Bps : 625000, 88, 101);
		if (i < 3)
			assert_no_queue();
	}
}

/* So do replies that are longer than a unit, which cannot be asked for in
 * parts: listings, and what a server gives beyond what it was asked for. */
TEST(test_long_replies)
{
	static const uint64_t sizes[] = {16000, 24000, 32768};
	unsigned i;

	for (i = 0; i < 3; i++) {
		share_start(20000000, 40000, 80, 0);
		sim.spec_max = sizes[i];
		sim.spec_all = true;
		sim.spec_p = 1;
		assert_carries(5 * SECOND_US, sim.rate_Bps, 92, 101);
	}
}

/* A short, slow route holds less than two replies: the next call has to go out
 * while a reply comes, or the link is idle in between. */
TEST(test_short_route)
{
	share_start(10000000, 5000, 80, 0);
	linksim_demand(&sim, 0, 0, 0);
	sim.spec_p = 1;
	sim.server_us = 300;
	assert_carries(5 * SECOND_US, sim.rate_Bps, 97, 101);
}

/* A client that reads one long piece after another leaves such a route idle for
 * a round trip between them. The next call ahead fills it, since it goes out
 * when most of the client's reply has come. */
TEST(test_short_route_shared)
{
	uint64_t bytes;

	share_start(10000000, 5000, 80, 0);
	linksim_demand(&sim, 1, 300, 24576);
	sim.demand_min = 24576;
	sim.tiny_percent = 0;
	sim.spec_p = 1;
	linksim_run(&sim, 5 * SECOND_US);
	bytes = sim.demand_bytes + sim.spec_bytes;
	linksim_run(&sim, 5 * SECOND_US);
	bytes = sim.demand_bytes + sim.spec_bytes - bytes;
	assert_in_range(
	    bytes, sim.rate_Bps * 5 / 100 * 97, sim.rate_Bps * 5 / 100 * 101);
}

TEST(test_absolute)
{
	static const uint64_t bits[] = {500000, 5000000};
	unsigned i;

	for (i = 0; i < 2; i++) {
		share_start(20000000, 40000, 0, bits[i]);
		assert_carries(2 * SECOND_US, bits[i] / 8, 95, 105);
	}
}

struct collapse {
	uint64_t since_us, longest_us;
};

/* A window of less than a quarter of what the link holds. */
static void check_collapse(struct linksim *s)
{
	struct collapse *c = s->arg;
	uint64_t holds = s->rate_Bps * s->delay_us / SECOND_US;

	if (budget_window_bytes(s->budget) >= holds / 4)
		c->since_us = s->now_us;
	else if (s->now_us - c->since_us > c->longest_us)
		c->longest_us = s->now_us - c->since_us;
}

TEST(test_jitter)
{
	struct collapse c;
	unsigned k;

	for (k = 1; k < 4; k++) {
		share_start(20000000, 40000, 80, 0);
		linksim_demand(&sim, 2, 20000, 32768);
		sim.jitter_us = k & 1 ? 10000 : 0;
		sim.spike_permille = k & 2 ? 10 : 0;
		sim.spike_us = 200000;
		linksim_run(&sim, 5 * SECOND_US);
		c = (struct collapse){.since_us = sim.now_us};
		sim.check = check_collapse;
		sim.arg = &c;
		linksim_run(&sim, 60 * SECOND_US);
		assert_in_range(c.longest_us, 0, SECOND_US);
	}
}

/* Where demand fills the link, speculation has one call in flight at most. */
TEST(test_demand_first)
{
	uint64_t alone;

	share_start(20000000, 40000, 80, 0);
	sim.speculate = false;
	linksim_demand(&sim, 16, 1000, 65536);
	linksim_run(&sim, 5 * SECOND_US);
	alone = sim.demand_bytes;
	linksim_run(&sim, 20 * SECOND_US);
	alone = sim.demand_bytes - alone;

	share_start(20000000, 40000, 80, 0);
	linksim_demand(&sim, 16, 1000, 65536);
	linksim_run(&sim, 5 * SECOND_US);
	sim.demand_bytes = 0;
	linksim_run(&sim, 20 * SECOND_US);
	assert_true(sim.demand_bytes >= alone / 100 * 90);
}
