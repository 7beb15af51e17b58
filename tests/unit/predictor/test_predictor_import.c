/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access trees of a file that anybody may have written, while learning goes on:
 * each step is bounded, and so is what a uid may bring. */
#include <endian.h>
#include <errno.h>

#include <xxhash.h>

#include "unittest.h"
#include "predictor/persist/persist_format.h"
#include "predictor/persist/trees.h"

#define MS UINT64_C(1000000)

enum { RUN = 40, US = 10, THEM = 20, OTHERS = 30, STEP = 32 };

struct machine {
	struct predictor *p;
	uint64_t now_ns;
};

static struct machine machine_open(size_t budget_bytes)
{
	struct predictor_options opt = {.budget_bytes = budget_bytes};
	struct machine m = {.p = AFTER(predictor_free, predictor_new(&opt))};

	assert_non_null(m.p);
	return m;
}

/* A run of files of a directory, from number `first` on, after a pause. */
static void learn(struct machine *m, uint64_t uid, uint64_t dir, uint64_t first)
{
	struct prediction out[16];

	m->now_ns += 120000 * MS;
	for (uint64_t i = 0; i < RUN; i++) {
		struct predictor_obs o = {.kind = PREDICTOR_READ,
		    .now_ns = m->now_ns += MS,
		    .latency_ns = MS,
		    .actor = 1,
		    .uid = uid,
		    .object = dir << 32 | (first + i),
		    .parent = dir,
		    .name_hash = (first + i) * 3 + 1,
		    .count_bytes = 4096,
		    .exec = i == 0};

		predictor_observe(m->p, &o);
		(void)predictor_predict(m->p, out, 16);
	}
}

/* Trees of `files` files, which nobody else has. */
static void *made_file(uint64_t dir, unsigned files, size_t *len)
{
	const struct predictor_options opt = {.budget_bytes = 16 << 20};
	struct machine m = {.p = predictor_new(&opt)};
	void *data;

	for (unsigned i = 0; i < files; i += RUN)
		learn(&m, THEM, dir, i);
	data = predictor_export_trees(m.p, THEM, len);
	assert_non_null(data);
	predictor_free(m.p);
	return data;
}

static int bring(struct machine *m, uint64_t uid, uint64_t dir, unsigned files)
{
	size_t len;
	void *data = made_file(dir, files, &len);
	int rc = predictor_import_trees(m->p, uid, data, len);

	free(data);
	return rc;
}

static ssize_t trees(const struct machine *m, uint64_t uid)
{
	return predictor_trees(m->p, uid, NULL, 0);
}

static uint64_t events(const struct machine *m)
{
	struct predictor_stats st;

	predictor_get_stats(m->p, &st);
	return st.events;
}

TEST(test_steps)
{
	struct machine m = machine_open(4 << 20), whole = machine_open(4 << 20);
	size_t len;
	FREED void *data = made_file(70, 1200, &len);
	struct predictor_import *x = predictor_import_new(data, len);
	unsigned steps = 0;

	assert_non_null(x);
	for (bool over = false; !over; steps++) {
		uint64_t before = events(&m);

		over = predictor_import_step(x, m.p, THEM, 1);
		assert_in_range(events(&m) - before, 0, STEP + 1);
		if (steps % 5 == 0)
			learn(&m, US, 7, steps * RUN);
	}
	assert_int_equal(predictor_import_error(x), 0);
	predictor_import_free(x);
	assert_true(steps > 2 * 1200 / STEP);
	/* It has brought what it would have brought at once. */
	assert_int_equal(predictor_import_trees(whole.p, THEM, data, len), 0);
	assert_int_equal(trees(&m, THEM), trees(&whole, THEM));
	assert_int_equal(trees(&m, THEM), 1200 / RUN);
}

/* The arenas are so small that what was added is given up again. */
TEST(test_steps_when_full)
{
	struct machine m = machine_open(1 << 20);
	size_t len;
	FREED void *data = made_file(70, 400, &len);
	uint64_t first = 0;

	for (unsigned i = 0; i < 5; i++) {
		struct predictor_import *x = predictor_import_new(data, len);

		while (!predictor_import_step(x, m.p, TREES_ALL, 1))
			for (unsigned k = 0; k < 10; k++, first += RUN)
				learn(&m, US, 7, first);
		assert_int_equal(predictor_import_error(x), 0);
		predictor_import_free(x);
	}
	assert_true(trees(&m, US) > 0);
}

TEST(test_cleared_meanwhile)
{
	struct machine m = machine_open(4 << 20);
	size_t len;
	FREED void *data = made_file(70, 400, &len);
	struct predictor_import *x = predictor_import_new(data, len);

	learn(&m, US, 7, 0);
	assert_false(predictor_import_step(x, m.p, THEM, 4));
	assert_int_equal(predictor_clear(m.p), 0);
	assert_true(predictor_import_step(x, m.p, THEM, 4));
	assert_int_equal(predictor_import_error(x), -ESTALE);
	predictor_import_free(x);
	/* Nothing of it counts. */
	assert_int_equal(bring(&m, THEM, 71, 1600), 0);
	/* Nobody need go on to the end. */
	x = predictor_import_new(data, len);
	assert_false(predictor_import_step(x, m.p, OTHERS, 4));
	predictor_import_free(x);
}

/* The file with `n` more fields, of a byte each and with a number that nobody
 * knows; or, where `known`, with as many orders. */
static int bring_fields(struct machine *m, bool known, size_t n)
{
	struct persist_header h;
	size_t len;
	uint8_t *data = made_file(70, 40, &len), *at;
	struct predictor_import *x;
	int rc;

	data = realloc(data, len + n * 4);
	assert_non_null(data);
	at = data + len;
	for (size_t i = 0; i < n; i++, at += 4)
		memcpy(at, known ? "\x82\x02\x01x" : "\xa2\x06\x01x", 4);
	len += n * 4;
	memcpy(&h, data, HEADER_BYTES);
	h.checksum = htole64(XXH3_64bits_withSeed(
	    data + HEADER_BYTES, len - HEADER_BYTES, le64toh(h.version)));
	memcpy(data, &h, HEADER_BYTES);
	x = predictor_import_new(data, len);
	rc = x ? 0 : -errno;
	while (x && !predictor_import_step(x, m->p, THEM, 1))
		;
	predictor_import_free(x);
	free(data);
	return rc;
}

/* An import bounds the pieces that it will have to free, and still takes a file
 * of a newer release, which may have fields that this one does not know. */
TEST(test_fields_without_number)
{
	struct machine m = machine_open(4 << 20);

	assert_int_equal(bring_fields(&m, false, 1000000), -EBADMSG);
	assert_int_equal(bring_fields(&m, true, 1000000), -EBADMSG);
	assert_int_equal(trees(&m, THEM), 0);
	assert_int_equal(bring_fields(&m, false, 1000), 0);
	assert_int_equal(trees(&m, THEM), 1);
}

/* One uid's files, however many they are, leave to others what they have. */
TEST(test_share_of_a_uid)
{
	struct machine m = machine_open(4 << 20);
	struct predictor_tree all[64], again[64];
	unsigned refused = 0;

	for (unsigned i = 0; i < 20; i++)
		learn(&m, US, 7, i * RUN);
	assert_int_equal(predictor_trees(m.p, US, all, 64), 20);
	for (uint64_t dir = 70; dir < 90; dir++) {
		int rc = bring(&m, THEM, dir, 800);

		assert_true(rc == 0 || rc == -EFBIG);
		refused += rc != 0;
	}
	/* A quarter of what there is room for is two of these. */
	assert_int_equal(refused, 18);
	assert_int_equal(predictor_trees(m.p, US, again, 64), 20);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(again[i].objects, all[i].objects);
	/* It is the share of one uid, until that is cleared. */
	assert_int_equal(bring(&m, OTHERS, 70, 800), 0);
	assert_int_equal(bring(&m, THEM, 99, 800), -EFBIG);
	assert_int_equal(predictor_clear_uid(m.p, THEM), 0);
	assert_int_equal(bring(&m, THEM, 99, 800), 0);
}

/* Objects that are known bring nothing; what was used long ago is gone. */
TEST(test_share_ends)
{
	struct machine m = machine_open(4 << 20);

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(bring(&m, THEM, 70, 1600), 0);
	assert_int_equal(bring(&m, THEM, 71, 800), -EFBIG);
	for (unsigned i = 0; i < 2000; i++)
		learn(&m, US, 7, i % 20 * RUN);
	assert_int_equal(bring(&m, THEM, 71, 800), 0);
}
