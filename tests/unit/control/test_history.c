/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of the last hour: what happened in each, and that old ones go. */
#include "unittest.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "control/history.h"

/* A call takes HOP longer through the daemon. One that the daemon answers
 * itself, on a link of 40 ms, would have waited DIRECT longer without it. */
enum { HOP = HISTORY_HOP_US, DIRECT = 40000 - HOP };

static const struct metrics *measure(void *ctx)
{
	return ctx;
}

struct fixture {
	struct event_base *base;
	struct metrics *m;
	struct history *h;
	uint64_t now_us;
};

static int setup(void **state)
{
	static struct fixture f;

	f.base = event_base_new();
	f.m = metrics_new();
	f.h = history_new(f.base, measure, f.m);
	f.now_us = clock_now_us();
	*state = &f;
	return f.base && f.m && f.h ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	history_free(f->h);
	metrics_free(f->m);
	event_base_free(f->base);
	return 0;
}

static const struct history_sample *take(struct fixture *f)
{
	f->now_us += HISTORY_STEP_US;
	history_take(f->h, f->now_us);
	return history_at(f->h, history_count(f->h) - 1);
}

FIXTURE_OF_STATE(setup, teardown);

TEST(test_a_sample_is_what_was_new, struct fixture *f)
{
	struct metrics_call call = {
	    .bytes_in = 100, .bytes_out = 200, .latency_us = 5000};
	const struct history_sample *s;

	assert_int_equal(history_count(f->h), 0);
	metrics_set_gauge(f->m, METRICS_GAUGE_LINK_BASE_US, 40000);
	metrics_set_gauge(f->m, METRICS_GAUGE_UP, 1);
	metrics_add(f->m, METRICS_NAME_HITS, 7);
	metrics_add(f->m, METRICS_DATA_MISSES, 2);
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 3);
	metrics_add_call(f->m, METRICS_CLIENT, 100003, 3, &call);
	s = take(f);
	assert_int_equal(s->calls, 1);
	assert_int_equal(s->waited_us, 5000);
	assert_int_equal(s->returned_bytes, 200);
	assert_int_equal(s->hits, 7);
	assert_int_equal(s->misses, 2);
	/* Two calls were passed on, and waited for 5 ms together. */
	assert_int_equal(s->saved_us, 3 * (2500 - HOP));
	assert_true(s->up);
	assert_true(s->span_us >= HISTORY_STEP_US);

	s = take(f);
	assert_int_equal(s->calls, 0);
	assert_int_equal(s->hits, 0);
	assert_int_equal(s->saved_us, 0);
	assert_int_equal(s->span_us, HISTORY_STEP_US);
	assert_int_equal(s->base_us, 40000);
}

TEST(test_demand_is_what_was_not_fetched_ahead, struct fixture *f)
{
	struct metrics_call reply = {.bytes_in = 1000};
	const struct history_sample *s;

	metrics_add_call(f->m, METRICS_UPSTREAM, 100003, 6, &reply);
	metrics_add(f->m, METRICS_PREFETCH_BYTES, 600);
	metrics_add(f->m, METRICS_WARM_BYTES, 100);
	metrics_add(f->m, METRICS_PREFETCH_UNUSED_BYTES, 50);
	s = take(f);
	assert_int_equal(s->asked, 1);
	assert_int_equal(s->ahead_bytes, 700);
	assert_int_equal(s->demand_bytes, 300);
	assert_int_equal(s->unused_bytes, 50);
}

TEST(test_an_hour_is_kept, struct fixture *f)
{
	for (unsigned i = 1; i <= HISTORY_SAMPLES + 5; i++) {
		metrics_add(f->m, METRICS_NAME_HITS, i);
		take(f);
	}
	assert_int_equal(history_count(f->h), HISTORY_SAMPLES);
	assert_int_equal(history_at(f->h, 0)->hits, 6);
	assert_int_equal(
	    history_at(f->h, HISTORY_SAMPLES - 1)->hits, HISTORY_SAMPLES + 5);
	assert_int_equal(history_at(f->h, HISTORY_SAMPLES - 1)->at_us -
			     history_at(f->h, 0)->at_us,
	    UINT64_C(3600000000) - HISTORY_STEP_US);
}

TEST(test_saved_today, struct fixture *f)
{
	metrics_set_gauge(f->m, METRICS_GAUGE_LINK_BASE_US, 40000);
	history_begin_day(f->h, 5);
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 10);
	(void)take(f);
	history_begin_day(f->h, 5);
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 5);
	(void)take(f);
	assert_int_equal(history_saved_today_us(f->h), 15 * DIRECT);
	history_begin_day(f->h, 6);
	assert_int_equal(history_saved_today_us(f->h), 0);
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 1);
	(void)take(f);
	assert_int_equal(history_saved_today_us(f->h), DIRECT);
	assert_int_equal(history_saved_today_us(NULL), 0);
}

/* Whoever asks sees all until now; a link that gets slower takes nothing back,
 * and its round trip does not count for calls of before. */
TEST(test_saved_until_now, struct fixture *f)
{
	struct metrics_call call = {.latency_us = 3000};

	metrics_set_gauge(f->m, METRICS_GAUGE_LINK_BASE_US, 40000);
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 10);
	assert_int_equal(history_saved_us(f->h), 10 * DIRECT);
	metrics_set_gauge(f->m, METRICS_GAUGE_LINK_BASE_US, 9000000);
	metrics_add(f->m, METRICS_DATA_MISSES, 1);
	metrics_add_call(f->m, METRICS_CLIENT, 100003, 6, &call);
	assert_int_equal(history_saved_us(f->h), 10 * DIRECT);
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 2);
	assert_int_equal(take(f)->saved_us, 10 * DIRECT + 2 * (3000 - HOP));
	assert_int_equal(
	    history_saved_us(f->h), 10 * DIRECT + 2 * (3000 - HOP));
	assert_int_equal(take(f)->saved_us, 0);
	assert_int_equal(history_saved_us(NULL), 0);
}

static void add_calls(struct fixture *f, unsigned n, uint64_t latency_us)
{
	struct metrics_call call = {.latency_us = latency_us};

	for (unsigned i = 0; i < n; i++)
		metrics_add_call(f->m, METRICS_CLIENT, 100003, 1, &call);
}

/* A link as fast as this machine spares nobody anything, however long replies
 * stood in the queues that the daemon makes itself. */
TEST(test_nothing_is_saved_on_a_fast_link, struct fixture *f)
{
	const struct history_sample *s;

	metrics_set_gauge(f->m, METRICS_GAUGE_LINK_BASE_US, 40);
	metrics_set_gauge(f->m, METRICS_GAUGE_LINK_SRTT_US, 2000);
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 90);
	metrics_add(f->m, METRICS_ATTR_MISSES, 10);
	add_calls(f, 100, 500);
	s = take(f);
	assert_int_equal(s->saved_us, 0);
	assert_int_equal(s->added_us, 10 * HOP + 90 * (HOP - 40));
	assert_int_equal(history_saved_us(f->h), 0);
	assert_int_equal(history_added_us(f->h), s->added_us);
	assert_int_equal(history_added_us(NULL), 0);
}

/* On a distant one the hop is little, and counts all the same. */
TEST(test_what_is_passed_on_takes_longer, struct fixture *f)
{
	const struct history_sample *s;

	/* Nothing is known of the link yet. */
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 5);
	add_calls(f, 5, 10);
	s = take(f);
	assert_int_equal(s->saved_us, 0);
	assert_int_equal(s->added_us, 0);
	metrics_set_gauge(f->m, METRICS_GAUGE_LINK_BASE_US, 40000);
	metrics_set_gauge(f->m, METRICS_GAUGE_LINK_SRTT_US, 90000);
	metrics_add(f->m, METRICS_ROUND_TRIPS_SAVED, 8);
	metrics_add(f->m, METRICS_ATTR_MISSES, 2);
	add_calls(f, 10, 50000);
	s = take(f);
	assert_int_equal(s->saved_us, 8 * DIRECT);
	assert_int_equal(s->added_us, 2 * HOP);
}
