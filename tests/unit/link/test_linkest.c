/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The estimates of a link, in virtual time. */
#include "unittest.h"
#include "link/sim_fixture.h"

TEST(test_unknown)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct linkest_mark mark;

	assert_int_equal(linkest_rate_Bps(le), 0);
	assert_int_equal(linkest_base_us(le), 0);
	assert_int_equal(linkest_unit_bytes(le), 4096);
	assert_int_equal(linkest_wire_us(le, 1000), 0);
	/* Calls one at a time never say what the link could do. */
	for (uint64_t now = 1; now < 5 * SECOND_US; now += 100000) {
		linkest_sent(le, &mark, 100, now);
		assert_int_equal(linkest_inflight_bytes(le), 166);
		assert_true(linkest_received(le, &mark, 100, now + 40000) < 2);
		assert_int_equal(linkest_inflight_bytes(le), 0);
	}
	assert_int_equal(linkest_rate_Bps(le), 0);
	assert_int_equal(linkest_base_us(le), 40000);
	assert_int_equal(linkest_srtt_us(le), 40000);
	assert_in_range(linkest_rttvar_us(le), 0, 10);
	assert_int_equal(linkest_queue_us(le, 5 * SECOND_US), 0);
}

/* RFC 6298 section 2: the first sample, then alpha = 1/8, beta = 1/4. */
TEST(test_smoothing)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct linkest_mark mark;

	linkest_sent(le, &mark, 100, 0);
	linkest_received(le, &mark, 100, 40000);
	assert_int_equal(linkest_srtt_us(le), 40000);
	assert_int_equal(linkest_rttvar_us(le), 20000);
	linkest_sent(le, &mark, 100, 100000);
	assert_int_equal(linkest_received(le, &mark, 100, 180000), 40000);
	assert_int_equal(linkest_srtt_us(le), 45000);
	assert_int_equal(linkest_rttvar_us(le), 25000);
	assert_int_equal(linkest_queue_us(le, 180000), 5000);
}

/* The parts of replies that have arrived count for no more than calls expect,
 * nor does a long reply that belongs to none of them. */
TEST(test_parts)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct linkest_mark mark[2];

	linkest_sent(le, &mark[0], 4000, 0);
	linkest_set_part(le, 2896);
	assert_int_equal(linkest_arrived_bytes(le), linkest_wire_bytes(2896));
	linkest_set_part(le, 100000);
	assert_int_equal(linkest_arrived_bytes(le), linkest_wire_bytes(4000));
	linkest_sent(le, &mark[1], 1000000, 0);
	assert_int_equal(linkest_arrived_bytes(le), linkest_wire_bytes(61440));
	linkest_lost(le, &mark[1]);
	assert_int_equal(linkest_arrived_bytes(le), 0);
}

/* Who waits on this side is in the queue, too, for a while. */
TEST(test_backlog)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());

	assert_int_equal(linkest_backlog_us(le, 5 * SECOND_US), 0);
	linkest_held(le, 400000, 5 * SECOND_US);
	assert_int_equal(linkest_backlog_us(le, 5 * SECOND_US), 100000);
	for (unsigned i = 0; i < 50; i++)
		linkest_held(le, 400000, 6 * SECOND_US);
	assert_near(linkest_backlog_us(le, 7 * SECOND_US), 400000, 1);
	assert_int_equal(linkest_backlog_us(le, 7400001), 0);
	for (unsigned i = 0; i < 20; i++)
		linkest_held(le, 0, 6 * SECOND_US);
	assert_in_range(linkest_backlog_us(le, 6 * SECOND_US), 0, 4000);
}

/* A call that is sent at `sent_us`, and answered after `took_us`. */
static uint64_t answer(struct linkest *le, uint64_t sent_us, uint64_t took_us)
{
	struct linkest_mark mark;

	linkest_sent(le, &mark, 100, sent_us);
	linkest_received(le, &mark, 100, sent_us + took_us);
	return linkest_queue_us(le, sent_us + took_us);
}

/* After a burst, a silent link has no replies that would show its queue gone:
 * the queue ends with time, until the next reply. */
TEST(test_silence)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct linkest_mark mark[2];

	answer(le, 1, 20000);
	linkest_sent(le, &mark[0], 100, SECOND_US);
	assert_int_equal(answer(le, SECOND_US, 180000), 20000);
	/* While a call is under way, the queue may still be there. */
	assert_int_equal(linkest_backlog_us(le, 9 * SECOND_US), 20000);
	linkest_lost(le, &mark[0]);
	assert_int_equal(linkest_backlog_us(le, 2180000), 20000);
	assert_int_equal(linkest_backlog_us(le, 2180001), 0);

	/* The next call does not bring it back, nor does the call's loss. */
	linkest_sent(le, &mark[0], 100, 3 * SECOND_US);
	assert_int_equal(linkest_backlog_us(le, 3 * SECOND_US), 0);
	linkest_lost(le, &mark[0]);
	assert_int_equal(linkest_backlog_us(le, 3 * SECOND_US), 0);
	/* Its reply tells: the queue is shorter, is there still, or is longer,
	 * which counts as any reply does. */
	assert_int_equal(answer(le, 4 * SECOND_US, 24000), 4000);
	assert_int_equal(answer(le, 6 * SECOND_US, 24000), 4000);
	assert_int_equal(answer(le, 8 * SECOND_US, 32000), 5000);
	/* The queue of a reply that came a minute late ends in a second,
	 * too. */
	assert_true(answer(le, 9 * SECOND_US, 60 * SECOND_US) > SECOND_US);
	assert_int_equal(linkest_queue_us(le, 70 * SECOND_US + 1), 0);
	assert_int_equal(answer(le, 71 * SECOND_US, 20000), 0);
}

TEST(test_lost)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	struct linkest_mark mark[3];
	size_t i;

	for (i = 0; i < 3; i++)
		linkest_sent(le, &mark[i], 65536, 10 * i);
	linkest_lost(le, &mark[0]);
	linkest_lost(le, &mark[1]);
	assert_int_equal(linkest_inflight_bytes(le), linkest_wire_bytes(65536));
	/* After a reconnect it comes late; not one of a busy link. */
	linkest_received(le, &mark[2], 65536, 3 * SECOND_US);
	assert_int_equal(linkest_rate_Bps(le), 0);
	assert_int_equal(linkest_inflight_bytes(le), 0);
}

struct link {
	uint64_t rate_bits, delay_us;
};

static const struct link links[] = {
    {1000000000, 1000},
    {20000000, 40000},
    {20000000, 1000},
    {2000000, 20000},
};

static void demand_start(
    const struct link *l, unsigned callers, unsigned tiny_percent)
{
	linksim_init(&sim, 80, 0);
	linksim_link(&sim, l->rate_bits, l->delay_us);
	sim.tiny_percent = tiny_percent;
	linksim_demand(&sim, callers, 1000, 65536);
}

/* One caller shows the base, though not always the rate; many the rate. */
TEST(test_demand_alone)
{
	static const unsigned tiny[] = {10, 50, 90};
	size_t i, j;

	for (i = 0; i < LENGTH(links); i++) {
		for (j = 0; j < 3; j++) {
			demand_start(&links[i], 1, tiny[j]);
			linksim_run(&sim, 5 * SECOND_US);
			assert_base(10);
			linksim_demand(&sim, 8, 1000, 65536);
			assert_rate_after(20 * SECOND_US, 15);
			assert_base(10);
			demand_start(&links[i], 8, tiny[j]);
			assert_rate_after(3 * SECOND_US, 15);
		}
	}
}

/* The parts of one reply show the rate, and its first one the base. */
TEST(test_first_reply)
{
	static const struct link real[] = {
	    {100000000, 5000},
	    {20000000, 40000},
	    {2000000, 20000},
	    {1000000, 100000},
	    {200000, 1000},
	};
	uint64_t bytes = 32768;

	for (size_t i = 0; i < LENGTH(real); i++) {
		linksim_init(&sim, 80, 0);
		linksim_link(&sim, real[i].rate_bits, real[i].delay_us);
		sim.demand_min = bytes;
		linksim_demand(&sim, 1, 0, bytes);
		linksim_run(&sim,
		    sim.delay_us +
			linkest_wire_bytes(bytes) * SECOND_US / sim.rate_Bps +
			1);
		assert_rate(10);
		/* And what the first two segments take. */
		assert_in_range(linkest_base_us(sim.le), sim.delay_us / 10 * 9,
		    sim.delay_us + 3100 * SECOND_US / sim.rate_Bps);
	}
}

/* Replies of 32 KiB at 20 ms, the second half at another rate, with so many
 * calls under way; returns when. */
static uint64_t replies(struct linkest *le, unsigned n, unsigned ahead,
    const uint64_t rates[2], uint64_t now)
{
	struct linkest_mark marks[4];
	unsigned sent = 0;

	assert_true(ahead <= 4);
	while (sent < ahead)
		linkest_sent(le, &marks[sent++], 32768, now);
	now += 20000;
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < 23; k++) {
			now += linkest_wire_bytes(1424) * SECOND_US /
			       rates[i >= n / 2];
			linkest_arrived(le, 1424, k > 0, now);
		}
		linkest_received(le, &marks[i % ahead], 32768, now);
		if (sent < n)
			linkest_sent(le, &marks[sent++ % ahead], 32768, now);
	}
	return now + 100000;
}

/* Single replies of a faster time do not raise a rate that has fallen since. */
TEST(test_faster_once)
{
	static const uint64_t fast[] = {2500000, 2500000},
			      falls[] = {2500000, 250000},
			      slow[] = {250000, 250000};
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now = SECOND_US;

	for (unsigned i = 0; i < 4; i++)
		now = replies(le, 1, 1, fast, now);
	assert_near(linkest_rate_Bps(le), 2500000, 10);
	now = replies(le, 80, 4, falls, now);
	assert_near(linkest_rate_Bps(le), 250000, 10);
	(void)replies(le, 1, 1, slow, now);
	assert_near(linkest_rate_Bps(le), 250000, 10);
}

/* A link that was changed while it was idle shows with the first reply. */
TEST(test_idle_and_slower)
{
	demand_start(&links[1], 8, 30);
	linksim_run(&sim, 5 * SECOND_US);
	linksim_demand(&sim, 0, 0, 0);
	for (size_t i = 0; i < LINKSIM_DEMAND; i++)
		sim.demand_at_us[i] = UINT64_MAX;
	linksim_run(&sim, 60 * SECOND_US);
	linksim_link(&sim, 2000000, 40000);
	sim.tiny_percent = 0;
	sim.demand_min = 16384;
	linksim_demand(&sim, 1, 0, 16384);
	assert_rate_after(120000, 10);
}

/* A server that takes its time is not a link that has become slower. */
TEST(test_server_slower)
{
	demand_start(&links[1], 4, 0);
	assert_rate_after(5 * SECOND_US, 15);
	sim.server_us = 5000;
	sim.think_us = 0;
	sim.demand_min = 8192;
	sim.demand_max = 8192;
	assert_rate_after(20 * SECOND_US, 15);
	assert_base(15);
}

struct inflated {
	uint64_t max_Bps, sum_Bps;
	unsigned events, over; /* by more than 15 % */
};

static void check_inflated(struct linksim *s)
{
	struct inflated *in = s->arg;
	uint64_t rate = linkest_rate_Bps(s->le);

	in->events++;
	in->sum_Bps += rate;
	in->over += rate > s->rate_Bps / 100 * 115;
	if (rate > in->max_Bps)
		in->max_Bps = rate;
}

/* One caller never fills the link, and yet shows that it is faster now. */
TEST(test_faster_for_one)
{
	struct inflated in = {0};

	linksim_init(&sim, 80, 0);
	linksim_link(&sim, 1000000, 40000);
	sim.demand_min = 65536;
	linksim_demand(&sim, 1, 1000, 65536);
	assert_rate_after(10 * SECOND_US, 10);
	linksim_link(&sim, 20000000, 40000);
	assert_rate_after(2 * SECOND_US, 10);
	/* The rate of a time when the link was faster says nothing when it is
	 * slow again. */
	linksim_demand(&sim, 8, 1000, 65536);
	linksim_run(&sim, SECOND_US);
	linksim_link(&sim, 1000000, 40000);
	assert_rate_after(10 * SECOND_US, 10);
	linksim_demand(&sim, 0, 0, 0);
	for (size_t i = 0; i < LINKSIM_DEMAND; i++)
		sim.demand_at_us[i] = UINT64_MAX;
	linksim_run(&sim, 8 * SECOND_US);
	linksim_demand(&sim, 1, 1000, 65536);
	sim.check = check_inflated;
	sim.arg = &in;
	linksim_run(&sim, 10 * SECOND_US);
	assert_int_equal(in.over, 0);
	assert_rate(10);
}

TEST(test_idle)
{
	uint64_t rate, base, srtt;

	demand_start(&links[1], 8, 30);
	linksim_run(&sim, 5 * SECOND_US);
	linksim_demand(&sim, 0, 0, 0);
	for (size_t i = 0; i < LINKSIM_DEMAND; i++)
		sim.demand_at_us[i] = UINT64_MAX;
	linksim_run(&sim, SECOND_US);
	rate = linkest_rate_Bps(sim.le);
	base = linkest_base_us(sim.le);
	srtt = linkest_srtt_us(sim.le);
	linksim_run(&sim, 600 * SECOND_US);
	assert_int_equal(linkest_rate_Bps(sim.le), rate);
	assert_int_equal(linkest_base_us(sim.le), base);
	assert_int_equal(linkest_srtt_us(sim.le), srtt);
	/* Elsewhere meanwhile: new samples count more than old ones. */
	linksim_link(&sim, 5000000, 60000);
	linksim_demand(&sim, 8, 1000, 65536);
	assert_rate_after(3 * SECOND_US, 15);
}

TEST(test_drop_and_rise)
{
	unsigned k;

	for (k = 0; k < 2; k++) {
		linksim_init(&sim, 80, 0);
		sim.tiny_percent = 50;
		sim.spec_max = 65536;
		sim.speculate = true;
		linksim_demand(
		    &sim, k ? 2 : 1, k ? 20000 : 100000, k ? 65536 : 16384);
		assert_rate_after(10 * SECOND_US, 15);
		linksim_link(&sim, 1000000, 40000);
		assert_rate_after(3 * SECOND_US, 15);
		/* Two units and what a longer call may take. */
		assert_in_range(budget_inflight_bytes(sim.budget), 0, 10000);
		linksim_run(&sim, 4 * SECOND_US);
		linksim_link(&sim, 20000000, 40000);
		assert_rate_after(5 * SECOND_US, 15);
		assert_base(10);
		assert_int_equal(linkest_routes(sim.le), 0);
	}
}

TEST(test_jitter)
{
	struct inflated in;
	unsigned k;

	for (k = 1; k < 4; k++) {
		linksim_init(&sim, 80, 0);
		sim.jitter_us = k & 1 ? 10000 : 0;
		sim.spike_permille = k & 2 ? 10 : 0;
		sim.spike_us = 200000;
		sim.tiny_percent = 50;
		sim.spec_max = 65536;
		sim.speculate = true;
		linksim_demand(&sim, 2, 20000, 32768);
		linksim_run(&sim, 5 * SECOND_US);
		in = (struct inflated){0};
		sim.arg = &in;
		sim.check = check_inflated;
		linksim_run(&sim, 60 * SECOND_US);
		assert_in_range(in.max_Bps, 0, sim.rate_Bps / 100 * 150);
		assert_in_range(in.over, 0, in.events / 14);
		assert_near(in.sum_Bps / in.events, sim.rate_Bps, 35);
		assert_base(15);
		assert_int_equal(linkest_routes(sim.le), 0);
	}
}

TEST(test_forget)
{
	demand_start(&links[1], 8, 50);
	linksim_run(&sim, 3 * SECOND_US);
	linkest_forget(sim.le);
	assert_int_equal(linkest_rate_Bps(sim.le), 0);
	assert_int_equal(linkest_base_us(sim.le), 0);
	assert_rate_after(3 * SECOND_US, 15);
}

static void assert_kind(uint64_t rate_bits, uint64_t base_us)
{
	assert_int_equal(linkest_rate_Bps(sim.le), rate_bits / 8);
	assert_int_equal(linkest_base_us(sim.le), base_us);
	assert_int_equal(linkest_wire_us(sim.le, rate_bits / 8), SECOND_US);
	assert_int_equal(linkest_unit_bytes(sim.le), 4096);
}

TEST(test_kinds)
{
	struct linkest_mark mark;

	linksim_init(&sim, 80, 0);
	linkest_set_kind(sim.le, CONFIG_LINK_WIRED);
	assert_kind(10000000, 1000);
	assert_int_equal(linkest_jitter_us(sim.le), 0);
	linkest_set_kind(sim.le, CONFIG_LINK_WIRELESS);
	assert_kind(2000000, 20000);
	assert_int_equal(linkest_jitter_us(sim.le), 20000);
	/* The first reply says how far it is, not how broad; however late it
	 * is, and though the link was idle before. */
	linkest_sent(sim.le, &mark, 100, 60 * SECOND_US);
	linkest_received(sim.le, &mark, 100, 60 * SECOND_US + 80000);
	assert_in_range(linkest_base_us(sim.le), 75000, 80000);
	assert_int_equal(linkest_rate_Bps(sim.le), 250000);
	/* The same again is no news; the network is. */
	linkest_set_kind(sim.le, CONFIG_LINK_WIRELESS);
	assert_in_range(linkest_base_us(sim.le), 75000, 80000);
	linkest_forget(sim.le);
	assert_kind(2000000, 20000);
	linkest_set_kind(sim.le, CONFIG_LINK_AUTO);
	assert_int_equal(linkest_rate_Bps(sim.le), 0);
	assert_int_equal(linkest_base_us(sim.le), 0);
}

/* Whatever the kind, within seconds what is measured counts. */
TEST(test_kind_is_but_a_start)
{
	static const struct link real[] = {
	    {20000000, 40000},
	    {10000000, 1000},
	    {2000000, 20000},
	    {1000000, 100000},
	};
	size_t i;
	unsigned k;

	for (i = 0; i < LENGTH(real); i++) {
		for (k = CONFIG_LINK_WIRED; k <= CONFIG_LINK_WIRELESS; k++) {
			demand_start(&real[i], 8, 30);
			linkest_set_kind(sim.le, k);
			assert_rate_after(5 * SECOND_US, 15);
			linkest_forget(sim.le);
			assert_rate_after(5 * SECOND_US, 15);
			demand_start(&real[i], 1, 90);
			linkest_set_kind(sim.le, k);
			linksim_run(&sim, 5 * SECOND_US);
			/* A reply's own wire time is a part of it. */
			assert_base(15);
		}
	}
}
