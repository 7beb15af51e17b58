/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams, trails, names and identity: what is learned of them, and told. */
#include "predictor/learn_fixture.h"

#include "predictor/baselines/atree.h"
#include "predictor/core/core.h"

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

FIXTURE(struct world, world_open, world_end);

/* After three runs, the first object foretells those behind it. */
TEST(test_trail, struct world *w)
{
	unsigned foretold_ahead = 0;

	for (int i = 0; i < 3; i++)
		run_of(w, 1000, 60);
	see(w, 1000);
	for (uint64_t i = 1; i <= 8; i++)
		assert_true(foretold(w, 1000 + i, 0.3f));
	for (uint64_t i = 1; i < 30; i++) {
		see(w, 1000 + i);
		for (size_t j = 0; j < w->n; j++)
			foretold_ahead += w->out[j].object > 1000 + i;
	}
	assert_true(foretold_ahead >= 20);
}

/* A run that leaves its trail for good: what was ahead in it is taken back,
 * once, and told again when the run comes back to it. */
TEST(test_withdrawn, struct world *w)
{
	uint64_t gone[64];
	bool taken[60] = {false};
	unsigned ntaken = 0, again = 0;

	for (int i = 0; i < 3; i++)
		run_of(w, 1000, 60);
	for (uint64_t i = 0; i < 10; i++) {
		see(w, 1000 + i);
		assert_int_equal(predictor_withdrawn(w->p, gone, 64), 0);
	}
	for (uint64_t i = 0; i < 40; i++) {
		see(w, 5000 + i);
		for (size_t n = predictor_withdrawn(w->p, gone, 64); n > 0;) {
			assert_in_range(gone[--n], 1010, 1059);
			taken[gone[n] - 1000] = true;
			ntaken++;
		}
	}
	assert_in_range(ntaken, 5, 50);
	for (uint64_t i = 10; i < 16; i++) {
		see(w, 1000 + i);
		for (size_t j = 0; j < w->n; j++)
			again += w->out[j].object < 1060 &&
				 taken[w->out[j].object - 1000];
	}
	assert_in_range(again, 3, ntaken);
}

/* By falling probability, within 0 and 1, none of what the run has had. */
TEST(test_order, struct world *w)
{
	for (int i = 0; i < 4; i++)
		run_of(w, 1000, 60);
	for (uint64_t i = 0; i < 60; i++) {
		see(w, 1000 + i);
		for (size_t j = 0; j < w->n; j++) {
			assert_true(w->out[j].p > 0 && w->out[j].p < 1);
			assert_true(j == 0 || w->out[j].p <= w->out[j - 1].p);
			assert_true(w->out[j].object > 1000 + i);
			assert_true(w->out[j].lead >= 1);
		}
	}
}

/*
 * Two processes take turns, each waiting for its reply: at every request
 * the other one's reply is out. They are told apart, so each gets a trail
 * that is free of the other.
 */
TEST(test_streams, struct world *w)
{
	for (uint64_t i = 0; i < 50; i++) {
		see_at(w, 1000 + i, 1, 10 * MS, false);
		w->now_ns += 5 * MS;
		see_at(w, 5000 + i, 2, 10 * MS, false);
		w->now_ns += 5 * MS + MS / 5;
	}
	assert_int_equal(stats(w).streams_made, 2);
	pause_run(w);
	/* Alone, the first process foretells its own. */
	for (uint64_t i = 0; i < 10; i++)
		see(w, 1000 + i);
	for (size_t j = 0; j < w->n; j++)
		assert_true(w->out[j].object < 2000);
}

/* Readahead and threads: a few calls that do not wait make no new stream
 * where the trail says whose they are. */
TEST(test_streams_overlap, struct world *w)
{
	for (int i = 0; i < 3; i++)
		run_of(w, 1000, 60);
	for (uint64_t i = 0; i < 60; i++) {
		see_at(w, 1000 + i, 0, 10 * MS, false);
		w->now_ns += i % 5 == 4 ? MS : 10 * MS + MS / 5;
	}
	/* One for each run, since pauses of 2 s may end a process. */
	assert_true(stats(w).streams_made <= 5);
}

/* The example of the paper's measure: 2 of 5 data files and 3 of 4 programs
 * paired. */
TEST(test_compatibility)
{
	const struct atree_node pattern[] = {{1, false}, {2, false}, {3, false},
	    {4, false}, {5, false}, {11, true}, {12, true}, {13, true},
	    {14, true}};
	const struct atree_node working[] = {
	    {1, false}, {3, false}, {11, true}, {12, true}, {14, true}};
	double fit = atree_compat(pattern, 9, working, 5);

	assert_true(fit > 0.5749 && fit < 0.5751);
	assert_int_equal(atree_pivot(pattern, 9, working, 5), 9);
	assert_int_equal(atree_pivot(pattern, 9, working, 2), 3);
	assert_int_equal(atree_pivot(pattern, 2, working, 5), 0);
	assert_true(atree_compat(pattern, 9, pattern, 9) == 1);
}

static void list_dir(struct world *w, uint64_t dir, uint64_t first, uint32_t n)
{
	FREED struct predictor_dirent *ents = calloc(n, sizeof(*ents));

	for (uint32_t i = 0; i < n; i++)
		ents[i] = (struct predictor_dirent){.object = first + i,
		    .name_hash = (first + i) * 31 + 5,
		    .size_bytes = 1000,
		    .rank = i};
	predictor_list(w->p, 0, dir, ents, n);
}

/* A walk in the order of names: what was never seen is foretold. */
TEST(test_scan, struct world *w)
{
	unsigned told = 0;

	for (uint64_t d = 1; d <= 20; d++) {
		list_dir(w, d, d * 1000, 40);
		for (uint64_t i = 0; i < 40; i++) {
			see_at(w, d * 1000 + i, d, 10 * MS, false);
			w->now_ns += 10 * MS + MS / 5;
			for (size_t j = 0; j < w->n; j++)
				told += w->out[j].p > 0.7f;
		}
	}
	assert_true(told > 400);
}

/* Random access to a large directory: nothing to be told with confidence,
 * once it was tried for a while. */
TEST(test_scan_guard, struct world *w)
{
	unsigned told = 0;
	uint32_t x = 1;

	list_dir(w, 1, 100000, 20000);
	for (int i = 0; i < 4000; i++) {
		x = x * 1103515245 + 12345;
		see_at(w, 100000 + (x >> 8) % 20000, 1, 10 * MS, false);
		w->now_ns += 10 * MS + MS / 5;
		for (size_t j = 0; j < w->n && i > 500; j++)
			told += w->out[j].p > 0.15f;
	}
	assert_true(told < 40);
}

/* An editor saves by rename: a new handle under the old name has the old
 * one's history. */
TEST(test_new_handle, struct world *w)
{
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 20; i++) {
			see_at(w, 100 + i, 9, 10 * MS, false);
			w->now_ns += 10 * MS + MS / 5;
		}
		pause_run(w);
	}
	/* 105 is written anew as 555, and renamed. */
	see_at(w, 555, 8, 10 * MS, false);
	predictor_rename(w->p, 555, 9, 105 * 31 + 5);
	pause_run(w);
	see_at(w, 100, 9, 10 * MS, false);
	assert_true(foretold(w, 555, 0.3f));
	assert_false(foretold(w, 105, 0));
}

TEST(test_forget, struct world *w)
{
	for (int i = 0; i < 3; i++)
		run_of(w, 1000, 20);
	predictor_forget(w->p, 1003);
	predictor_forget(w->p, 4711);
	see(w, 1000);
	assert_true(foretold(w, 1002, 0.3f));
	assert_false(foretold(w, 1003, 0));
}

/* More objects than fit, for long: the budget is kept, nothing breaks. */
TEST(test_budget, struct world *w)
{
	enum { BUDGET = 2 << 20 };
	uint64_t x = 1;

	world_end(w);
	world_begin(w, BUDGET);
	for (int i = 0; i < 300000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		see_at(
		    w, 1 + (x >> 33) % 60000, 1 + (x >> 50) % 3000, MS, false);
		w->now_ns += MS + MS / 10;
		if (i % 1000 == 0)
			list_dir(
			    w, 1 + (x >> 50) % 3000, 1 + (x >> 33) % 60000, 50);
	}
	/* The same twice in a row is one access. */
	assert_in_range(stats(w).events, 299000, 300000);
	/* Streams are beside it. */
	assert_true(stats(w).memory_bytes <
		    BUDGET + sizeof(struct predictor) +
			STREAMS * sizeof(struct stream) + (256 << 10));
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
TEST(test_lead)
{
	uint64_t usual = reach(0, MS / 5);

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
TEST(test_pause, struct world *w)
{
	predictor_set_lead(w->p, 60 * MS);
	for (int i = 0; i < 4; i++) {
		short_run(w, 1000, 20);
		short_run(w, 5000, 20);
	}
	assert_int_equal(stats(w).streams_made, 1);
	for (uint64_t i = 0; i < 20; i++) {
		see(w, 1000 + i);
		for (size_t j = 0; j < w->n; j++)
			assert_true(w->out[j].object < 5000 ||
				    w->out[j].source != PREDICTOR_FROM_TRAIL);
	}
	w->now_ns += 1000 * MS;
	/* Behind it, the second run is known as ever. */
	see(w, 5000);
	assert_true(foretold(w, 5003, 0.3f));
	assert_false(foretold(w, 1003, 0.3f));
}

TEST(test_options)
{
	struct predictor_options opt = {.budget_bytes = 1000};

	assert_null(predictor_new(&opt));
	predictor_free(NULL);
}
