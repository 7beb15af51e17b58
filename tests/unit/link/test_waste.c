/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that came ahead and were not used stay within their share of the
 * demand, and the price of a call rises towards that limit. */
#include <math.h>

#include "unittest.h"
#include "prefetch/prefetch_fixture.h"
#include "prefetch/steps/turn_private.h"
#include "link/waste.h"

#define SECOND UINT64_C(1000000)
#define START  (UINT64_C(1) << 40)
#define KIB    UINT64_C(1024)

/* On the slower link it is less. */
enum { ALLOWANCE = 2 << 20 };

enum { FAST_BPS = 2500000, SLOW_BPS = 250000 };

static struct waste_status now(struct waste *w, uint64_t rate, uint64_t now_us)
{
	struct waste_status st;

	waste_get_status(w, rate, 0, now_us, &st);
	return st;
}

static double price_of(struct waste *w, uint64_t rate, uint64_t now_us)
{
	struct waste_status st = now(w, rate, now_us);

	return waste_price(&st);
}

TEST(test_allowance)
{
	struct waste *w = AFTER(waste_free, waste_new());
	struct waste_status st;

	assert_int_equal(now(w, 0, START).limit_bytes, 512 * KIB);
	assert_int_equal(now(w, FAST_BPS, START).limit_bytes, ALLOWANCE);
	assert_int_equal(now(w, SLOW_BPS, START).limit_bytes, SLOW_BPS);
	/* Twice the bytes that the link holds may always be under way. */
	waste_get_status(w, FAST_BPS, 2048 * KIB, START, &st);
	assert_int_equal(st.limit_bytes, 4096 * KIB);
	waste_set_share(w, 10);
	assert_int_equal(now(w, SLOW_BPS, START).limit_bytes, SLOW_BPS / 10);
}

/* Bytes never get cheaper when more lies unused. */
TEST(test_price_rises)
{
	struct waste *w = AFTER(waste_free, waste_new());
	double was = 0;

	assert_true(price_of(w, FAST_BPS, START) == 0);
	for (int i = 0; i < 64; i++) {
		double price = price_of(w, FAST_BPS, START);

		assert_true(price >= was && price < 1000);
		was = price;
		if (i == 32)
			assert_true(price > 2.9 && price < 3.1);
		waste_ahead(w, 32 * KIB, START);
	}
	assert_true(was > 39);
	waste_ahead(w, 2080 * KIB, START);
	assert_true(isinf(price_of(w, FAST_BPS, START)));
}

/* It is no waste once clients were told it; and what they were told is demand.
 */
TEST(test_used)
{
	struct waste *w = AFTER(waste_free, waste_new());

	waste_ahead(w, 3172 * KIB, START);
	assert_true(isinf(price_of(w, FAST_BPS, START)));
	waste_cached(w, 3072 * KIB, START);
	assert_int_equal(now(w, FAST_BPS, START).unused_bytes, 100 * KIB);
	assert_int_equal(
	    now(w, FAST_BPS, START).limit_bytes, ALLOWANCE + 3072 * KIB);
	/* Bytes that a client reads again do not make room for more. */
	waste_cached(w, 9000 * KIB, START);
	assert_int_equal(
	    now(w, FAST_BPS, START).limit_bytes, ALLOWANCE + 3172 * KIB);
	waste_ahead(w, 300 * KIB, START);
	assert_int_equal(now(w, FAST_BPS, START).unused_bytes, 300 * KIB);
}

/* Clients that are told other things hide what is in vain, until it is found
 * out; and it may be of use later than that. */
TEST(test_judged)
{
	struct waste *w = AFTER(waste_free, waste_new());

	waste_ahead(w, 800 * KIB, START);
	waste_cached(w, 9000 * KIB, START);
	waste_unused(w, 700 * KIB, START);
	assert_int_equal(now(w, FAST_BPS, START).unused_bytes, 700 * KIB);
	assert_int_equal(
	    now(w, FAST_BPS, START).limit_bytes, ALLOWANCE + 100 * KIB);
	waste_used(w, 200 * KIB, START);
	assert_int_equal(now(w, FAST_BPS, START).unused_bytes, 500 * KIB);
	assert_int_equal(
	    now(w, FAST_BPS, START).limit_bytes, ALLOWANCE + 300 * KIB);
}

TEST(test_slow_link)
{
	struct waste *w = AFTER(waste_free, waste_new());

	waste_demand(w, 1000000, START);
	assert_int_equal(
	    now(w, SLOW_BPS, START).limit_bytes, SLOW_BPS + 500000);
	assert_int_equal(
	    now(w, FAST_BPS, START).limit_bytes, ALLOWANCE + 1000000);
}

TEST(test_fades)
{
	struct waste *w = AFTER(waste_free, waste_new());
	uint64_t bytes;

	waste_ahead(w, 1000000, START);
	bytes = now(w, FAST_BPS, START + 41 * SECOND).unused_bytes;
	assert_in_range(bytes, 480000, 540000);
	assert_int_equal(
	    now(w, FAST_BPS, START + 100000 * SECOND).unused_bytes, 0);
	/* A clock that runs backwards changes nothing. */
	waste_ahead(w, 1000, START);
	assert_int_equal(now(w, FAST_BPS, START).unused_bytes, 1000);
}

/*
 * A minute of a predictor that is wrong nine times in ten and says that it is
 * certain, on a link of 20 and of 2 Mb/s: over the link comes at most the
 * share of demand and what is left to begin with.
 */
static void lies(uint64_t rate, double bar)
{
	struct waste *w = waste_new();
	uint64_t t = START, demand = 0, wasted = 0;

	for (int i = 0; i < 6000; i++, t += SECOND / 100) {
		waste_demand(w, rate / 400, t);
		demand += rate / 400;
		if (price_of(w, rate, t) > 39)
			continue;
		waste_ahead(w, rate / 100, t);
		if (i % 10 == 0) {
			waste_cached(w, rate / 100, t);
			demand += rate / 100;
		} else {
			wasted += rate / 100;
		}
	}
	/* The allowance comes once more in as long as all of it fades. */
	assert_true((double)wasted <
		    1.01 * (bar * (double)demand + 2 * (double)ALLOWANCE));
	assert_true((double)wasted > 0.2 * (double)demand);
	waste_free(w);
}

TEST(test_liar)
{
	lies(FAST_BPS, 1);
	lies(SLOW_BPS, 0.5);
}

/* ---- the price of a call ---------------------------------------------- */

struct world {
	struct rooms pf;
	struct credential *cred;
};

static void setup(struct world *w)
{
	struct linkest_kept kept = {.rate_Bps = 5000000, .base_us = 40000};

	rooms_open(&w->pf, &w->cred, 1);
	linkest_begin(w->pf.g.link, &kept);
}

static void teardown(struct world *w)
{
	rooms_close(&w->pf, &w->cred, 1);
}

static bool pays(struct world *w, const struct wish *wish, uint64_t bytes)
{
	struct want_progress at = {.turns = 0};

	return turn_pays(&w->pf.g, wish, &at, (double)wish->p, bytes);
}

/* The least odds at which a call is worth it now, in hundredths. */
static int price(struct world *w, uint64_t bytes)
{
	for (int n = 1; n < 100; n++)
		if (pays(w,
			&(struct wish){.cred = w->cred, .p = (float)n / 100},
			bytes))
			return n;
	return 100;
}

FIXTURE(struct world, setup, teardown);

TEST(test_price_of_link, struct world *w)
{
	struct linkest_mark marks[3];
	int was = price(w, CONFIRM_BYTES);

	/* A short reply on an idle link costs next to nothing, a long one more.
	 */
	assert_in_range(was, 1, 6);
	assert_true(price(w, 65536) > was && price(w, 65536) < 30);
	/* Each reply that others wait for raises it. */
	for (int i = 0; i < 3; i++) {
		linkest_sent(w->pf.g.link, &marks[i], 60000, START);
		assert_true(price(w, CONFIRM_BYTES) > was);
		was = price(w, CONFIRM_BYTES);
	}
	assert_in_range(was, 20, 60);
	for (int i = 0; i < 3; i++)
		linkest_lost(w->pf.g.link, &marks[i]);
	assert_in_range(price(w, CONFIRM_BYTES), 1, 6);
}

TEST(test_price_of_waste, struct world *w)
{
	struct wish asked = {
	    .cred = w->cred, .p = 0.5f, .count = 1, .source = NOTE_FROM_HINT};
	struct wish session = {
	    .cred = w->cred, .p = 0.5f, .said_by = 1 << PREDICTOR_FROM_SESSION};
	int was = price(w, 16384);

	/* Half of the limit lies unused: of long replies more is asked … */
	waste_ahead(w->pf.g.waste, 1024 * KIB, w->pf.g.now_us);
	assert_true(price(w, 16384) > was + 10);
	assert_true(price(w, 16384) > price(w, CONFIRM_BYTES) + 10);
	/* Nearly all of the limit lies unused: only nearly certain calls go. */
	waste_ahead(w->pf.g.waste, 1000 * KIB, w->pf.g.now_us);
	assert_in_range(price(w, 16384), 85, 99);
	assert_in_range(price(w, CONFIRM_BYTES), 10, 60);
	waste_ahead(w->pf.g.waste, 4400 * KIB, w->pf.g.now_us);
	assert_int_equal(price(w, CONFIRM_BYTES), 100);
	/* Wants of a hint go on because somebody asked for them, and those of a
	 * session because they have a bound of their own. */
	assert_true(pays(w, &asked, CONFIRM_BYTES));
	assert_true(pays(w, &session, CONFIRM_BYTES));
}

/* ---- what costs too much now ------------------------------------------ */

static struct want *add(struct world *w, uint64_t object, float p)
{
	struct prediction pred = {
	    .object = object, .p = p, .lead = 1, .needs = PREDICTOR_NEEDS_ATTR};

	return want_add(w->pf.queue, w->cred, &pred, 1, START);
}

/* Many that are unlikely do not stand before few that are likely. */
TEST(test_likely_first, struct world *w)
{
	for (uint64_t i = 0; i < 100; i++)
		assert_non_null(add(w, 100 + i, 0.1f));
	assert_non_null(add(w, 10, 0.9f));
	assert_int_equal(queue_next(w->pf.queue)->wish.object, 10);
}

/* It waits behind all others, and comes back when it is likelier. */
TEST(test_put_off, struct world *w)
{
	struct want *dear;

	dear = add(w, 10, 0.3f);
	assert_ptr_equal(queue_next(w->pf.queue), dear);
	want_put_off(dear, true);
	queue_put(dear, false);
	assert_int_equal(w->pf.queue->nqueued, 0);
	assert_non_null(add(w, 11, 0.06f));
	assert_int_equal(queue_next(w->pf.queue)->wish.object, 11);
	assert_ptr_equal(queue_next(w->pf.queue), dear);
	queue_put(dear, false);
	assert_non_null(add(w, 12, 0.3f));
	assert_ptr_equal(add(w, 10, 0.9f), dear);
	assert_ptr_equal(queue_next(w->pf.queue), dear);
}

/* Where there are too many, those make room that are worth least. */
TEST(test_crowded, struct world *w)
{
	struct want *dear;

	for (uint64_t i = 0; i < WANTS_MAX; i++)
		assert_non_null(add(w, 100 + i, 0.3f));
	assert_null(add(w, 10, 0.3f));
	dear = queue_next(w->pf.queue);
	want_put_off(dear, true);
	queue_put(dear, false);
	assert_non_null(add(w, 11, 0.3f));
	assert_null(add(w, 12, 0.3f));
	assert_non_null(add(w, 13, 0.9f));
	assert_int_equal(w->pf.queue->nwants, WANTS_MAX);
	assert_int_equal(queue_next(w->pf.queue)->wish.object, 13);
}
