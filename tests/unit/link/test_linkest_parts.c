/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rate of a link, from when the parts of replies come. */
#include "unittest.h"
#include "link/sim_fixture.h"

/* A reply of `parts` parts, `gap_us` apart, 40 ms after its call. */
static uint64_t reply_in_parts(
    struct linkest *le, unsigned parts, uint64_t gap_us, uint64_t now)
{
	struct linkest_mark mark;

	linkest_sent(le, &mark, parts * 1424, now);
	now += 40000;
	for (unsigned i = 0; i < parts; i++, now += gap_us)
		linkest_arrived(le, 1424, i > 0, now);
	linkest_received(le, &mark, parts * 1424, now);
	return now + 100000;
}

/* Eight replies show a link of 2.5 MB/s and 40 ms. */
static uint64_t link_is_learned(struct linkest *le, uint64_t now)
{
	for (int i = 0; i < 8; i++)
		now = reply_in_parts(le, 23, 600, now);
	return now;
}

/* A first reply that was held up on its way tells of a slow link, and so of a
 * near server: for no longer than until the rate is known better. */
TEST(test_first_reply_held_up)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now = SECOND_US;

	now = reply_in_parts(le, 8, 10000, now);
	assert_in_range(linkest_base_us(le), 20000, 35000);
	now = link_is_learned(le, now);
	assert_in_range(linkest_rate_Bps(le), 2000000, 3000000);
	assert_in_range(linkest_base_us(le), 38000, 42000);
}

/* Records that come behind one another may do so as the server makes them:
 * that is the least that the link carries. */
TEST(test_many_records)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());

	for (uint64_t now = 100000; now < 104000; now += 100)
		linkest_arrived(le, 1000, false, now);
	assert_int_equal(linkest_rate_Bps(le), 0);
	assert_near(linkest_least_Bps(le), 10450000, 10);
	/* Between records the link may be idle: nobody has asked for more. */
	for (uint64_t now = SECOND_US; now < 5 * SECOND_US; now += 100000)
		linkest_arrived(le, 1000, false, now);
	assert_int_equal(linkest_rate_Bps(le), 0);
	assert_near(linkest_least_Bps(le), 10450000, 10);
	/* Nor does the pause count that the server makes behind the first ten
	 * segments of a long reply. */
	linkest_arrived(le, 1448, false, 6 * SECOND_US);
	for (unsigned i = 1; i < 10; i++)
		linkest_arrived(le, 1448, true, 6 * SECOND_US + i * 20000);
	linkest_arrived(le, 1448, true, 7 * SECOND_US);
	assert_near(linkest_rate_Bps(le), 75700, 2);
}

/* So many replies are under way, of so many parts each. The server was silent
 * and begins with a small window: each flight of parts is twice as long as the
 * one before, and all but the last end in a gap. Returns when all is over. */
static uint64_t replies_in_flights(
    struct linkest *le, unsigned replies, unsigned parts, uint64_t now)
{
	struct linkest_mark marks[16];
	unsigned n = 0;

	for (unsigned i = 0; i < replies; i++)
		linkest_sent(le, &marks[i], parts * 1424, now);
	for (unsigned flight = 10; n < replies * parts; flight *= 2) {
		uint64_t at = now += 40000;

		for (unsigned i = 0; i < flight && n < replies * parts; i++) {
			linkest_arrived(le, 1424, n++ % parts > 0, at);
			if (n % parts == 0)
				linkest_received(le, &marks[n / parts - 1],
				    parts * 1424, at);
			at += 600;
		}
		now = at > now + 40000 ? at - 40000 : now;
	}
	return now + 80000;
}

/* The small window of a server is no slower link: not where a long reply comes
 * in several flights. */
TEST(test_window_of_the_sender)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now = link_is_learned(le, SECOND_US);

	assert_in_range(linkest_rate_Bps(le), 2300000, 2700000);
	for (int k = 0; k < 5; k++) {
		now = replies_in_flights(le, 1, 150, now + 10 * SECOND_US);
		assert_in_range(linkest_rate_Bps(le), 2000000, 2700000);
	}
}

/* Nor where the first flight ends within one of several replies. */
TEST(test_replies_in_flights)
{
	for (unsigned parts = 6; parts < 30; parts++) {
		struct linkest *le = AFTER(linkest_free, linkest_new());
		uint64_t now = link_is_learned(le, SECOND_US);

		for (int k = 0; k < 5; k++) {
			now = replies_in_flights(
			    le, 96 / parts, parts, now + 10 * SECOND_US);
			assert_in_range(linkest_rate_Bps(le), 2000000, 2700000);
		}
	}
}

/* Nor where a flight ends when a reply has but begun, and the rest of the reply
 * comes in the next flight. */
TEST(test_reply_between_flights)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now = link_is_learned(le, SECOND_US);
	struct linkest_mark mark;

	for (int k = 0; k < 5; k++) {
		now += 10 * SECOND_US;
		linkest_sent(le, &mark, 23 * 1424, now);
		now += 40000;
		linkest_arrived(le, 868, false, now);
		now += 12000;
		for (unsigned i = 0; i < 22; i++, now += 600) {
			linkest_arrived(le, 1424, true, now);
			assert_in_range(linkest_rate_Bps(le), 2000000, 2700000);
		}
		linkest_received(le, &mark, 868 + 22 * 1424, now);
	}
}
