/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proxy's own traces, written and read again. */
#include "predictor/trace/trace_writer.h"

#include <errno.h>

#include "unittest.h"
#include "predictor/sim/sim.h"

struct bytes {
	char data[1 << 20];
	size_t len;
	int error;
};

static int sink(void *ctx, const void *data, size_t len)
{
	struct bytes *b = ctx;

	if (b->error)
		return b->error;
	assert_true(b->len + len <= sizeof(b->data));
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

static struct trace *read_bytes(const void *data, size_t len, char *err)
{
	FILE *in = fmemopen((void *)(uintptr_t)data, len, "r");
	struct trace *t;

	assert_non_null(in);
	t = trace_read(in, "t", 1, err);
	fclose(in);
	return t;
}

static struct predictor_obs obs_of(
    uint64_t ms, enum predictor_kind kind, uint64_t object, uint64_t parent)
{
	return (struct predictor_obs){.kind = kind,
	    .now_ns = ms * 1000000,
	    .latency_ns = 10000000,
	    .actor = 7,
	    .object = object,
	    .parent = parent,
	    .name_hash = object + 1,
	    .exec = object == 101,
	    .size_bytes = object * 10,
	    .count_bytes = 4096};
}

static void put(struct trace_writer *w, uint64_t ms, enum predictor_kind kind,
    uint64_t object, uint64_t parent)
{
	struct predictor_obs o = obs_of(ms, kind, object, parent);

	assert_int_equal(trace_writer_event(w, &o), 0);
}

/* Three jobs: two runs of one, one of another. */
static void write_jobs(struct bytes *b)
{
	struct trace_writer *w = trace_writer_new(sink, b);

	assert_non_null(w);
	for (uint64_t run = 0; run < 2; run++) {
		trace_writer_mark(w, run * 5000000000, "job");
		put(w, run * 5000 + 0, PREDICTOR_LOOKUP, 100, 9);
		put(w, run * 5000 + 15, PREDICTOR_READ, 100, 0);
		put(w, run * 5000 + 30, PREDICTOR_READ, 101, 9);
		put(w, run * 5000 + 45, PREDICTOR_ABSENT, 200, 9);
	}
	trace_writer_mark(w, 20000000000, "other");
	for (uint64_t i = 0; i < 600; i++)
		put(w, 20000 + i, PREDICTOR_READ, 1000 + i, 8);
	assert_int_equal(trace_writer_flush(w), 0);
	assert_int_equal(trace_writer_bytes(w), b->len);
	trace_writer_free(w);
}

TEST(test_round_trip)
{
	FREED struct bytes *b = calloc(1, sizeof(*b));
	char err[TRACE_ERR_MAX] = "";
	struct trace *t;

	write_jobs(b);
	t = AFTER(trace_free, read_bytes(b->data, b->len, err));
	assert_non_null(t);
	assert_int_equal(t->nruns, 3);
	assert_int_equal(t->nlabels, 2);
	assert_string_equal(t->labels[t->runs[2].label], "other");
	assert_true(t->runs[0].cold && !t->runs[1].cold && t->runs[2].cold);
	assert_int_equal(t->runs[0].n, 4);
	assert_int_equal(t->runs[2].n, 600);
	assert_int_equal(t->nevents, 608);
	/* 15 ms after a request whose reply took 10. */
	assert_int_equal(t->events[1].think_us, 5000);
	assert_int_equal(t->events[1].kind, PREDICTOR_READ);
	assert_int_equal(t->events[1].size_bytes, 1000);
	assert_true(t->events[2].exec);
	assert_int_equal(t->files[t->events[1].file].key, 100);
	assert_int_equal(t->files[t->events[1].file].parent, 9);
	assert_int_equal(t->files[t->events[1].file].name_hash, 101);
	assert_false(t->files[t->events[3].file].exists);
}

/* Without marks, pauses and actors divide it. */
TEST(test_pauses)
{
	FREED struct bytes *b = calloc(1, sizeof(*b));
	struct trace_writer *w = trace_writer_new(sink, b);
	char err[TRACE_ERR_MAX] = "";
	struct trace *t;

	for (uint64_t i = 0; i < 100; i++) {
		struct predictor_obs o =
		    obs_of(i * 10 + i / 50 * 3000, PREDICTOR_READ, 1 + i, 8);

		o.actor = 1 + i % 2;
		assert_int_equal(trace_writer_event(w, &o), 0);
	}
	trace_writer_flush(w);
	trace_writer_free(w);
	t = AFTER(trace_free, read_bytes(b->data, b->len, err));
	assert_non_null(t);
	assert_int_equal(t->nruns, 4);
	assert_int_equal(t->nlabels, 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(t->runs[i].n, 25);
}

/* It plays like any other. */
TEST(test_plays)
{
	struct sim_options opt = {.streams = 1,
	    .clients = 1,
	    .rtt_s = 0.010,
	    .bytes_per_s = 1e6,
	    .cache_bytes = 1 << 20,
	    .price = 1,
	    .seed = 1,
	    .budget_bytes = 4 << 20};
	FREED struct bytes *b = calloc(1, sizeof(*b));
	char err[TRACE_ERR_MAX] = "";
	struct sim_result res;
	struct trace *t;

	write_jobs(b);
	t = AFTER(trace_free, read_bytes(b->data, b->len, err));
	assert_int_equal(sim_run(t, model_find("none"), &opt, &res), 0);
	assert_int_equal(res.cold.events, 602);
	assert_int_equal(res.warm.events, 2);
	sim_result_done(&res);
	/* LOOKUP and READ, READ, ABSENT. */
	opt.calls = true;
	assert_int_equal(sim_run(t, model_find("forefetch"), &opt, &res), 0);
	assert_int_equal(res.cold.events, 604);
	assert_int_equal(res.warm.events, 4);
	sim_result_done(&res);
}

/* Cut anywhere: what is before the cut holds, or the head is missing. */
TEST(test_cut)
{
	FREED struct bytes *b = calloc(1, sizeof(*b));
	char err[TRACE_ERR_MAX] = "";
	size_t last = 0;

	write_jobs(b);
	for (size_t len = 8; len < b->len; len += 1 + len / 50) {
		struct trace *t = read_bytes(b->data, len, err);

		assert_non_null(t);
		assert_true(t->nevents >= last && t->nevents < 608);
		last = t->nevents;
		trace_free(t);
	}
	assert_null(read_bytes(b->data, 7, err));
	assert_string_equal(err, "t: is no trace");
}

/* Any bit flipped behind the head is found out, or cuts it off. */
TEST(test_flip)
{
	FREED struct bytes *b = calloc(1, sizeof(*b));
	char err[TRACE_ERR_MAX] = "";

	write_jobs(b);
	for (size_t bit = 64; bit < b->len * 8; bit += 1 + bit / 200) {
		struct trace *t;

		b->data[bit / 8] = (char)(b->data[bit / 8] ^ 1 << bit % 8);
		t = read_bytes(b->data, b->len, err);
		if (t)
			assert_true(t->nevents < 608);
		trace_free(t);
		b->data[bit / 8] = (char)(b->data[bit / 8] ^ 1 << bit % 8);
	}
	b->data[7] = 9;
	assert_null(read_bytes(b->data, b->len, err));
	assert_string_equal(err, "t: version 9 of traces is not known");
}

/* A sink that fails ends the trace, and every call says so. */
TEST(test_sink_fails)
{
	FREED struct bytes *b = calloc(1, sizeof(*b));
	struct predictor_obs o = obs_of(1, PREDICTOR_READ, 1, 2);
	struct trace_writer *w;

	b->error = -ENOSPC;
	assert_null(trace_writer_new(sink, b));
	assert_int_equal(errno, ENOSPC);
	b->error = 0;
	w = AFTER(trace_writer_free, trace_writer_new(sink, b));
	assert_non_null(w);
	b->error = -EIO;
	assert_int_equal(trace_writer_event(w, &o), 0);
	assert_int_equal(trace_writer_flush(w), -EIO);
	b->error = 0;
	assert_int_equal(trace_writer_event(w, &o), -EIO);
	assert_int_equal(trace_writer_mark(w, 1, "x"), -EIO);
	assert_int_equal(trace_writer_flush(w), -EIO);
}
