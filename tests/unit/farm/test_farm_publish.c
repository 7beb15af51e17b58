/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a machine publishes what it had from the server. Time is virtual. */
#include "base/clock.h"
#include "farm/farm_fixture.h"
#include "scenario/vclock.h"

enum { CELLS = 4 };

static void begin(struct pair *p)
{
	begin_pair(p);
	vclock_start(p->a.fx.base);
	/* Nobody knows whether others are there before this was asked. */
	vclock_pass(10 * S);
}

static void end(struct pair *p)
{
	vclock_stop();
	end_pair(p);
}

/* A job goes on: another cell comes each tenth of a second. */
static void read_cells(struct farm_machine *m)
{
	say_firm(m, 5, 0, FIRST);
	for (unsigned i = 0; i + 1 < CELLS; i++) {
		vclock_pass(100 * MS);
		say_read(m, 5, i * CELL + (i == 0 ? FIRST : 0),
		    i == 0 ? CELL - FIRST : CELL);
	}
}

FIXTURE(struct pair, begin, end);

/* While replies come, a job waits for the next one. */
TEST(test_behind_the_job, struct pair *p)
{
	read_cells(&p->a);
	assert_int_equal(fake_count_of('d'), 0);
	vclock_pass(300 * MS);
	assert_int_equal(fake_count_of('d'), CELLS);
}

/* A long job publishes while it goes on. */
TEST(test_in_a_long_job, struct pair *p)
{
	say_firm(&p->a, 5, 0, FIRST);
	for (uint32_t i = 0; i < 29; i++) {
		vclock_pass(100 * MS);
		say_firm(&p->a, 6 + i, 0, FIRST);
	}
	assert_int_equal(fake_count_of('d'), 0);
	for (uint32_t i = 29; i < 35; i++) {
		vclock_pass(100 * MS);
		say_firm(&p->a, 6 + i, 0, FIRST);
	}
	assert_true(publish_waiting(p->a.farm->publish) < 35);
}

/* Other machines may be waiting. */
TEST(test_others_are_there, struct pair *p)
{
	p->a.server->others.seen_us = clock_now_us();
	read_cells(&p->a);
	assert_int_equal(fake_count_of('d'), CELLS - 1);
}
