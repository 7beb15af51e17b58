/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks that go through all that was learned from turn to turn come to an end,
 * each of their steps is bounded, and nothing that is learned or cleared in
 * between tears them. */
#include <errno.h>

#include "unittest.h"
#include "predictor/persist/persist.h"
#include "predictor/persist/trees.h"

#define MS UINT64_C(1000000)

enum { RUN = 40, RUNS = 600, UID = 10, FIRST = 1 << 20, DIRECTORY = 7 };

struct world {
	struct predictor *p;
	uint64_t now_ns;
	uint64_t next; /* object */
};

/* A run of objects that nobody used before, after a pause. */
static void learn(struct world *w)
{
	w->now_ns += 120000 * MS;
	for (unsigned i = 0; i < RUN; i++, w->next++) {
		struct predictor_obs o = {.kind = PREDICTOR_READ,
		    .now_ns = w->now_ns += MS,
		    .latency_ns = MS,
		    .actor = 1,
		    .uid = UID,
		    .object = w->next,
		    .parent = DIRECTORY,
		    .name_hash = w->next * 3,
		    .count_bytes = 4096,
		    .exec = i == 0};
		struct prediction out[16];

		predictor_observe(w->p, &o);
		(void)predictor_predict(w->p, out, 16);
	}
}

/* So small that the log and the objects are full, and taken back. */
static void set_up(struct world *w)
{
	struct predictor_options opt = {.budget_bytes = 1 << 20};

	assert_non_null(w);
	w->p = predictor_new(&opt);
	w->next = FIRST;
	for (unsigned i = 0; i < RUNS; i++)
		learn(w);
}

static void tear_down(struct world *w)
{
	predictor_free(w->p);
}

static bool is_of(const struct world *w, uint64_t object)
{
	return object >= FIRST && object < w->next;
}

FIXTURE(struct world, set_up, tear_down);

TEST(test_list, struct world *w)
{
	struct predictor_tree t[8];
	struct trees_list *l = trees_list_new(w->p, UID, 8);
	unsigned steps = 0;
	size_t shown;
	ssize_t n;

	assert_non_null(l);
	while (!trees_list_step(l, 4))
		if (steps++ % 3 == 0)
			learn(w);
	n = trees_list_end(l, t, &shown);
	assert_true(n >= 8);
	assert_int_equal(shown, 8);
	assert_true(steps > 10);
	for (unsigned i = 0; i < 8; i++) {
		assert_true(is_of(w, t[i].root));
		assert_int_equal(t[i].uid, UID);
		assert_in_range(t[i].objects, 1, RUN);
		assert_true(i == 0 || t[i - 1].age <= t[i].age);
	}
	trees_list_free(l);
}

TEST(test_show, struct world *w)
{
	const struct predictor_line *lines;
	struct predictor_tree t[1];
	struct trees_show *s;
	unsigned steps = 0;
	bool more;
	size_t n;

	assert_true(predictor_trees(w->p, UID, t, 1) > 0);
	s = AFTER(trees_show_free, trees_show_new(w->p, UID, t[0].id, 16));
	assert_non_null(s);
	while (!trees_show_step(s, 4))
		if (steps++ % 20 == 0)
			learn(w);
	assert_true(steps > 10);
	assert_int_equal(trees_show_lines(s, &lines, &n, &more), 0);
	assert_int_equal(n, 16);
	assert_true(more);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(lines[i].object, t[0].root + i);
}

/* A snapshot that is taken while more is learned can be read, and has only runs
 * that were there at its beginning. */
TEST(test_snapshot, struct world *w)
{
	struct predictor_options opt = {.budget_bytes = 4 << 20};
	struct predictor_snapshot *x = predictor_snapshot_new(w->p);
	struct predictor *q = AFTER(predictor_free, predictor_new(&opt));
	struct predictor_tree t[RUNS];
	uint64_t end = w->next;
	unsigned steps = 0;
	size_t len;
	ssize_t n;
	FREED void *data;

	assert_non_null(x);
	while (!predictor_snapshot_step(x, 4))
		if (steps++ % 3 == 0)
			learn(w);
	assert_true(steps > 10);
	assert_int_equal(predictor_snapshot_error(x), 0);
	data = predictor_snapshot_pack(x, &len);
	assert_non_null(data);
	predictor_snapshot_free(x);
	assert_int_equal(predictor_import(q, data, len), 0);
	n = predictor_trees(q, UID, t, RUNS);
	assert_true(n > 0);
	for (ssize_t i = 0; i < n && i < RUNS; i++)
		assert_in_range(t[i].root, FIRST, end - 1);
}

/* At once, or in steps without anything in between: the same bytes. */
TEST(test_snapshot_same, struct world *w)
{
	struct predictor_snapshot *x;
	size_t len, again_len;
	void *data = AFTER(free, predictor_export(w->p, &len)), *again;

	x = predictor_snapshot_new(w->p);
	while (!predictor_snapshot_step(x, 1))
		;
	again = AFTER(free, predictor_snapshot_pack(x, &again_len));
	assert_int_equal(len, again_len);
	assert_memory_equal(data, again, len);
	predictor_snapshot_free(x);
}

TEST(test_cleared, struct world *w)
{
	struct predictor_snapshot *x = predictor_snapshot_trees(w->p, UID);
	struct trees_list *l = trees_list_new(w->p, UID, 8);
	struct predictor_tree t[8];
	struct trees_show *s;
	size_t shown;

	assert_true(predictor_trees(w->p, UID, t, 1) > 0);
	s = trees_show_new(w->p, UID, t[0].id, 16);
	assert_false(predictor_snapshot_step(x, 4));
	assert_false(trees_list_step(l, 4));
	assert_false(trees_show_step(s, 4));
	assert_int_equal(predictor_clear_uid(w->p, UID), 0);
	assert_true(predictor_snapshot_step(x, 4));
	assert_int_equal(predictor_snapshot_error(x), -ESTALE);
	assert_true(trees_list_step(l, 4));
	assert_int_equal(trees_list_end(l, t, &shown), -ESTALE);
	assert_true(trees_show_step(s, 4));
	predictor_snapshot_free(x);
	trees_list_free(l);
	trees_show_free(s);
	assert_null(predictor_snapshot_trees(w->p, 99));
	assert_int_equal(errno, ENOENT);
}
