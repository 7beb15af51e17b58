/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams, trails, names and identity, in virtual time. */
#include "predictor/predictor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "predictor/baselines/atree.h"
#include "predictor/core/core.h"

#define MS 1000000ull

struct world {
	struct predictor *p;
	uint64_t now_ns;
	struct prediction out[256];
	size_t n;
};

static void world_begin(struct world *w, size_t budget_bytes)
{
	struct predictor_options opt = {.budget_bytes = budget_bytes};

	*w = (struct world){.p = predictor_new(&opt), .now_ns = 1000 * MS};
	assert_non_null(w->p);
}

static void world_end(struct world *w)
{
	predictor_free(w->p);
}

/* One read of `latency` at the present time, in directory `dir`. */
static void see_at(struct world *w, uint64_t object, uint64_t dir,
    uint64_t latency_ns, bool exec)
{
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .exec = exec,
	    .now_ns = w->now_ns,
	    .latency_ns = latency_ns,
	    .actor = 7,
	    .object = object,
	    .parent = dir,
	    .name_hash = object * 31 + 5,
	    .size_bytes = 1000};

	predictor_observe(w->p, &o);
	w->n = predictor_predict(w->p, w->out, 256);
}

/* A process that waits for its reply, then thinks for 0.2 ms. */
static void see(struct world *w, uint64_t object)
{
	see_at(w, object, 0, 10 * MS, false);
	w->now_ns += 10 * MS + MS / 5;
}

static void pause_run(struct world *w)
{
	w->now_ns += 2000 * MS;
}

static bool foretold(const struct world *w, uint64_t object, float least)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->out[i].object == object && w->out[i].p >= least)
			return true;
	return false;
}

static void run_of(struct world *w, uint64_t first, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		see(w, first + i);
	pause_run(w);
}

/* After three runs, the first object foretells those behind it. */
static void test_trail(void **state)
{
	struct world w;
	unsigned foretold_ahead = 0;

	(void)state;
	world_begin(&w, 0);
	for (int i = 0; i < 3; i++)
		run_of(&w, 1000, 60);
	see(&w, 1000);
	for (uint64_t i = 1; i <= 8; i++)
		assert_true(foretold(&w, 1000 + i, 0.3f));
	for (uint64_t i = 1; i < 30; i++) {
		see(&w, 1000 + i);
		for (size_t j = 0; j < w.n; j++)
			foretold_ahead += w.out[j].object > 1000 + i;
	}
	assert_true(foretold_ahead >= 20);
	world_end(&w);
}

/* A run that leaves its trail for good: what was ahead in it is taken back,
 * once, and told again when the run comes back to it. */
static void test_withdrawn(void **state)
{
	uint64_t gone[64];
	bool taken[60] = {false};
	unsigned ntaken = 0, again = 0;
	struct world w;

	(void)state;
	world_begin(&w, 0);
	for (int i = 0; i < 3; i++)
		run_of(&w, 1000, 60);
	for (uint64_t i = 0; i < 10; i++) {
		see(&w, 1000 + i);
		assert_int_equal(predictor_withdrawn(w.p, gone, 64), 0);
	}
	for (uint64_t i = 0; i < 40; i++) {
		see(&w, 5000 + i);
		for (size_t n = predictor_withdrawn(w.p, gone, 64); n > 0;) {
			assert_in_range(gone[--n], 1010, 1059);
			taken[gone[n] - 1000] = true;
			ntaken++;
		}
	}
	assert_in_range(ntaken, 5, 50);
	for (uint64_t i = 10; i < 16; i++) {
		see(&w, 1000 + i);
		for (size_t j = 0; j < w.n; j++)
			again += w.out[j].object < 1060 &&
				 taken[w.out[j].object - 1000];
	}
	assert_in_range(again, 3, ntaken);
	world_end(&w);
}

/* By falling probability, within 0 and 1, none of what the run has had. */
static void test_order(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, 0);
	for (int i = 0; i < 4; i++)
		run_of(&w, 1000, 60);
	for (uint64_t i = 0; i < 60; i++) {
		see(&w, 1000 + i);
		for (size_t j = 0; j < w.n; j++) {
			assert_true(w.out[j].p > 0 && w.out[j].p < 1);
			assert_true(j == 0 || w.out[j].p <= w.out[j - 1].p);
			assert_true(w.out[j].object > 1000 + i);
			assert_true(w.out[j].lead >= 1);
		}
	}
	world_end(&w);
}

/*
 * Two processes take turns, each waiting for its reply: at every request
 * the other one's reply is out. They are told apart, so each gets a trail
 * that is free of the other.
 */
static void test_streams(void **state)
{
	struct world w;
	struct predictor_stats st;

	(void)state;
	world_begin(&w, 0);
	for (uint64_t i = 0; i < 50; i++) {
		see_at(&w, 1000 + i, 1, 10 * MS, false);
		w.now_ns += 5 * MS;
		see_at(&w, 5000 + i, 2, 10 * MS, false);
		w.now_ns += 5 * MS + MS / 5;
	}
	predictor_get_stats(w.p, &st);
	assert_int_equal(st.streams_made, 2);
	pause_run(&w);
	/* Alone, the first process foretells its own. */
	for (uint64_t i = 0; i < 10; i++)
		see(&w, 1000 + i);
	for (size_t j = 0; j < w.n; j++)
		assert_true(w.out[j].object < 2000);
	world_end(&w);
}

/* Readahead and threads: a few calls that do not wait make no new stream
 * where the trail says whose they are. */
static void test_streams_overlap(void **state)
{
	struct world w;
	struct predictor_stats st;

	(void)state;
	world_begin(&w, 0);
	for (int i = 0; i < 3; i++)
		run_of(&w, 1000, 60);
	for (uint64_t i = 0; i < 60; i++) {
		see_at(&w, 1000 + i, 0, 10 * MS, false);
		w.now_ns += i % 5 == 4 ? MS : 10 * MS + MS / 5;
	}
	predictor_get_stats(w.p, &st);
	/* One for each run, since pauses of 2 s may end a process. */
	assert_true(st.streams_made <= 5);
	world_end(&w);
}

/* The example of the paper's measure: 2 of 5 data files and 3 of 4 programs
 * paired. */
static void test_compatibility(void **state)
{
	const struct atree_node pattern[] = {{1, false}, {2, false}, {3, false},
	    {4, false}, {5, false}, {11, true}, {12, true}, {13, true},
	    {14, true}};
	const struct atree_node working[] = {
	    {1, false}, {3, false}, {11, true}, {12, true}, {14, true}};
	double fit = atree_compat(pattern, 9, working, 5);

	(void)state;
	assert_true(fit > 0.5749 && fit < 0.5751);
	assert_int_equal(atree_pivot(pattern, 9, working, 5), 9);
	assert_int_equal(atree_pivot(pattern, 9, working, 2), 3);
	assert_int_equal(atree_pivot(pattern, 2, working, 5), 0);
	assert_true(atree_compat(pattern, 9, pattern, 9) == 1);
}

static void list_dir(struct world *w, uint64_t dir, uint64_t first, uint32_t n)
{
	struct predictor_dirent *ents = calloc(n, sizeof(*ents));

	for (uint32_t i = 0; i < n; i++)
		ents[i] = (struct predictor_dirent){.object = first + i,
		    .name_hash = (first + i) * 31 + 5,
		    .size_bytes = 1000,
		    .rank = i};
	predictor_list(w->p, 0, dir, ents, n);
	free(ents);
}

/* A walk in the order of names: what was never seen is foretold. */
static void test_scan(void **state)
{
	struct world w;
	unsigned told = 0;

	(void)state;
	world_begin(&w, 0);
	for (uint64_t d = 1; d <= 20; d++) {
		list_dir(&w, d, d * 1000, 40);
		for (uint64_t i = 0; i < 40; i++) {
			see_at(&w, d * 1000 + i, d, 10 * MS, false);
			w.now_ns += 10 * MS + MS / 5;
			for (size_t j = 0; j < w.n; j++)
				told += w.out[j].p > 0.7f;
		}
	}
	assert_true(told > 400);
	world_end(&w);
}

/* Random access to a large directory: nothing to be told with confidence,
 * once it was tried for a while. */
static void test_scan_guard(void **state)
{
	struct world w;
	unsigned told = 0;
	uint32_t x = 1;

	(void)state;
	world_begin(&w, 0);
	list_dir(&w, 1, 100000, 20000);
	for (int i = 0; i < 4000; i++) {
		x = x * 1103515245 + 12345;
		see_at(&w, 100000 + (x >> 8) % 20000, 1, 10 * MS, false);
		w.now_ns += 10 * MS + MS / 5;
		for (size_t j = 0; j < w.n && i > 500; j++)
			told += w.out[j].p > 0.15f;
	}
	assert_true(told < 40);
	world_end(&w);
}

/* An editor saves by rename: a new handle under the old name has the old
 * one's history. */
static void test_new_handle(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, 0);
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 20; i++) {
			see_at(&w, 100 + i, 9, 10 * MS, false);
			w.now_ns += 10 * MS + MS / 5;
		}
		pause_run(&w);
	}
	/* 105 is written anew as 555, and renamed. */
	see_at(&w, 555, 8, 10 * MS, false);
	predictor_rename(w.p, 555, 9, 105 * 31 + 5);
	pause_run(&w);
	see_at(&w, 100, 9, 10 * MS, false);
	assert_true(foretold(&w, 555, 0.3f));
	assert_false(foretold(&w, 105, 0));
	world_end(&w);
}

static void test_forget(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, 0);
	for (int i = 0; i < 3; i++)
		run_of(&w, 1000, 20);
	predictor_forget(w.p, 1003);
	predictor_forget(w.p, 4711);
	see(&w, 1000);
	assert_true(foretold(&w, 1002, 0.3f));
	assert_false(foretold(&w, 1003, 0));
	world_end(&w);
}

/* More objects than fit, for long: the budget is kept, nothing breaks. */
static void test_budget(void **state)
{
	enum { BUDGET = 2 << 20 };
	struct world w;
	struct predictor_stats st;
	uint64_t x = 1;

	(void)state;
	world_begin(&w, BUDGET);
	for (int i = 0; i < 300000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		see_at(
		    &w, 1 + (x >> 33) % 60000, 1 + (x >> 50) % 3000, MS, false);
		w.now_ns += MS + MS / 10;
		if (i % 1000 == 0)
			list_dir(&w, 1 + (x >> 50) % 3000,
			    1 + (x >> 33) % 60000, 50);
	}
	predictor_get_stats(w.p, &st);
	/* The same twice in a row is one access. */
	assert_in_range(st.events, 299000, 300000);
	/* Streams are a fixed part of their own. */
	assert_true(
	    st.memory_bytes < BUDGET + sizeof(struct predictor) + (256 << 10));
	world_end(&w);
}

/* ---- objects that go away in the middle of everything ----------------- */

enum { CHURN_SLOTS = 12000, CHURN_ACTORS = 12, CHURN_EVENTS = 200000 };

/* Names that stay, with handles that do not. */
struct churn {
	struct world w;
	uint64_t x;
	uint32_t handle[CHURN_SLOTS]; /* how many each had */
	bool gone[CHURN_SLOTS];       /* forgotten, and not met since */
	uint32_t at[CHURN_ACTORS];    /* where each one's run is */
	uint32_t left[CHURN_ACTORS];
	uint64_t told;
};

static uint32_t churn_random(struct churn *c, uint32_t n)
{
	c->x = c->x * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(c->x >> 33) % n;
}

static uint64_t churn_key(const struct churn *c, uint32_t slot)
{
	return (uint64_t)c->handle[slot] << 32 | (slot + 1);
}

static uint64_t churn_dir(uint32_t slot)
{
	return (uint64_t)1 << 62 | (slot / 40 + 1);
}

static uint64_t churn_name(uint32_t slot)
{
	return (slot + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static void churn_check(struct churn *c)
{
	for (size_t i = 0; i < c->w.n; i++) {
		const struct prediction *f = &c->w.out[i];
		uint32_t slot = (uint32_t)f->object - 1;

		assert_true(f->p > 0 && f->p < 1);
		assert_true(f->lead >= 1);
		assert_int_not_equal(f->needs, 0);
		assert_true(f->source < PREDICTOR_SOURCES);
		assert_int_not_equal(f->object, 0);
		if (f->object >> 62)
			continue;
		assert_true(slot < CHURN_SLOTS);
		assert_false(c->gone[slot] && f->object == churn_key(c, slot));
	}
	c->told += c->w.n;
}

static void churn_see(struct churn *c, uint32_t actor, uint32_t slot)
{
	struct predictor_obs o = {
	    .kind = (enum predictor_kind)churn_random(c, PREDICTOR_READDIR),
	    .exec = slot % 97 == 0,
	    .now_ns = c->w.now_ns,
	    .latency_ns = MS,
	    .actor = actor + 1,
	    .uid = actor % 3,
	    .object = churn_key(c, slot),
	    .parent = churn_dir(slot),
	    .name_hash = churn_name(slot),
	    .size_bytes = 9000,
	    .offset_bytes = churn_random(c, 3) * 4096,
	    .count_bytes = 4096};

	predictor_observe(c->w.p, &o);
	c->gone[slot] = false;
	c->w.n = predictor_predict(
	    c->w.p, c->w.out, churn_random(c, 8) ? 256 : churn_random(c, 4));
	churn_check(c);
}

static void churn_forget(struct churn *c, uint32_t slot)
{
	predictor_forget(c->w.p, churn_key(c, slot));
	c->gone[slot] = true;
}

static void churn_list(struct churn *c, uint32_t slot)
{
	struct predictor_dirent ents[40];

	slot -= slot % 40;
	for (uint32_t i = 0; i < 40; i++) {
		ents[i] =
		    (struct predictor_dirent){.object = churn_key(c, slot + i),
			.name_hash = churn_name(slot + i),
			.size_bytes = 9000,
			.rank = 39 - i};
		c->gone[slot + i] = false;
	}
	predictor_list(c->w.p, slot % 3, churn_dir(slot), ents, 40);
}

/* A new handle takes the name, or an object that there is. */
static void churn_rename(struct churn *c, uint32_t slot)
{
	uint32_t to = churn_random(c, 4) ? slot : churn_random(c, CHURN_SLOTS);

	if (churn_random(c, 2)) {
		c->handle[slot]++;
		c->gone[slot] = false;
	}
	predictor_rename(
	    c->w.p, churn_key(c, slot), churn_dir(to), churn_name(to));
	if (churn_random(c, 64) == 0)
		predictor_place_dir(
		    c->w.p, 0, churn_dir(slot), churn_dir(to), churn_name(to));
}

static void churn_spoil(struct churn *c, uint32_t slot)
{
	uint32_t any = churn_random(c, CHURN_SLOTS);

	switch (churn_random(c, 24)) {
	case 0:
	case 1: /* what a run just had, or will have */
		churn_forget(c, (slot + churn_random(c, 4)) % CHURN_SLOTS);
		break;
	case 2:
		for (uint32_t i = 0; i < 20; i++)
			churn_forget(c, (any + i) % CHURN_SLOTS);
		break;
	case 3:
		churn_rename(c, churn_random(c, 2) ? slot : any);
		break;
	case 4:
		if (churn_random(c, 8) == 0)
			churn_list(c, any);
		break;
	case 5:
		for (size_t i = 0; i < c->w.n; i++)
			predictor_feedback(c->w.p, c->w.out[i].object,
			    (enum predictor_outcome)churn_random(c, 4));
		break;
	case 6: /* what it just told of is gone before it is asked for */
		for (size_t i = 0; i < c->w.n; i += 3)
			predictor_forget(c->w.p, c->w.out[i].object);
		break;
	default:
		break;
	}
}

static void churn_turn(struct churn *c)
{
	uint32_t a = churn_random(c, CHURN_ACTORS);

	if (c->left[a]-- == 0) {
		/* A few runs are of all; the rest nobody repeats. */
		c->at[a] = churn_random(c, 8) ? churn_random(c, 20) * 100
					      : churn_random(c, CHURN_SLOTS);
		c->left[a] = 20 + churn_random(c, 60);
	}
	churn_see(c, a, c->at[a]);
	churn_spoil(c, c->at[a]);
	c->at[a] = (c->at[a] + 1) % CHURN_SLOTS;
	c->w.now_ns += churn_random(c, 400) ? MS / 4 : 1000 * MS;
}

static void churn_judge(const struct churn *c)
{
	struct predictor_stats st;
	uint64_t predicted = 0, used = 0;

	predictor_get_stats(c->w.p, &st);
	for (int i = 0; i < PREDICTOR_SOURCES; i++) {
		assert_true(st.by_source[i].used <= st.by_source[i].predicted);
		predicted += st.by_source[i].predicted;
		used += st.by_source[i].used;
	}
	assert_true(predicted <= st.predicted && st.predicted <= c->told);
	assert_true(used > 0 && used <= predicted);
	assert_in_range(st.events, CHURN_EVENTS / 2, CHURN_EVENTS);
	assert_in_range(st.objects, 1, CHURN_SLOTS);
	assert_true(st.memory_bytes <
		    (1 << 20) + sizeof(struct predictor) + (256 << 10));
}

/* Numbers of objects that are gone are in trails, in the graph, in listings
 * and in what streams wait for; all of them are given out anew. */
static void test_churn(void **state)
{
	struct churn *c = calloc(1, sizeof(*c));

	(void)state;
	world_begin(&c->w, 1 << 20);
	c->x = 1;
	for (int i = 0; i < CHURN_EVENTS; i++)
		churn_turn(c);
	churn_judge(c);
	/* Nothing is left, and all of it is met again. */
	for (uint32_t i = 0; i < CHURN_SLOTS; i++)
		churn_forget(c, i);
	for (int i = 0; i < 2000; i++)
		churn_turn(c);
	world_end(&c->w);
	free(c);
}

/* ---- how far ahead ---------------------------------------------------- */

/* How far ahead it was told within a run, when it is known well. */
static uint64_t reach(uint64_t lead_ns, uint64_t think_ns)
{
	struct world w;
	uint64_t furthest = 0;

	world_begin(&w, 0);
	for (int run = 0; run < 5; run++) {
		predictor_set_lead(w.p, run == 4 ? lead_ns : 0);
		for (uint64_t i = 0; i < (run == 4 ? 40 : 400); i++) {
			see_at(&w, 1000 + i, 0, 10 * MS, false);
			w.now_ns += 10 * MS + think_ns;
			for (size_t j = 0; j < w.n && run == 4; j++)
				if (w.out[j].object - 1000 - i > furthest)
					furthest = w.out[j].object - 1000 - i;
		}
		pause_run(&w);
	}
	world_end(&w);
	return furthest;
}

/* A file that is read after 60 ms has to be asked for 300 files before it by
 * whoever reads one in 0.2 ms. */
static void test_lead(void **state)
{
	uint64_t usual = reach(0, MS / 5);

	(void)state;
	assert_true(usual >= 8);
	assert_true(reach(60 * MS, MS / 5) > 2 * usual);
	/* Whoever takes his time sees what he saw. */
	assert_true(reach(60 * MS, 4 * MS) <= usual + 8);
	assert_true(reach(MS, MS / 5) <= usual + 8);
}

/* Long enough to begin a run, too short for another process. */
static void short_run(struct world *w, uint64_t first, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		see(w, first + i);
	w->now_ns += 1000 * MS;
}

/* Two runs of one process that always follow each other, with a pause
 * between them: what comes behind it is not asked for before. */
static void test_pause(void **state)
{
	struct world w;
	struct predictor_stats st;

	(void)state;
	world_begin(&w, 0);
	predictor_set_lead(w.p, 60 * MS);
	for (int i = 0; i < 4; i++) {
		short_run(&w, 1000, 20);
		short_run(&w, 5000, 20);
	}
	predictor_get_stats(w.p, &st);
	assert_int_equal(st.streams_made, 1);
	for (uint64_t i = 0; i < 20; i++) {
		see(&w, 1000 + i);
		for (size_t j = 0; j < w.n; j++)
			assert_true(w.out[j].object < 5000 ||
				    w.out[j].source != PREDICTOR_FROM_TRAIL);
	}
	w.now_ns += 1000 * MS;
	/* Behind it, the second run is known as ever. */
	see(&w, 5000);
	assert_true(foretold(&w, 5003, 0.3f));
	assert_false(foretold(&w, 1003, 0.3f));
	world_end(&w);
}

static void test_options(void **state)
{
	struct predictor_options opt = {.budget_bytes = 1000};

	(void)state;
	assert_null(predictor_new(&opt));
	predictor_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_trail),
	    cmocka_unit_test(test_withdrawn),
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_streams),
	    cmocka_unit_test(test_streams_overlap),
	    cmocka_unit_test(test_compatibility),
	    cmocka_unit_test(test_scan),
	    cmocka_unit_test(test_scan_guard),
	    cmocka_unit_test(test_new_handle),
	    cmocka_unit_test(test_forget),
	    cmocka_unit_test(test_budget),
	    cmocka_unit_test(test_churn),
	    cmocka_unit_test(test_lead),
	    cmocka_unit_test(test_pause),
	    cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
