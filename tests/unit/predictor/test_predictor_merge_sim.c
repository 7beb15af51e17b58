/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs that move from machine to machine: each run is played by a predictor
 * that knows only what it took over from the one before. It must foresee as
 * much as a predictor that has seen all runs itself.
 *
 *	build/tests/test_predictor_merge_sim FILE...
 *
 * does that with traces (trace.h), and says what a snapshot takes.
 */
#include "unittest.h"
#include "predictor/persist/merge.h"
#include "predictor/persist/persist.h"
#include "predictor/sim/sim.h"

/* Between two runs there are seconds. */
#define GAP_NS UINT64_C(900000000)

/* A machine, and those that were before it. */
struct machine {
	struct predictor *p;
	size_t budget_bytes;
	uint64_t last_ns;
	unsigned moves;
	size_t bytes, keys; /* of the last snapshot */
};

static struct machine moved; /* the last one, for those who look */

static struct predictor *predictor_fresh(size_t budget_bytes)
{
	struct predictor_options opt = {.budget_bytes = budget_bytes};
	struct predictor *p = predictor_new(&opt);

	assert_non_null(p);
	return p;
}

static void *machine_new(const struct model_options *opt)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->budget_bytes = opt->budget_bytes;
	m->p = predictor_fresh(opt->budget_bytes);
	return m;
}

static void machine_free(void *m)
{
	FREED struct machine *x = m;

	if (x->moves > 0)
		moved = *x;
	predictor_free(x->p);
}

static void machine_move(struct machine *m)
{
	struct predictor_snapshot *x = predictor_snapshot_user(m->p, 0);
	uint64_t keys[64];
	size_t at = 0, n;
	void *data;

	assert_non_null(x);
	while (!predictor_snapshot_step(x, 64))
		;
	data = predictor_snapshot_pack(x, &m->bytes);
	assert_non_null(data);
	m->keys = 0;
	while ((n = predictor_snapshot_keys(x, &at, false, keys, 64)) > 0)
		m->keys += n;
	predictor_snapshot_free(x);
	predictor_free(m->p);
	m->p = predictor_fresh(m->budget_bytes);
	assert_int_equal(predictor_merge_user(m->p, 0, data, m->bytes), 0);
	free(data);
	m->moves++;
}

static void machine_observe(void *m, const struct predictor_obs *o)
{
	struct machine *x = m;

	if (x->last_ns && o->now_ns > x->last_ns + GAP_NS)
		machine_move(x);
	x->last_ns = o->now_ns;
	predictor_observe(x->p, o);
}

static size_t machine_predict(void *m, struct prediction *out, size_t max)
{
	return predictor_predict(((struct machine *)m)->p, out, max);
}

static void machine_feedback(
    void *m, uint64_t object, enum predictor_outcome what)
{
	predictor_feedback(((struct machine *)m)->p, object, what);
}

static void machine_list(void *m, uint64_t uid, uint64_t dir,
    const struct predictor_dirent *ents, size_t n)
{
	predictor_list(((struct machine *)m)->p, uid, dir, ents, n);
}

static void machine_place(
    void *m, uint64_t uid, uint64_t dir, uint64_t parent, uint64_t name_hash)
{
	predictor_place_dir(
	    ((struct machine *)m)->p, uid, dir, parent, name_hash);
}

static const struct model_ops machines = {.name = "machines",
    .what = "a new machine for each run",
    .create = machine_new,
    .destroy = machine_free,
    .observe = machine_observe,
    .predict = machine_predict,
    .feedback = machine_feedback,
    .list = machine_list,
    .place_dir = machine_place};

static const struct sim_options slow = {
    .streams = 1,
    .clients = 1,
    .rtt_s = 0.040,
    .bytes_per_s = 2.5e6,
    .cache_bytes = 1 << 30,
    .price = 1,
    .evict = true,
    .seed = 1,
    .budget_bytes = 16 << 20,
};

static struct sim_result play(
    const struct trace *t, const struct model_ops *ops, bool calls)
{
	struct sim_options opt = slow;
	struct sim_result res;

	opt.calls = calls;
	assert_int_equal(sim_run(t, ops, &opt, &res), 0);
	sim_result_done(&res);
	return res;
}

/* A job of 600 files in 30 directories, in an order that has nothing to do with
 * their names, three times; some files are used twice. */
static char *job(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (unsigned run = 1; run <= 3; run++)
		for (unsigned i = 0; i < 700; i++) {
			unsigned file = i % 600 * 263 % 600;

			fprintf(out, "%u\tw\t0\t1\tsrc/d%u/f%u\t%u\t0\n", run,
			    file % 30, file * 7919 % 10007,
			    1000 + file * 37 % 20000);
		}
	fclose(out);
	return text;
}

TEST(test_job)
{
	char err[TRACE_ERR_MAX] = "", *text = job();
	FILE *in = fmemopen(text, strlen(text), "r");
	struct trace *t = AFTER(trace_free, trace_read(in, "test", 1, err));

	assert_non_null(t);
	fclose(in);
	free(text);
	for (int calls = 0; calls <= 1; calls++) {
		struct sim_result one = play(t, model_find("forefetch"), calls);
		struct sim_result many = play(t, &machines, calls);

		/* Two runs against one. */
		assert_true(many.warm.stall_s <
			    (calls ? 0.2 : 1.3) * many.cold.stall_s);
		assert_true(many.warm.stall_s < 1.1 * one.warm.stall_s);
		assert_true(
		    many.warm.used + many.warm.used / 50 >= one.warm.used);
		assert_true(
		    sim_waste(&many.warm) < sim_waste(&one.warm) + 0.05);
		assert_int_equal(moved.moves, 2);
		/* Files and directories: with sizes, names, trails. */
		assert_true(moved.keys >= 600 && moved.keys <= 640);
		assert_true(moved.bytes < 60 * moved.keys);
	}
}

/* ---- traces, for those who look ---------------------------------------- */

static void look(const char *path)
{
	char err[TRACE_ERR_MAX] = "";
	FILE *in = fopen(path, "r");
	struct trace *t = in ? trace_read(in, path, 1, err) : NULL;

	if (!t) {
		printf("%s: %s\n", path, in ? err : "cannot be read");
		return;
	}
	fclose(in);
	for (int calls = 0; calls <= 1; calls++) {
		struct sim_result one = play(t, model_find("forefetch"), calls);
		struct sim_result many = play(t, &machines, calls);

		printf("%s calls=%d cold %.2f s, warm %.3f s, moved %.3f s, "
		       "waste %.3f %.3f, %u moves, %zu bytes, %zu keys, "
		       "%.1f a key\n",
		    path, calls, one.cold.stall_s, one.warm.stall_s,
		    many.warm.stall_s, sim_waste(&one.warm),
		    sim_waste(&many.warm), moved.moves, moved.bytes, moved.keys,
		    (double)moved.bytes / (double)moved.keys);
	}
	trace_free(t);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		look(argv[i]);
	return argc > 1 ? 0 : unittest_run(NULL, NULL);
}
