/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The judge with the names of all files: what a listing holds, when, and what
 * it costs to fetch what nobody uses. Link and reckoning are those of
 * test_predictor_sim.c. */
#include "predictor/sim/sim.h"

#include "unittest.h"

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

static const char two_runs[] = "1\tw\t0\t1\td/a\t1000\t1\n"
			       "1\tw\t0\t1\td/b\t1000\t0\n"
			       "2\tw\t0\t1\td/a\t1000\t1\n"
			       "2\tw\t20000\t1\td/c\t1000\t0\n";

static const char some_names[] = "# a comment\n"
				 "-\t1\td\t0\td\n"
				 "-\t1\td/z\t5000\tf\n"
				 "w\t1\td/a\t1000\tf\n"
				 "w\t1\td/link\t12\tl\n"
				 "w\t1\td/sub\t0\td\n"
				 "w\t1\td/sub/deep\t1\tf\n"
				 "w\t2\td/y\t300\tf\n"
				 "w\t3\td/later\t300\tf\n"
				 "other\t1\td/theirs\t1\tf\n";

static FILE *text_open(const char *text)
{
	return fmemopen((void *)(uintptr_t)text, strlen(text), "r");
}

static struct trace *trace_of(const char *text, const char *names)
{
	char err[TRACE_ERR_MAX] = "";
	FILE *in = text_open(text), *in_names = names ? text_open(names) : NULL;
	struct trace *t = trace_read_named(in, "t", in_names, "names", 1, err);

	fclose(in);
	if (in_names)
		fclose(in_names);
	if (!t)
		fail_msg("%s", err);
	return t;
}

static struct sim_result play(
    const char *text, const char *names, const struct model_ops *ops)
{
	struct trace *t = trace_of(text, names);
	struct sim_result res;

	assert_int_equal(sim_run(t, ops, &slow, &res), 0);
	sim_result_done(&res);
	trace_free(t);
	return res;
}

#define assert_near(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)

/* Names change nothing for the rows that must come out the same. */
TEST(test_rows)
{
	static const char *const rows[] = {
	    "none", "last-successor-8", "oracle-64", "oracle-history"};

	for (int i = 0; i < 4; i++) {
		const struct model_ops *ops = model_find(rows[i]);
		struct sim_result a = play(two_runs, NULL, ops);
		struct sim_result b = play(two_runs, some_names, ops);

		assert_near(a.cold.stall_s, b.cold.stall_s);
		assert_near(a.warm.stall_s, b.warm.stall_s);
		assert_near(a.first.stall_s, b.first.stall_s);
		assert_int_equal(a.cold.issued + a.warm.issued,
		    b.cold.issued + b.warm.issued);
		assert_int_equal(a.warm.waste_bytes, b.warm.waste_bytes);
	}
}

/* A predictor that says one object at each event, and looks at the listings of
 * one directory. */
static struct {
	uint64_t object, dir;
	size_t counts[8], n, programs;
} spy;

static size_t spy_predict(void *m, struct prediction *out, size_t max)
{
	(void)m;
	assert_true(max > 0);
	if (!spy.object)
		return 0;
	model_predict(out, 0, spy.object, 1);
	return 1;
}

static void spy_observe(void *m, const struct predictor_obs *o)
{
	(void)m;
	(void)o;
}

static void spy_list(void *m, uint64_t uid, uint64_t dir,
    const struct predictor_dirent *ents, size_t n)
{
	(void)m;
	(void)uid;
	if (dir != spy.dir)
		return;
	assert_true(spy.n < 8);
	spy.counts[spy.n++] = n;
	for (size_t i = 0; i < n; i++)
		spy.programs += ents[i].exec;
}

static const struct model_ops spying = {
    .name = "spy",
    .size = 1,
    .observe = spy_observe,
    .predict = spy_predict,
    .list = spy_list,
};

static struct sim_result play_spy(const char *names, const char *object)
{
	struct trace *t = trace_of(two_runs, names);

	memset(&spy, 0, sizeof(spy));
	for (size_t i = 0; i < t->ndirs; i++)
		if (strcmp(t->dirs[i].path, "d") == 0)
			spy.dir = t->dirs[i].key;
	for (size_t i = 0; object && i < t->nfiles; i++)
		if (strcmp(t->files[i].path, object) == 0)
			spy.object = t->files[i].key;
	assert_true(spy.dir && (spy.object || !object));
	trace_free(t);
	return play(two_runs, names, &spying);
}

/*
 * Without names, the three files of the trace, once. With them, in the first
 * run: z, a, link, sub, and b, which it uses; in the second y and c came. The
 * first run on its own has the first listing again. That `a` is a program is
 * not known from a listing before its first use, which comes before both.
 */
TEST(test_listings)
{
	play_spy(NULL, NULL);
	assert_int_equal(spy.n, 2);
	assert_int_equal(spy.counts[0], 3);
	assert_int_equal(spy.counts[1], 3);
	play_spy(some_names, NULL);
	assert_int_equal(spy.n, 3);
	assert_int_equal(spy.counts[0], 5);
	assert_int_equal(spy.counts[1], 7);
	assert_int_equal(spy.counts[2], 5);
	assert_int_equal(spy.programs, 3);
}

/* An object that nobody uses is wasted with its size: once, then it is cached.
 * A link or a directory has nothing to fetch. */
TEST(test_waste)
{
	struct sim_result r = play_spy(some_names, "d/z");

	assert_int_equal(r.cold.issued, 1);
	assert_int_equal(r.cold.waste_bytes, 5000);
	assert_int_equal(r.warm.issued, 0);
	assert_int_equal(r.first.waste_bytes, 5000);
	assert_int_equal(play_spy(some_names, "d/link").cold.issued, 0);
	assert_int_equal(play_spy(some_names, "d/sub").cold.issued, 0);
}

/* An object that the trace reads is a file, though the names call it a link. */
TEST(test_trace_is_right)
{
	struct sim_result r = play_spy("w\t2\td/c\t0\tl\n", "d/c");

	assert_int_equal(r.cold.issued, 1);
	assert_int_equal(r.cold.used, 1);
	assert_int_equal(r.cold.waste_bytes, 0);
}

static void expect_error(const char *trace, const char *names, const char *want)
{
	char err[TRACE_ERR_MAX] = "";
	FILE *in = text_open(trace), *in_names = text_open(names);

	assert_null(trace_read_named(in, "t", in_names, "names", 1, err));
	assert_string_equal(err, want);
	fclose(in);
	fclose(in_names);
}

TEST(test_bad)
{
	expect_error(two_runs, "w\t1\td/a\t1\n",
	    "names:1: not 5 fields, separated by tabs");
	expect_error(two_runs, "#\n\nw\t1\td/a\t1\tf\tx\n",
	    "names:3: not 5 fields, separated by tabs");
	expect_error(two_runs, "w\t0\td/a\t1\tf\n",
	    "names:1: the run is no number from 1 on");
	expect_error(two_runs, "w\t1\t\t1\tf\n", "names:1: the path is empty");
	expect_error(two_runs, "w\t1\td/a\t-1\tf\n",
	    "names:1: the size is no number of bytes");
	expect_error(two_runs, "w\t1\td/a\t1\t\n",
	    "names:1: the type is none of f, d, l");
	expect_error("\x89", "w\t1\td/a\t1\tf\n",
	    "t: has keys in place of paths, so that names does not fit");
}
