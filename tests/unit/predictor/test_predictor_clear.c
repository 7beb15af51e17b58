/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A uid or a tree is forgotten in steps: between any two of them others learn,
 * all is forgotten, or nobody goes on; nothing that others know is lost. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "predictor/persist/persist.h"
#include "predictor/persist/trees.h"

#define MS UINT64_C(1000000)

enum {
	RUN = 40,
	ANNE = 10,
	BOB = 20,
	/* First objects of runs. */
	ANNES = 1 << 20,
	BOBS = 2 << 20,
	SHARED = 3 << 20,
};

struct desk {
	struct predictor *p;
	uint64_t now_ns;
};

static struct desk desk_open(size_t budget_bytes)
{
	struct predictor_options opt = {.budget_bytes = budget_bytes};
	struct desk d = {.p = predictor_new(&opt)};

	assert_non_null(d.p);
	return d;
}

/* A run of the uid over RUN files, after a pause; how many were foretold. */
static unsigned work(struct desk *d, uint64_t uid, uint64_t first)
{
	bool told[RUN] = {false};
	struct prediction out[64];
	unsigned foretold = 0;

	d->now_ns += 120000 * MS;
	for (unsigned i = 0; i < RUN; i++) {
		struct predictor_obs o = {.kind = PREDICTOR_READ,
		    .now_ns = d->now_ns += MS,
		    .latency_ns = MS,
		    .actor = uid,
		    .uid = uid,
		    .object = first + i,
		    .parent = first >> 12,
		    .name_hash = (first + i) * 3 + 1,
		    .count_bytes = 4096,
		    .exec = i == 0};
		size_t n;

		foretold += told[i];
		predictor_observe(d->p, &o);
		n = predictor_predict(d->p, out, 64);
		for (size_t k = 0; k < n; k++)
			if (out[k].object >= first &&
			    out[k].object < first + RUN)
				told[out[k].object - first] = true;
	}
	return foretold;
}

static ssize_t trees(const struct desk *d, uint64_t uid)
{
	return predictor_trees(d->p, uid, NULL, 0);
}

/* Both have runs of their own, and one that they share. */
static struct desk desk_taught(void)
{
	struct desk d = desk_open(4 << 20);

	for (unsigned i = 0; i < 20; i++) {
		(void)work(&d, ANNE, ANNES + i * RUN);
		(void)work(&d, BOB, BOBS + i * RUN);
	}
	for (unsigned i = 0; i < 3; i++)
		(void)work(&d, BOB, SHARED);
	/* Anne's uses are more than the predictor looks back over. */
	for (unsigned i = 0; i < 80; i++)
		(void)work(&d, ANNE, SHARED);
	return d;
}

/* Step by step; after every so many BOB works. Returns how many there were. */
static unsigned clear_by(struct desk *d, uint64_t id, unsigned every)
{
	struct predictor_clear *c = predictor_clear_new(d->p, ANNE, id);
	unsigned steps = 1;

	assert_non_null(c);
	for (; !predictor_clear_step(c, 1); steps++)
		if (every > 0 && steps % every == 0)
			(void)work(d, BOB, BOBS + steps % 20 * RUN);
	assert_int_equal(predictor_clear_error(c), 0);
	predictor_clear_free(c);
	return steps;
}

static void test_others_learn_meanwhile(void **state)
{
	(void)state;
	for (unsigned every = 0; every < 12; every += 3) {
		struct desk d = desk_taught();
		ssize_t bobs = trees(&d, BOB);

		assert_int_equal(bobs, 21);
		assert_true(clear_by(&d, 0, every) > 20);
		assert_int_equal(trees(&d, ANNE), 0);
		assert_int_equal(trees(&d, BOB), bobs);
		assert_true(work(&d, BOB, BOBS) > RUN / 2);
		/* Its last places were all hers. */
		assert_true(work(&d, BOB, SHARED) > RUN / 2);
		assert_true(work(&d, ANNE, ANNES) < RUN / 5);
		predictor_free(d.p);
	}
}

static void test_a_tree(void **state)
{
	struct desk d = desk_taught();
	struct predictor_tree t[2];
	ssize_t annes = trees(&d, ANNE);

	(void)state;
	assert_int_equal(predictor_trees(d.p, ANNE, t, 2), annes);
	assert_int_equal(t[0].root, SHARED);
	assert_true(clear_by(&d, t[0].id, 7) > 20);
	assert_int_equal(trees(&d, ANNE), annes - 1);
	assert_true(work(&d, ANNE, ANNES) > RUN / 2);
	assert_true(work(&d, BOB, SHARED) > RUN / 2);
	predictor_free(d.p);
}

static void test_all_is_forgotten_meanwhile(void **state)
{
	unsigned steps = 0;

	(void)state;
	for (unsigned n = 1, over = false; !over; n += 5) {
		struct desk d = desk_taught();
		struct predictor_clear *c = predictor_clear_new(d.p, ANNE, 0);

		over = predictor_clear_step(c, n);
		assert_int_equal(predictor_clear(d.p), 0);
		(void)work(&d, ANNE, ANNES);
		assert_true(predictor_clear_step(c, n));
		assert_int_equal(predictor_clear_error(c), 0);
		predictor_clear_free(c);
		/* The run that came later stays. */
		assert_int_equal(trees(&d, ANNE), 1);
		predictor_free(d.p);
		steps = n;
	}
	assert_true(steps > 20);
}

/* The rest can be saved and loaded, and is learned on. */
static void test_nobody_goes_on(void **state)
{
	(void)state;
	for (unsigned n = 1, over = false; !over; n += 5) {
		struct desk d = desk_taught(), e = desk_open(4 << 20);
		struct predictor_clear *c = predictor_clear_new(d.p, ANNE, 0);
		size_t len;
		void *data;

		over = predictor_clear_step(c, n);
		predictor_clear_free(c);
		(void)work(&d, ANNE, SHARED);
		assert_true(work(&d, BOB, BOBS) > RUN / 2);
		data = predictor_export(d.p, &len);
		assert_int_equal(predictor_import(e.p, data, len), 0);
		assert_int_equal(trees(&e, BOB), 21);
		free(data);
		predictor_free(d.p);
		predictor_free(e.p);
	}
}

static void test_two_at_once(void **state)
{
	struct desk d = desk_taught();
	struct predictor_clear *a = predictor_clear_new(d.p, ANNE, 0);
	struct predictor_clear *b = predictor_clear_new(d.p, BOB, 0);
	bool over_a = false, over_b = false;

	(void)state;
	while (!over_a || !over_b) {
		over_a = over_a || predictor_clear_step(a, 1);
		over_b = over_b || predictor_clear_step(b, 2);
	}
	assert_int_equal(predictor_clear_error(a), 0);
	assert_int_equal(predictor_clear_error(b), 0);
	assert_int_equal(trees(&d, TREES_ALL), 0);
	predictor_clear_free(a);
	predictor_clear_free(b);
	assert_null(predictor_clear_new(d.p, 30, 0));
	assert_int_equal(errno, ENOENT);
	predictor_free(d.p);
}

/* Who learns and clears again and again drives nobody out. */
static void test_room_comes_back(void **state)
{
	struct desk d = desk_open(1 << 20);

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		(void)work(&d, BOB, BOBS + i * RUN);
	for (unsigned n = 0; n < 12; n++) {
		for (unsigned i = 0; i < 200; i++)
			(void)work(&d, ANNE, ANNES + i % 10 * RUN);
		(void)clear_by(&d, 0, 0);
	}
	assert_int_equal(trees(&d, BOB), 10);
	assert_true(work(&d, BOB, BOBS) > RUN / 2);
	predictor_free(d.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_others_learn_meanwhile),
	    cmocka_unit_test(test_a_tree),
	    cmocka_unit_test(test_all_is_forgotten_meanwhile),
	    cmocka_unit_test(test_nobody_goes_on),
	    cmocka_unit_test(test_two_at_once),
	    cmocka_unit_test(test_room_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
