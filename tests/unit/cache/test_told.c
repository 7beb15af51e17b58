/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a machine that was told a file's attributes from the cache was told
 * wrongly, by those that the server has next. Appends are in the scenarios
 * (tests/unit/scenario/write/).
 */
#include "cache/attrcache.h"

#include "cache/caches_fixture.h"

static const struct machine machine = {.own = 1};

/* The server says the attributes; a second later it confirms them, where
 * `firm`, so that no change may have the same ctime; the machine is told them
 * from the cache; then the server has others. */
static enum attr_told told(struct world *w, const fattr3 *was, bool firm,
    uint64_t size, uint32_t ctime)
{
	struct attrcache *ac = w->caches->attr;
	fattr3 is = *was;

	say_getattr(w, "one", was);
	if (firm) {
		w->now_us += S;
		say_getattr(w, "one", was);
	}
	attrcache_tell(ac, node_of(w, "one"), machine, NULL,
	    attrcache_sent(ac, node_of(w, "one")), w->now_us);
	w->now_us += S;
	is.size = size;
	is.ctime.seconds = is.mtime.seconds = ctime;
	say_getattr(w, "one", &is);
	return attrcache_told(node_of(w, "one"), machine);
}

FIXTURE(struct world, setup, teardown);

TEST(test_replaced, struct world *w)
{
	fattr3 was = attr_of(NF3REG, 20, 50);

	assert_int_equal(told(w, &was, true, 90, 51), ATTR_TOLD_WRONGLY);
}

/* Within a tick of the server's clock. */
TEST(test_replaced_at_once, struct world *w)
{
	fattr3 was = attr_of(NF3REG, 20, 50);

	assert_int_equal(told(w, &was, false, 90, 50), ATTR_TOLD_WRONGLY);
}

/* The server crashed, and had written the time of a WRITE, not its bytes. */
TEST(test_lost_bytes, struct world *w)
{
	fattr3 was = attr_of(NF3REG, 20, 50);

	assert_int_equal(told(w, &was, true, 90, 50), ATTR_TOLD_FROM_OLD);
}

TEST(test_lost_bytes_and_time, struct world *w)
{
	fattr3 was = attr_of(NF3REG, 20, 50);

	assert_int_equal(told(w, &was, true, 90, 49), ATTR_TOLD_FROM_OLD);
}

/* By somebody, after the server's clock was set back. */
TEST(test_grown_with_an_earlier_time, struct world *w)
{
	fattr3 was = attr_of(NF3REG, 20, 50);

	assert_int_equal(told(w, &was, true, 110, 49), ATTR_TOLD_WRONGLY);
}
