/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one link that a test simulates, and what is estimated of it. */
#ifndef FOREFETCH_TEST_SIM_FIXTURE_H
#define FOREFETCH_TEST_SIM_FIXTURE_H

#include "unittest.h"
#include "link/linksim.h"

#define SECOND_US UINT64_C(1000000)

static struct linksim sim;

static inline void assert_near(uint64_t got, uint64_t want, unsigned percent)
{
	uint64_t slack = want * percent / 100 + 1;

	assert_in_range(got, want - slack, want + slack);
}

static inline void assert_rate(unsigned percent)
{
	assert_near(linkest_rate_Bps(sim.le), sim.rate_Bps, percent);
}

static inline void assert_base(unsigned percent)
{
	assert_near(linkest_base_us(sim.le), sim.delay_us, percent);
}

static inline void assert_rate_after(uint64_t us, unsigned percent)
{
	linksim_run(&sim, us);
	assert_rate(percent);
}

#endif
