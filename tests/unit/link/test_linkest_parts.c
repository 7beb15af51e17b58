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

/* A first reply that was held up on its way tells of a slow link, and so of a
 * near server: for no longer than until the rate is known better. */
TEST(test_first_reply_held_up)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now = SECOND_US;

	now = reply_in_parts(le, 8, 10000, now);
	assert_in_range(linkest_base_us(le), 20000, 35000);
	for (int i = 0; i < 8; i++)
		now = reply_in_parts(le, 23, 600, now);
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
	/* A pause is the client's. */
	for (uint64_t now = SECOND_US; now < 5 * SECOND_US; now += 100000)
		linkest_arrived(le, 1000, false, now);
	assert_int_equal(linkest_rate_Bps(le), 0);
	assert_near(linkest_least_Bps(le), 10450000, 10);
	/* A long reply: behind ten segments there may be a pause, too. */
	linkest_arrived(le, 1448, false, 6 * SECOND_US);
	for (unsigned i = 1; i < 10; i++)
		linkest_arrived(le, 1448, true, 6 * SECOND_US + i * 20000);
	linkest_arrived(le, 1448, true, 7 * SECOND_US);
	assert_near(linkest_rate_Bps(le), 75700, 2);
}

/* A server that was silent for a while begins with a small window: each flight
 * is twice as long as the one before, and all but the last end in a gap. That
 * is no slower link. */
TEST(test_window_of_the_sender)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now = SECOND_US;
	struct linkest_mark mark;

	for (int i = 0; i < 8; i++)
		now = reply_in_parts(le, 23, 600, now);
	assert_in_range(linkest_rate_Bps(le), 2300000, 2700000);
	for (int k = 0; k < 5; k++) {
		now += 10 * SECOND_US;
		linkest_sent(le, &mark, 150 * 1424, now);
		for (unsigned flight = 10; flight < 160; flight *= 2) {
			uint64_t at = now += 40000;

			for (unsigned i = 0; i < flight; i++, at += 600)
				linkest_arrived(
				    le, 1424, flight > 10 || i > 0, at);
			now = at > now + 40000 ? at - 40000 : now;
		}
		linkest_received(le, &mark, 150 * 1424, now + 40000);
		assert_in_range(linkest_rate_Bps(le), 2000000, 2700000);
	}
}

/* Several replies are under way, of so many parts each, and come in such
 * flights; returns when the last flight is over. */
static uint64_t replies_in_flights(
    struct linkest *le, unsigned parts, uint64_t now)
{
	struct linkest_mark marks[16];
	unsigned replies = 96 / parts, n = 0;

	for (unsigned i = 0; i < replies; i++)
		linkest_sent(le, &marks[i], parts * 1424, now);
	for (unsigned flight = 10; flight < 100; flight *= 2) {
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

/* Nor is it where the first flight ends within a reply, or in short parts. */
TEST(test_replies_in_flights)
{
	for (unsigned parts = 6; parts < 30; parts++) {
		struct linkest *le = AFTER(linkest_free, linkest_new());
		uint64_t now = SECOND_US;

		for (int i = 0; i < 8; i++)
			now = reply_in_parts(le, 23, 600, now);
		for (int k = 0; k < 5; k++) {
			now += 10 * SECOND_US;
			now = replies_in_flights(le, parts, now);
			assert_in_range(linkest_rate_Bps(le), 2000000, 2700000);
		}
	}
}

/* Nor is it where a flight ends behind the first part of a reply. */
TEST(test_reply_between_flights)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t now = SECOND_US;
	struct linkest_mark mark;

	for (int i = 0; i < 8; i++)
		now = reply_in_parts(le, 23, 600, now);
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
