/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The longest turn of an event loop, with virtual time and in a real loop. */
#include <time.h>
#include "unittest.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/loopwatch.h"

enum { SECOND = 1000000 };

static void turn(struct loopwatch *w, uint64_t *now_us, uint64_t us)
{
	loopwatch_wakes(w, *now_us);
	*now_us += us;
	loopwatch_waits(w, *now_us);
}

TEST(test_longest)
{
	struct loopwatch *w = AFTER(loopwatch_free, loopwatch_new());
	uint64_t now_us = SECOND;

	loopwatch_waits(w, now_us);
	assert_int_equal(loopwatch_longest_us(w), 0);
	turn(w, &now_us, 700);
	turn(w, &now_us, 50000);
	turn(w, &now_us, 20000);
	assert_int_equal(loopwatch_longest_us(w), 50000);
	assert_int_equal(loopwatch_long_turns(w), 1);
	/* The time for which the loop waits is not part of a turn. */
	now_us += 2 * SECOND;
	turn(w, &now_us, 10);
	now_us += 2 * SECOND;
	turn(w, &now_us, 10);
	assert_int_equal(loopwatch_longest_us(w), 50000);
	now_us += 4 * SECOND;
	turn(w, &now_us, 30);
	now_us += 4 * SECOND;
	turn(w, &now_us, 20);
	assert_int_equal(loopwatch_longest_us(w), 30);
	assert_int_equal(loopwatch_long_turns(w), 1);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct timespec begun, ts;
	int *left = arg;

	(void)fd;
	(void)what;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do
		clock_gettime(CLOCK_MONOTONIC, &ts);
	while ((ts.tv_sec - begun.tv_sec) * 1000000000L + ts.tv_nsec -
		   begun.tv_nsec <
	       3000000);
	--*left;
}

/* libevent waits by the function that is watched. */
TEST(test_loop)
{
	struct event_base *base = event_base_new();
	struct loopwatch *w = AFTER(loopwatch_free, loopwatch_new());
	struct timeval soon = {.tv_usec = 1000};
	int left = 3;
	struct event *ev = event_new(base, -1, EV_PERSIST, on_timer, &left);

	event_add(ev, &soon);
	while (left > 0)
		event_base_loop(base, EVLOOP_ONCE);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_true(loopwatch_longest_us(w) >= 3000);
	event_free(ev);
	event_base_free(base);
}

/* Short turns are not measured, but in time they let the longest one be
 * forgotten. */
TEST(test_short_turns_forget)
{
	struct loopwatch *w = AFTER(loopwatch_free, loopwatch_new());
	uint64_t now_us = SECOND;

	turn(w, &now_us, 50000);
	for (int i = 0; i < 7; i++) {
		now_us += SECOND;
		loopwatch_wakes(w, now_us);
	}
	assert_int_equal(loopwatch_longest_us(w), 0);
}

/* Begins a turn that works for some microseconds; returns when it began. */
static uint64_t turn_works(void)
{
	uint64_t turn_us = clock_begin_turn();

	for (uint64_t us = clock_awake_us(); clock_awake_us() < us + 5;)
		;
	return turn_us;
}

/* Readings in a turn of the loop give one time for some tens of microseconds;
 * after bytes were sent, the next one gives a later time. */
TEST(test_turn_shares)
{
	struct timespec wait = {.tv_nsec = 1000000};
	uint64_t turn_us = turn_works();
	unsigned tries = 0;

	/* The machine may halt this thread meanwhile, and then a reading is
	 * not shared. */
	while (clock_cycles() != 0 && clock_now_us() != turn_us) {
		turn_us = turn_works();
		assert_true(tries++ < 1000);
	}
	nanosleep(&wait, NULL);
	assert_true(clock_now_us() > turn_us);
	turn_us = clock_begin_turn();
	clock_forget();
	nanosleep(&wait, NULL);
	assert_true(clock_now_us() > turn_us);
}

/* In virtual time each reading counts. */
TEST(test_none_spared)
{
	struct timespec wait = {.tv_nsec = 2000};
	uint64_t us;

	clock_spare_none();
	assert_int_equal(clock_cycles(), 0);
	us = clock_begin_turn();
	nanosleep(&wait, NULL);
	assert_true(clock_now_us() > us);
}
