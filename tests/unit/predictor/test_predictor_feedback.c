/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Feedback, the scan guard, ageing, and patterns inside files change
 * predictions. */
#include "predictor/predictor.h"

#include "predictor/learn_fixture.h"
#include "predictor/persist/persist.h"
#include "predictor/store/extents.h"

static void read_at(
    struct world *w, uint64_t object, uint64_t offset, uint32_t count)
{
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .now_ns = w->now_ns,
	    .latency_ns = 10 * MS,
	    .actor = 7,
	    .object = object,
	    .size_bytes = 1 << 30,
	    .offset_bytes = offset,
	    .count_bytes = count};

	predictor_observe(w->p, &o);
	w->n = predictor_predict(w->p, w->out, 512);
	w->now_ns += 10 * MS + MS / 5;
}

static void run_of(struct world *w, uint64_t first, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		read_at(w, first + i, 0, 16384);
	w->now_ns += 2000 * MS;
}

static float told_p(const struct world *w, uint64_t object)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->out[i].object == object)
			return w->out[i].p;
	return 0;
}

FIXTURE(struct world, world_open, world_end);

/* An object that was fetched in vain again and again is told with less than
 * half the probability, until it is of use once. */
TEST(test_unused, struct world *w)
{
	float before, after;

	for (int i = 0; i < 4; i++)
		run_of(w, 100, 20);
	read_at(w, 100, 0, 16384);
	before = told_p(w, 105);
	assert_true(before > 0.4f);
	for (int i = 0; i < 6; i++)
		predictor_feedback(w->p, 105, PREDICTOR_UNUSED);
	assert_int_equal(stats(w).unused, 6);
	w->now_ns += 2000 * MS;
	read_at(w, 100, 0, 16384);
	after = told_p(w, 105);
	assert_true(after < before / 2);
	assert_true(told_p(w, 106) > before / 2);
	predictor_feedback(w->p, 105, PREDICTOR_USED);
	w->now_ns += 2000 * MS;
	read_at(w, 100, 0, 16384);
	assert_true(told_p(w, 105) > before / 2);
	/* Of what is not known, too. */
	predictor_feedback(w->p, 4711, PREDICTOR_LATE);
	assert_int_equal(stats(w).late, 1);
}

/* An object that the caller did not fetch is told again when its use is nearer,
 * and so is one that did not fit into the answer. */
TEST(test_dropped, struct world *w)
{
	unsigned first = 0, again = 0;
	uint32_t lead = 0;

	for (int i = 0; i < 4; i++)
		run_of(w, 100, 60);
	for (uint64_t i = 0; i < 60; i++) {
		read_at(w, 100 + i, 0, 16384);
		for (size_t j = 0; j < w->n; j++) {
			if (w->out[j].object != 155)
				continue;
			if (first++ == 0) {
				lead = w->out[j].lead;
				assert_true(lead > 8);
				predictor_feedback(
				    w->p, 155, PREDICTOR_DROPPED);
			} else {
				again++;
				assert_true(w->out[j].lead <= lead / 2 + 1);
			}
		}
	}
	assert_true(first >= 2 && again >= 1);
}

/* Three at a time: they all come, the nearest first. */
TEST(test_few_at_a_time, struct world *w)
{
	bool told[200] = {false};

	for (int i = 0; i < 4; i++)
		run_of(w, 100, 60);
	for (uint64_t i = 0; i < 60; i++) {
		struct predictor_obs o = {.kind = PREDICTOR_READ,
		    .now_ns = w->now_ns,
		    .latency_ns = 10 * MS,
		    .actor = 7,
		    .object = 100 + i,
		    .size_bytes = 1000};

		assert_true(i < 3 || told[100 + i]);
		predictor_observe(w->p, &o);
		w->n = predictor_predict(w->p, w->out, 3);
		assert_true(w->n <= 3);
		for (size_t j = 0; j < w->n; j++)
			told[w->out[j].object] = true;
		w->now_ns += 10 * MS + MS / 5;
	}
}

static uint32_t lead_max(struct world *w)
{
	uint32_t lead = 0;

	for (uint64_t i = 0; i < 10; i++) {
		read_at(w, 100 + i, 0, 16384);
		for (size_t j = 0; j < w->n; j++)
			if (w->out[j].lead > lead)
				lead = w->out[j].lead;
	}
	w->now_ns += 2000 * MS;
	return lead;
}

/* Fetches that come late are asked for earlier. */
TEST(test_late, struct world *w)
{
	uint32_t before;

	for (int i = 0; i < 4; i++)
		run_of(w, 100, 300);
	before = lead_max(w);
	for (int i = 0; i < 200; i++)
		predictor_feedback(w->p, 100, PREDICTOR_LATE);
	assert_true(lead_max(w) > before * 3 / 2);
	for (int i = 0; i < 400; i++)
		predictor_feedback(w->p, 100, PREDICTOR_USED);
	assert_true(lead_max(w) < before * 5 / 4);
}

static void list_dir(struct world *w, uint64_t dir, uint64_t first, uint32_t n)
{
	FREED struct predictor_dirent *ents = calloc(n, sizeof(*ents));

	for (uint32_t i = 0; i < n; i++)
		ents[i] = (struct predictor_dirent){
		    .object = first + i, .name_hash = first + i, .rank = i};
	predictor_list(w->p, 0, dir, ents, n);
}

/* `find` over five times as many files as there is room for. */
static void scan(struct world *w, uint64_t first, uint64_t dirs)
{
	for (uint64_t d = 0; d < dirs; d++) {
		uint64_t dir = first + d * 1000;

		list_dir(w, dir, dir + 1, 60);
		for (uint64_t i = 1; i <= 60; i++) {
			struct predictor_obs o = {.kind = PREDICTOR_LOOKUP,
			    .now_ns = w->now_ns,
			    .latency_ns = MS / 10,
			    .actor = 7,
			    .object = dir + i,
			    .parent = dir,
			    .name_hash = dir + i};

			predictor_observe(w->p, &o);
			w->n = predictor_predict(w->p, w->out, 512);
			w->now_ns += MS / 5;
		}
	}
	w->now_ns += 2000 * MS;
}

/* A walk is counted, and does not drive out what was learned. */
TEST(test_scan, struct world *w)
{
	world_end(w);
	world_begin(w, 4 << 20);
	for (int i = 0; i < 4; i++)
		run_of(w, 100, 60);
	assert_int_equal(stats(w).scans_guarded, 0);
	scan(w, 1000000, 900);
	assert_int_equal(stats(w).scans_guarded, 1);
	read_at(w, 100, 0, 16384);
	assert_true(told_p(w, 103) > 0.3f);
}

/* A job that changes for good: after some runs the new way alone is told. */
TEST(test_ageing, struct world *w)
{
	for (int i = 0; i < 8; i++)
		run_of(w, 100, 20);
	for (int i = 0; i < 8; i++) {
		read_at(w, 100, 0, 16384);
		run_of(w, 500, 20);
	}
	read_at(w, 100, 0, 16384);
	assert_true(told_p(w, 501) > 0.4f);
	assert_true(told_p(w, 103) < told_p(w, 503));
	assert_true(told_p(w, 103) < 0.4f);
}

static void assert_extent(const struct predictor_extent *e, uint64_t offset,
    uint32_t length, uint32_t count, int64_t stride)
{
	assert_int_equal(e->offset_bytes, offset);
	assert_int_equal(e->length_bytes, length);
	assert_int_equal(e->count, count);
	assert_int_equal(e->stride_bytes, stride);
}

/* The head, a part in the middle, the index at the end: as a database or
 * an archive is opened. */
TEST(test_extents, struct world *w)
{
	struct predictor_extent e[8];

	for (int run = 0; run < 3; run++) {
		read_at(w, 50, 0, 4096);
		read_at(w, 100, 0, 16384);
		read_at(w, 100, 1000 << 12, 65536);
		/* Out of order, as readahead comes. */
		read_at(w, 100, 1032 << 12, 65536);
		read_at(w, 100, 1016 << 12, 65536);
		read_at(w, 100, 5000 << 12, 4096);
		w->now_ns += 2000 * MS;
	}
	assert_int_equal(predictor_extents(w->p, 100, e, 8), 3);
	assert_extent(&e[0], 0, 16384, 1, 0);
	assert_extent(&e[1], 1000 << 12, 3 * 65536, 1, 0);
	assert_extent(&e[2], 5000 << 12, 4096, 1, 0);
	assert_int_equal(predictor_extents(w->p, 100, e, 2), 2);
	assert_int_equal(predictor_extents(w->p, 50, e, 8), 0);
	read_at(w, 50, 0, 4096);
	assert_true(told_p(w, 100) > 0);
	for (size_t i = 0; i < w->n; i++)
		assert_int_equal(w->out[i].object == 100,
		    (w->out[i].needs & PREDICTOR_NEEDS_EXTENTS) != 0);
}

static size_t pattern(uint64_t (*offset)(uint64_t i), uint64_t n,
    uint32_t count, struct predictor_extent out[8])
{
	struct extents *e = extents_new(4);
	size_t got;

	for (uint64_t i = 0; i < n; i++)
		extents_read(e, 1, offset(i), count, 0);
	extents_begin(e, 1);
	got = extents_get(e, 1, out, 8);
	extents_free(e);
	return got;
}

static uint64_t strided(uint64_t i)
{
	return 65536 + i * 262144;
}

static uint64_t backward(uint64_t i)
{
	return (1000 - i) * 65536;
}

static uint64_t anywhere(uint64_t i)
{
	return i * i * 31 % 1009 * 40960 + 4096;
}

TEST(test_strides)
{
	struct predictor_extent e[8];

	assert_int_equal(pattern(strided, 50, 8192, e), 1);
	assert_extent(&e[0], 65536, 8192, 50, 262144);
	assert_int_equal(pattern(backward, 50, 8192, e), 1);
	assert_extent(&e[0], 1000 * 65536, 8192, 50, -65536);
	/* Backward without gaps is one piece. */
	assert_int_equal(pattern(backward, 50, 65536, e), 1);
	assert_extent(&e[0], 951 * 65536, 50 * 65536, 1, 0);
	assert_int_equal(pattern(anywhere, 200, 4096, e), 0);
}

/* The oldest files give way; what is dropped is gone. */
TEST(test_extents_bounded)
{
	struct predictor_extent out[8];
	struct extents *e = AFTER(extents_free, extents_new(4));
	size_t bytes;

	for (uint32_t i = 0; i < 4; i++)
		extents_read(e, i, 1 << 20, 4096, 4096);
	bytes = extents_memory_bytes(e);
	for (uint32_t i = 4; i < 1000; i++)
		extents_read(e, i, 1 << 20, 4096, 4096);
	assert_int_equal(extents_memory_bytes(e), bytes);
	assert_int_equal(extents_get(e, 3, out, 8), 0);
	assert_int_equal(extents_get(e, 999, out, 8), 2);
	extents_drop(e, 999);
	assert_int_equal(extents_get(e, 999, out, 8), 0);
}

/* Needs, absences and patterns survive saving. */
TEST(test_saved)
{
	struct predictor_extent e[8];
	struct world w, v;
	size_t len;
	FREED void *data;

	world_begin(&w, 0);
	world_begin(&v, 0);
	for (int run = 0; run < 3; run++) {
		run_of(&w, 100, 10);
		read_at(&w, 105, 1 << 20, 8192);
	}
	data = predictor_export(w.p, &len);
	assert_int_equal(predictor_import(v.p, data, len), 0);
	assert_int_equal(predictor_extents(v.p, 105, e, 8), 2);
	v.now_ns = w.now_ns;
	read_at(&v, 100, 0, 16384);
	assert_true(told_p(&v, 105) > 0.3f);
	for (size_t i = 0; i < v.n; i++) {
		assert_int_equal(v.out[i].needs & ~PREDICTOR_NEEDS_EXTENTS,
		    PREDICTOR_NEEDS_DATA);
		assert_int_equal(v.out[i].first_bytes, 16384);
	}
	world_end(&w);
	world_end(&v);
}
