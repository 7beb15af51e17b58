/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The estimate of a link over a restart. */
#include <event2/event.h>

#include "unittest.h"
#include "base/iopool.h"
#include "base/statedir.h"
#include "base/statefile.h"
#include "link/linkkeep.h"
#include "link/linksim.h"

#define SECOND_US UINT64_C(1000000)

static struct linksim sim;

TEST(test_line)
{
	static const struct linkest_kept links[] = {
	    {1000, 1}, {2500000, 40123}, {UINT64_C(125000000000), 60000000}};
	char text[LINKKEEP_TEXT_MAX];
	struct linkest_kept kept;

	for (size_t i = 0; i < 3; i++) {
		linkkeep_format(&links[i], text);
		assert_true(linkkeep_parse(text, &kept));
		assert_int_equal(kept.rate_Bps, links[i].rate_Bps);
		assert_int_equal(kept.base_us, links[i].base_us);
	}
}

TEST(test_damaged)
{
	static const struct linkest_kept wrong[] = {{0, 40000}, {999, 40000},
	    {UINT64_C(125000000001), 40000}, {UINT64_MAX, 40000}, {2500000, 0},
	    {2500000, 60000001}, {2500000, UINT64_MAX}};
	static const char *const other[] = {"", "1", "1 2500000 40123",
	    "2 2500000 40123 0", "1 -5 40123 0",
	    "1 99999999999999999999999999 4 0", "1 2500000 40123 zzzz"};
	struct linkest_kept kept = {2500000, 40123};
	char text[LINKKEEP_TEXT_MAX], bad[LINKKEEP_TEXT_MAX];
	size_t i, len;

	linkkeep_format(&kept, text);
	len = strlen(text);
	for (i = 0; i < len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(bad, text, sizeof(bad));
			bad[i] = (char)(bad[i] ^ (1 << bit));
			assert_false(linkkeep_parse(bad, &kept));
		}
		memcpy(bad, text, sizeof(bad));
		bad[i] = '\0';
		assert_false(linkkeep_parse(bad, &kept));
	}
	for (i = 0; i < LENGTH(wrong); i++) {
		linkkeep_format(&wrong[i], text);
		assert_false(linkkeep_parse(text, &kept));
	}
	for (i = 0; i < LENGTH(other); i++)
		assert_false(linkkeep_parse(other[i], &kept));
}

static void busy_link(uint64_t rate_bits, uint64_t delay_us)
{
	linksim_init(&sim, 80, 0);
	linksim_link(&sim, rate_bits, delay_us);
	linksim_demand(&sim, 4, 1000, 65536);
	linksim_run(&sim, 5 * SECOND_US);
}

/* The line that is kept now, until the next call; NULL: none. */
static const char *line_of(const char *dir)
{
	static struct statefile_text text;
	char path[64];

	statefile_free_text(&text);
	snprintf(path, sizeof(path), "%s/nas/" LINKKEEP_FILE, dir);
	statefile_read(path, LINKKEEP_TEXT_MAX, &text);
	return statefile_first_line(&text);
}

TEST(test_restart)
{
	const char *dir = unittest_folder();
	char err[256];
	struct event_base *base = event_base_new();
	struct iopool *pool = iopool_new(base, 1);
	struct statedir *sd;
	struct linkkeep *lk;
	struct linkest *le;

	sd = statedir_new(dir, 0, pool);
	assert_int_equal(statedir_take(sd, err, sizeof(err)), 0);
	assert_true(statedir_make_server(sd, "nas") >= 0);
	/* Nothing is kept, and nothing is known. */
	le = linkest_new();
	lk = linkkeep_new(sd, "nas", le, line_of(dir));
	assert_int_equal(linkest_rate_Bps(le), 0);
	linkkeep_free(lk);
	linkest_free(le);

	busy_link(20000000, 40000);
	lk = linkkeep_new(sd, "nas", sim.le, line_of(dir));
	/* A rate that was measured is not replaced by the one that was kept. */
	assert_in_range(linkest_rate_Bps(sim.le), 2000000, 3000000);
	linkkeep_free(lk);
	iopool_drain(pool);
	linksim_fini(&sim);

	le = linkest_new();
	lk = linkkeep_new(sd, "nas", le, line_of(dir));
	assert_in_range(linkest_rate_Bps(le), 1000000, 1500000);
	assert_in_range(linkest_base_us(le), 36000, 44000);
	/* A rate that was not measured since the start is not kept, or it would
	 * halve at each start. */
	linkkeep_tick(lk, 100 * SECOND_US);
	linkkeep_free(lk);
	linkest_free(le);
	le = linkest_new();
	lk = linkkeep_new(sd, "nas", le, line_of(dir));
	assert_in_range(linkest_rate_Bps(le), 1000000, 1500000);
	linkkeep_free(lk);
	linkest_free(le);
	iopool_free(pool);
	event_base_free(base);
	statedir_free(sd);
}

/* The kept figures are those of the link: the first round trip carries what
 * goes into it at half of that rate. */
TEST(test_same_link)
{
	struct linkest_kept kept = {2500000, 40000};

	for (unsigned i = 0; i < 2; i++) {
		linksim_init(&sim, 80, 0);
		linksim_link(&sim, 20000000, 40000);
		linkest_begin(sim.le, &kept);
		sim.spec_max = i == 0 ? 4096 : 16384;
		sim.spec_all = true;
		sim.spec_p = 1;
		sim.speculate = true;
		linksim_run(&sim, 2 * sim.delay_us);
		assert_in_range(sim.spec_bytes, 40000, 100000);
	}
}

/* The kept figures are those of another link, and the first samples show it. */
TEST(test_other_link)
{
	static const uint64_t links[][2] = {{2000000, 40000}, {2000000, 20000},
	    {1000000, 100000}, {100000000, 5000}};
	struct linkest_kept kept = {2500000, 40000};
	static const uint64_t sizes[] = {128, 65536};
	uint64_t holds;

	for (unsigned i = 0; i < 8; i++) {
		linksim_init(&sim, 80, 0);
		linksim_link(&sim, links[i / 2][0], links[i / 2][1]);
		linkest_begin(sim.le, &kept);
		sim.spec_max = sizes[i % 2];
		sim.speculate = true;
		linksim_demand(&sim, 1, 20000, 16384);
		holds = sim.rate_Bps * sim.delay_us / SECOND_US;
		linksim_run(&sim, SECOND_US);
		sim.over_max_bytes = 0;
		linksim_run(&sim, 10 * SECOND_US);
		assert_in_range(linkest_rate_Bps(sim.le),
		    sim.rate_Bps / 100 * 85, sim.rate_Bps / 100 * 115);
		assert_in_range(sim.over_max_bytes, 0, holds / 20 + 1514);
	}
}
