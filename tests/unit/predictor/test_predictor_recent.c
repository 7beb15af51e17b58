/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An object that was used or told lately is not told again for a time. */
#include "predictor/needs_fixture.h"
#include "predictor/store/recent.h"

FIXTURE(struct world, world_open, world_end);

/* Nothing is told within the window after its call, and again after it. */
TEST(test_recent, struct world *w)
{
	uint64_t last[20] = {0};
	unsigned again = 0;

	w->recent_ns = 3000 * MS;
	/* Twenty objects in turn, 0.51 s a turn, then 5.1 s. */
	for (int turn = 0; turn < 200; turn++) {
		for (uint64_t i = 0; i < 20; i++) {
			if (turn > 100)
				w->now_ns += 240 * MS;
			last[i] = w->now_ns;
			by_handle(w, PREDICTOR_GETATTR, 100 + i);
			for (size_t j = 0; j < w->n; j++) {
				uint64_t at = last[w->out[j].object - 100];

				assert_true(at + 3000 * MS <= w->now_ns);
				again++;
			}
		}
	}
	assert_true(again > 1000);
}

/* How soon after its call an object is told at the earliest, where twenty of
 * them are called in turn. */
static uint64_t told_after_ms(struct world *w, uint64_t step_ms)
{
	uint64_t last_ns[20] = {0}, soonest_ns = UINT64_MAX;

	for (uint64_t i = 0; i < 20 * 100; i++) {
		w->now_ns += step_ms * MS;
		last_ns[i % 20] = w->now_ns;
		by_handle(w, PREDICTOR_GETATTR, 100 + i % 20);
		for (size_t j = 0; j < w->n; j++) {
			uint64_t at = last_ns[w->out[j].object - 100];

			if (at > 0 && w->now_ns - at < soonest_ns)
				soonest_ns = w->now_ns - at;
		}
	}
	return soonest_ns / MS;
}

/* A reload may change the window, to none and from none, too: then a stream is
 * told of nothing that it has used. */
TEST(test_recent_is_changed, struct world *w)
{
	assert_int_equal(told_after_ms(w, 200), UINT64_MAX / MS);
	w->recent_ns = 3000 * MS;
	assert_in_range(told_after_ms(w, 200), 3000, 4000);
	w->recent_ns = 1000 * MS;
	assert_in_range(told_after_ms(w, 200), 1000, 2000);
	w->recent_ns = 0;
	assert_int_equal(told_after_ms(w, 200), UINT64_MAX / MS);
	w->recent_ns = 3500 * MS;
	assert_in_range(told_after_ms(w, 200), 3500, 4000);
}

/* Two file systems are used in turn, each by a user, and each has its window:
 * how soon after its call an object is told at the earliest. */
static void tell_both(const uint64_t window_ms[2], uint64_t soonest_ms[2])
{
	uint64_t last_ns[2][20] = {{0}},
		 soonest_ns[2] = {UINT64_MAX, UINT64_MAX};
	ENDS_BY(world_end) struct world world;
	struct world *w = &world;

	world_begin(w, NULL);
	for (uint64_t i = 0; i < 2 * 20 * 100; i++) {
		uint64_t fs = i % 2, at, object = i / 2 % 20;

		w->now_ns += 100 * MS;
		w->uid = fs;
		w->recent_ns = window_ms[fs] * MS;
		last_ns[fs][object] = w->now_ns;
		by_handle(w, PREDICTOR_GETATTR, 100 + 100 * fs + object);
		for (size_t j = 0; j < w->n; j++) {
			at = last_ns[fs][w->out[j].object - 100 - 100 * fs];
			if (at > 0 && w->now_ns - at < soonest_ns[fs])
				soonest_ns[fs] = w->now_ns - at;
		}
	}
	for (int fs = 0; fs < 2; fs++)
		soonest_ms[fs] = soonest_ns[fs] / MS;
}

/* Each window holds in its own file system only. */
TEST(test_recent_of_each)
{
	uint64_t soonest_ms[2];

	tell_both((uint64_t[]){1000, 3500}, soonest_ms);
	assert_in_range(soonest_ms[0], 1000, 2000);
	assert_in_range(soonest_ms[1], 3500, 4500);
	tell_both((uint64_t[]){0, 3500}, soonest_ms);
	assert_int_equal(soonest_ms[0], UINT64_MAX / MS);
	assert_in_range(soonest_ms[1], 3500, 4500);
}

/* A run with so long between its calls: for how long at most the last telling
 * of an object was over when that was called. */
static uint64_t told_before_ms(struct world *w, uint64_t step_ms)
{
	uint64_t told_ns[60] = {0}, longest_ns = 0;

	for (uint64_t i = 0; i < 60; i++) {
		w->now_ns += step_ms * MS;
		if (i >= 20 && i < 59 && w->now_ns - told_ns[i] > longest_ns)
			longest_ns = w->now_ns - told_ns[i];
		by_handle(w, PREDICTOR_GETATTR, 100 + i);
		for (size_t j = 0; j < w->n; j++)
			if (w->out[j].object > 100 + i)
				told_ns[w->out[j].object - 100] = w->now_ns;
	}
	return longest_ns / MS;
}

/* A job that has become slow is told again what was told too long ago. */
TEST(test_renewed, struct world *w)
{
	w->recent_ns = 1500 * MS;
	for (int run = 0; run < 5; run++) {
		(void)told_before_ms(w, 10);
		pause_run(w);
	}
	/* Two calls ahead, if it was long ago then. */
	assert_in_range(told_before_ms(w, 400), 1, 1500 + 3 * 400);
}

/* Events are counted by 32 bits: that they begin anew changes no window. */
TEST(test_recent_of_old_age)
{
	enum { WINDOW_MS = 1000, BEYOND = 100000 };
	static struct recent r;
	uint32_t event = UINT32_MAX - BEYOND;
	uint64_t now_ns = 0;

	for (unsigned n = 0; n < 2 * BEYOND; n++, event++) {
		now_ns += MS;
		recent_event(&r, event, now_ns, WINDOW_MS * MS);
		if (n >= WINDOW_MS && event > WINDOW_MS)
			assert_int_equal(r.from, event - WINDOW_MS);
		else
			assert_in_range(r.from, 0, event);
	}
}
