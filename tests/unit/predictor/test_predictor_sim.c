/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The judge's three rows on a trace that was reckoned by hand: rtt 10 ms,
 * rate 1 MB/s, so that a file of 1000 bytes takes 1 ms on the wire and a miss
 * 11 ms. Two runs of one label, a b c each, without think time.
 */
#include "predictor/sim/sim.h"

#include "unittest.h"

static struct trace *trace_of(const char *text)
{
	char err[TRACE_ERR_MAX] = "";
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct trace *t = trace_read(in, "test", 1, err);

	fclose(in);
	if (!t)
		fail_msg("%s", err);
	return t;
}

static const char two_runs[] = "# a comment\n"
			       "1\tw\t0\t1\td/a\t1000\t0\n"
			       "1\tw\t0\t1\td/b\t1000\t0\n"
			       "1\tw\t0\t1\td/c\t1000\t0\n"
			       "2\tw\t0\t1\td/a\t1000\t0\n"
			       "2\tw\t0\t1\td/b\t1000\t0\n"
			       "2\tw\t0\t1\td/c\t1000\t0\n";

static const struct sim_options slow = {
    .streams = 1,
    .clients = 1,
    .rtt_s = 0.010,
    .bytes_per_s = 1e6,
    .cache_bytes = 1 << 20,
    .price = 1,
    .seed = 1,
    .budget_bytes = 4 << 20,
};

static struct sim_result play(
    const char *text, const char *name, const struct sim_options *opt)
{
	struct trace *t = trace_of(text);
	struct sim_result res;

	assert_int_equal(sim_run(t, model_find(name), opt, &res), 0);
	sim_result_done(&res);
	trace_free(t);
	return res;
}

#define assert_near(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)

/* Cold: three misses. Warm: all cached, 0.1 ms each. */
TEST(test_none)
{
	struct sim_result r = play(two_runs, "none", &slow);

	assert_near(r.cold.stall_s, 0.033);
	assert_near(sim_stall(&r.cold), 1);
	assert_near(r.warm.stall_s, 0.0003);
	assert_near(sim_stall(&r.warm), 0.0003 / 0.033);
	assert_int_equal(r.warm.issued, 0);
}

/* A cache of one file forgets all but the last. */
TEST(test_none_evicts)
{
	struct sim_options opt = slow;
	struct sim_result r;

	opt.cache_bytes = 1500;
	r = play(two_runs, "none", &opt);
	assert_near(sim_stall(&r.warm), 1);
}

/*
 * A cache of ten files. Ten others, read between, drive out a b c. Then a
 * misses (11 ms), and its chain begins with b and c: b was asked for at 0,
 * goes out after a's own 1 ms, so it is on the wire until 2 ms and there at
 * 12 ms; c until 3 ms, there at 13. b is wanted at 11 ms: 1 ms + 0.1 ms. c is
 * wanted at 12.1 ms: 0.9 ms + 0.1 ms.
 */
TEST(test_last_successor)
{
	struct sim_options opt = slow;
	struct sim_result r;
	char text[1024];
	size_t len = 0;

	for (int i = 0; i < 16; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%d\t%s\t0\t1\t%d\t1000\t0\n",
		    i < 3    ? 1
		    : i < 13 ? 2
			     : 3,
		    i < 3 || i > 12 ? "w" : "v", i % 13);
	opt.cache_bytes = 10500;
	r = play(text, "last-successor-8", &opt);
	assert_near(r.cold.stall_s, 13 * 0.011);
	assert_int_equal(r.cold.issued, 0);
	assert_near(r.warm.stall_s, 0.011 + 0.0011 + 0.0010);
	assert_int_equal(r.warm.used, 2);
	assert_int_equal(r.warm.late, 2);
}

/* A cache of one file: all of the chain drives itself out, eight files at
 * each of two events; the cold run has no successors yet. */
TEST(test_last_successor_wastes)
{
	struct sim_options opt = slow;
	struct sim_result r;

	opt.cache_bytes = 1500;
	r = play("1\tw\t0\t1\ta\t1000\t0\n"
		 "1\tw\t0\t1\tb\t1000\t0\n"
		 "2\tw\t0\t1\ta\t1000\t0\n"
		 "2\tw\t0\t1\tb\t1000\t0\n",
	    "last-successor-8", &opt);
	assert_int_equal(r.cold.issued, 0);
	assert_int_equal(r.warm.issued, 16);
	assert_int_equal(r.warm.used, 0);
	assert_near(sim_waste(&r.warm), 8);
	assert_near(sim_stall(&r.warm), 1);
}

/*
 * Cold: a misses; b is there at 12 ms and wanted at 11, c at 13, wanted at
 * 12.1. Warm: all hits.
 */
TEST(test_oracle)
{
	struct sim_result r = play(two_runs, "oracle-64", &slow);

	assert_near(r.cold.stall_s, 0.011 + 0.0011 + 0.0010);
	assert_int_equal(r.cold.issued, 2);
	assert_near(sim_precision(&r.cold), 1);
	assert_near(sim_waste(&r.cold), 0);
	assert_near(r.warm.stall_s, 0.0003);
}

/* Two workloads that read the same. The second finds all in the cache, and
 * still has a first run of three misses. */
static const char two_labels[] = "1\tv\t0\t1\td/a\t1000\t0\n"
				 "1\tv\t0\t1\td/b\t1000\t0\n"
				 "1\tv\t0\t1\td/c\t1000\t0\n"
				 "1\tw\t0\t1\td/a\t1000\t0\n"
				 "1\tw\t0\t1\td/b\t1000\t0\n"
				 "1\tw\t0\t1\td/c\t1000\t0\n";

TEST(test_first)
{
	struct sim_options opt = slow;

	for (opt.streams = 1; opt.streams <= 2; opt.streams++) {
		struct sim_result r = play(two_labels, "none", &opt);

		assert_near(r.first.stall_s, 2 * 0.033);
		assert_near(sim_stall(&r.first), 1);
		assert_int_equal(r.first.events, 6);
		assert_false(r.has_others);
		assert_int_equal(r.others.events, 0);
	}
	opt.streams = 1;
	assert_near(play(two_labels, "none", &opt).cold.stall_s, 0.0333);
}

/* Nothing was learned: the chain has no beginning, though the trace as a whole
 * teaches it. The oracle knows it all, as in its cold run. */
TEST(test_first_learns_nothing)
{
	struct sim_result r = play(two_labels, "last-successor-8", &slow);

	assert_near(r.first.stall_s, 2 * 0.033);
	assert_int_equal(r.first.issued, 0);
	r = play(two_labels, "oracle-64", &slow);
	assert_near(r.first.stall_s, 2 * (0.011 + 0.0011 + 0.0010));
	assert_int_equal(r.first.used, 4);
	assert_int_equal(r.first.late, 4);
}

/* After the other workload the chain is known and the cache empty: as in
 * test_last_successor(). A second checkout is no other workload. */
TEST(test_others)
{
	struct sim_options opt = slow;
	struct sim_result r;
	struct sim_label labels[2] = {0};

	opt.others = true;
	r = play(two_labels, "last-successor-8", &opt);
	assert_true(r.has_others);
	assert_near(r.others.stall_s, 2 * (0.011 + 0.0011 + 0.0010));
	assert_int_equal(r.others.issued, 4);
	assert_near(r.first.stall_s, 2 * 0.033);
	r = play("1\tw\t0\t1\td/a\t1000\t0\n"
		 "1\tw\t0\t1\td/b\t1000\t0\n"
		 "2\tw@second\t0\t1\td/a\t1000\t0\n"
		 "2\tw@second\t0\t1\td/b\t1000\t0\n",
	    "last-successor-8", &opt);
	assert_near(r.others.stall_s, 4 * 0.011);
	assert_int_equal(r.others.issued, 0);

	labels[0].first.stall_s = labels[0].others.stall_s = 2;
	labels[1].first.stall_s = 2;
	labels[1].others.stall_s = 2.2;
	labels[0].first.base_s = labels[0].others.base_s = 10;
	labels[1].first.base_s = labels[1].others.base_s = 10;
	r.labels = labels;
	r.nlabels = 2;
	assert_int_equal(sim_hindered(&r), 1);
}

/* Every call of a first run costs, in the finer model: a name and its data. */
TEST(test_first_calls)
{
	struct sim_options opt = slow;
	struct sim_result r;

	opt.calls = true;
	r = play("1\tv\t0\t1\td/a\t1000\t0\tlookup\n"
		 "1\tv\t0\t1\td/a\t1000\t0\n"
		 "1\tw\t0\t1\td/a\t1000\t0\tlookup\n"
		 "1\tw\t0\t1\td/a\t1000\t0\n",
	    "none", &opt);
	assert_int_equal(r.first.events, 4);
	assert_near(r.first.stall_s, 2 * (0.010256 + 0.011));
}

/* Size 0 counts as one byte, and 64 KiB is the most. */
TEST(test_bytes)
{
	struct sim_result r = play("1\tw\t0\t1\ta\t0\t0\n"
				   "1\tw\t0\t1\tb\t9999999\t0\n",
	    "none", &slow);

	assert_int_equal(r.cold.demand_bytes, 1 + 65536);
}

/* Think time is the gap to the line before, half a second at most; only the
 * first read of a file in a run is an event. */
TEST(test_trace)
{
	struct trace *t = trace_of("1\tw\t500\t1\ta/b.h\t10\t0\n"
				   "1\tw\t800\t1\ta/c\t10\t1\tread\n"
				   "2\tv\t0\t1\ta/c\t10\t1\n"
				   "1\tw\t900\t1\ta/b.h\t10\t0\n"
				   "1\tw\t9000000\t1\ta/d\t10\t0\tabsent\n");

	assert_int_equal(t->nruns, 2);
	assert_int_equal(t->nevents, 4);
	assert_int_equal(t->runs[0].n, 3);
	assert_int_equal(t->events[0].think_us, 0);
	assert_int_equal(t->events[1].think_us, 300);
	assert_int_equal(t->events[2].think_us, 500000);
	assert_true(t->runs[0].cold && t->runs[1].cold);
	assert_true(t->events[1].exec);
	assert_false(t->files[t->events[2].file].exists);
	trace_free(t);
}

static void expect_error(const char *text, const char *want)
{
	char err[TRACE_ERR_MAX] = "";
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct trace *t = trace_read(in, "bad", 1, err);

	fclose(in);
	assert_null(t);
	assert_string_equal(err, want);
}

TEST(test_trace_bad)
{
	expect_error("1\tw\t0\t1\ta\t10\n",
	    "bad:1: fewer than 7 fields, or not separated by tabs");
	expect_error("#\n\n1\tw\tx\t1\ta\t10\t0\n",
	    "bad:3: the time is no number of microseconds");
	expect_error("1\tw\t0\t-1\ta\t10\t0\n", "bad:1: the pid is no number");
	expect_error(
	    "1\tw\t0\t1\ta\t1e3\t0\n", "bad:1: the size is no number of bytes");
	expect_error("1\tw\t0\t1\ta\t1\t2\n", "bad:1: exec is neither 0 nor 1");
	expect_error("1\tw\t0\t1\ta\t1\t0\twrite\n",
	    "bad:1: the kind is none of read, lookup, absent, getattr, "
	    "readdir, access");
	expect_error("1\tw\t0\t1\t\t1\t0\n", "bad:1: the path is empty");
	expect_error(
	    "1\tw\t0\t1\ta\t1\t0\tread\tx\n", "bad:1: more than 8 fields");
}

/* Whoever predicts is not worse than nobody on a trace that repeats. */
TEST(test_all_play)
{
	char text[65536];
	size_t len = 0;

	for (int run = 1; run <= 4; run++)
		for (int f = 0; f < 40; f++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
			    "%d\tw\t%d\t1\td/%d\t2000\t%d\n", run, f * 1000, f,
			    f == 0);
	for (int i = 0; models[i]; i++) {
		struct sim_options opt = slow;
		struct sim_result r;

		/* Whoever fetches 64 ahead into a small cache drives himself
		 * out. */
		if (models[i]->future)
			continue;
		opt.bytes_per_s = 1e8;
		opt.cache_bytes = 60000;
		r = play(text, models[i]->name, &opt);
		assert_int_equal(r.warm.events, 120);
		if (sim_stall(&r.warm) > 1.01)
			fail_msg("%s: %f", models[i]->name, sim_stall(&r.warm));
	}
}
