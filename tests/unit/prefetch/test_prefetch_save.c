/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon loads what was learned in parts, beside everything else, and saves
 * it by one thread at a time; a part of it never takes the place of the whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "unittest.h"
#include "base/iopool.h"
#include "base/statefile.h"
#include "predictor/persist/persist.h"
#include "predictor/persist/trees.h"
#include "prefetch/prefetch_private.h"

#define MS        UINT64_C(1000000)
#define MINUTE_US UINT64_C(60000000)

enum { RUN = 40, RUNS = 1200, OLD = 1 << 20, NEW = 2 << 20 };

struct place {
	struct prefetch *pf;
	char dir[32];
	char path[64];
};

/* ---- what is known ----------------------------------------------------- */

static struct predictor *predictor_make(void)
{
	struct predictor_options po = {.budget_bytes = 4 << 20};
	struct predictor *p = predictor_new(&po);

	assert_non_null(p);
	return p;
}

/* `runs` of new files, each after a pause. */
static void learn(struct predictor *p, uint64_t first, unsigned runs)
{
	static uint64_t now_ns;

	for (unsigned i = 0; i < runs * RUN; i++) {
		struct predictor_obs o = {.kind = PREDICTOR_READ,
		    .now_ns = now_ns += i % RUN ? MS : 120000 * MS,
		    .latency_ns = MS,
		    .actor = 1,
		    .uid = 10,
		    .object = first + i % 4000,
		    .parent = 7,
		    .name_hash = (first + i % 4000) * 3,
		    .count_bytes = 4096,
		    .exec = i % RUN == 0};

		predictor_observe(p, &o);
	}
}

static bool knows(const struct predictor *p, uint64_t root)
{
	struct predictor_tree t[200];
	ssize_t n = predictor_trees(p, 10, t, 200);

	for (ssize_t i = 0; i < n && i < 200; i++)
		if (t[i].root == root)
			return true;
	return false;
}

/* ---- where it is kept --------------------------------------------------- */

/* A file of a former daemon, unless `runs` is 0, and who loads it. */
static void place_open(struct place *pl, unsigned runs)
{
	struct prefetch *pf = calloc(1, sizeof(*pf));
	struct predictor *p = predictor_make();
	size_t len;
	void *data;

	strcpy(pl->dir, "/tmp/ff-save-XXXXXX");
	assert_non_null(mkdtemp(pl->dir));
	snprintf(pl->path, sizeof(pl->path), "%s/trees", pl->dir);
	if (runs > 0) {
		learn(p, OLD, runs);
		data = predictor_export(p, &len);
		assert_int_equal(statefile_write(pl->path, data, len), 0);
		free(data);
	}
	predictor_free(p);
	snprintf(pf->save.path, sizeof(pf->save.path), "%s", pl->path);
	pf->g.base = event_base_new();
	pf->g.iopool = iopool_new(pf->g.base, 1);
	pf->name = "nas";
	pf->g.predictor = predictor_make();
	pl->pf = pf;
}

/* The end of the daemon. */
static void place_end(struct place *pl)
{
	prefetch_finish(pl->pf);
	prefetch_save_close(pl->pf);
	prefetch_save_bury(pl->pf);
	iopool_free(pl->pf->g.iopool);
	event_base_free(pl->pf->g.base);
	free(pl->pf);
}

static void place_remove(struct place *pl)
{
	unlink(pl->path);
	assert_int_equal(rmdir(pl->dir), 0);
}

/* The next daemon's predictor, by the file, which is gone then. */
static struct predictor *place_next(struct place *pl)
{
	struct predictor *p = predictor_make();
	char err[PERSIST_ERR_MAX];

	place_end(pl);
	assert_int_equal(predictor_load(p, pl->path, err), 0);
	place_remove(pl);
	return p;
}

/* Begins to load, up to the moment when the file is read. */
static void load_begin(struct place *pl)
{
	prefetch_save_open(pl->pf);
	assert_true(prefetch_loads(pl->pf));
	assert_true(
	    iopool_wait(pl->pf->g.iopool, &pl->pf->save.read, MINUTE_US));
}

static void turn(struct place *pl)
{
	assert_int_equal(
	    event_base_loop(pl->pf->g.base, EVLOOP_ONCE | EVLOOP_NONBLOCK), 0);
}

/* ---- loading ------------------------------------------------------------ */

/* The same as at once, over many turns. */
static void test_load_in_parts(void **state)
{
	struct predictor *whole = predictor_make();
	char err[PERSIST_ERR_MAX];
	size_t len, whole_len;
	void *data, *whole_data;
	unsigned turns = 0;
	struct place pl;

	(void)state;
	place_open(&pl, RUNS);
	load_begin(&pl);
	for (; prefetch_loads(pl.pf); turns++)
		turn(&pl);
	assert_in_range(turns, 11, 1000);
	assert_int_equal(predictor_load(whole, pl.path, err), 0);
	data = predictor_export(pl.pf->g.predictor, &len);
	whole_data = predictor_export(whole, &whole_len);
	assert_int_equal(len, whole_len);
	assert_memory_equal(data, whole_data, len);
	/* There is nothing to save. */
	iopool_drain(pl.pf->g.iopool);
	assert_true(prefetch_settle(pl.pf));
	free(data);
	free(whole_data);
	predictor_free(whole);
	place_end(&pl);
	place_remove(&pl);
}

/* Loads a file for `turns` turns at most; whether that was enough. */
static bool load_for(struct place *pl, unsigned turns)
{
	bool over = false;

	place_open(pl, RUNS / 2);
	load_begin(pl);
	for (; turns > 0 && !over; turns--) {
		turn(pl);
		over = !prefetch_loads(pl->pf);
	}
	return over;
}

/* The daemon ends, or its server is removed, after any number of turns; it may
 * have learned something by then. */
static void test_end_while_it_loads(void **state)
{
	(void)state;
	for (int learned = 0; learned < 2; learned++) {
		bool over = false;

		for (unsigned n = 0; !over; n++) {
			struct predictor *p;
			struct place pl;

			over = load_for(&pl, n);
			if (learned)
				learn(pl.pf->g.predictor, NEW, 3);
			/* It is not saved as it is. */
			if (!over) {
				prefetch_edited(pl.pf);
				assert_false(prefetch_settle(pl.pf));
				assert_null(pl.pf->save.gathered);
			}
			p = place_next(&pl);
			assert_true(knows(p, OLD));
			assert_true(knows(p, OLD + 2000));
			assert_true(knows(p, NEW) == learned);
			predictor_free(p);
		}
	}
}

/* It ends before anybody has looked whether the file is read. */
static void test_end_before_it_is_read(void **state)
{
	struct predictor *p;
	struct place pl;

	(void)state;
	place_open(&pl, 10);
	prefetch_save_open(pl.pf);
	learn(pl.pf->g.predictor, NEW, 3);
	p = place_next(&pl);
	assert_true(knows(p, OLD) && knows(p, NEW));
	predictor_free(p);
}

/* All is forgotten after any number of turns: nothing comes back. */
static void test_clear_while_it_loads(void **state)
{
	bool over = false;

	(void)state;
	for (unsigned n = 1; !over; n++) {
		struct predictor *p;
		struct place pl;

		over = load_for(&pl, n);
		assert_int_equal(prefetch_clear(pl.pf), 0);
		learn(pl.pf->g.predictor, NEW, 3);
		while (prefetch_loads(pl.pf))
			turn(&pl);
		p = place_next(&pl);
		assert_int_equal(predictor_trees(p, 10, NULL, 0), 3);
		assert_true(knows(p, NEW));
		predictor_free(p);
	}
}

/* The disk answers late: what the file has is added to what was learned. */
static void test_file_comes_late(void **state)
{
	struct predictor *p;
	struct place pl;

	(void)state;
	place_open(&pl, 10);
	pl.pf->save.path[0] = '\0';
	prefetch_save_open(pl.pf);
	assert_false(prefetch_loads(pl.pf));
	learn(pl.pf->g.predictor, NEW, 3);
	prefetch_set_file(pl.pf, pl.path);
	assert_true(prefetch_loads(pl.pf));
	prefetch_load_wait(pl.pf, MINUTE_US);
	assert_false(prefetch_loads(pl.pf));
	assert_true(knows(pl.pf->g.predictor, OLD));
	p = place_next(&pl);
	assert_true(knows(p, OLD) && knows(p, NEW));
	predictor_free(p);
}

/* A damaged one is set aside, and nothing waits for it. */
static void test_damaged(void **state)
{
	char aside[80];
	struct place pl;

	(void)state;
	place_open(&pl, 0);
	assert_int_equal(statefile_write(pl.path, "FFTREES\n", 8), 0);
	load_begin(&pl);
	assert_false(prefetch_loads(pl.pf));
	place_end(&pl);
	snprintf(aside, sizeof(aside), "%s.damaged", pl.path);
	assert_int_equal(unlink(aside), 0);
	place_remove(&pl);
}

/* ---- saving ------------------------------------------------------------- */

static int gate[2]; /* the pool's thread waits for it */

static void wait_run(struct iopool_job *job)
{
	char byte;

	(void)job;
	assert_int_equal(read(gate[0], &byte, 1), 1);
}

static void wait_done(struct iopool_job *job)
{
	(void)job;
}

/* The timer was set before the server had to leave; while the file waits for a
 * slow disk it must not hand the same job over once more. */
TEST(test_timer_rests_while_it_is_saved)
{
	struct iopool_job job = {.run = wait_run, .done = wait_done};
	struct prefetch *pf;
	struct place pl;

	(void)state;
	place_open(&pl, 0);
	pf = pl.pf;
	assert_int_equal(pipe(gate), 0);
	load_begin(&pl);
	iopool_submit(pf->g.iopool, &job);
	prefetch_edited(pf);
	/* All of it is one part. */
	assert_false(prefetch_settle(pf));
	assert_true(pf->save.works);
	assert_non_null(pf->save.gathered); /* the thread waits */
	assert_false(event_pending(pf->save.ev, EV_TIMEOUT, NULL));
	assert_int_equal(write(gate[1], "x", 1), 1);
	place_end(&pl);
	place_remove(&pl);
	close(gate[0]);
	close(gate[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_load_in_parts),
	    cmocka_unit_test(test_end_while_it_loads),
	    cmocka_unit_test(test_end_before_it_is_read),
	    cmocka_unit_test(test_clear_while_it_loads),
	    cmocka_unit_test(test_file_comes_late),
	    cmocka_unit_test(test_damaged),
	    cmocka_unit_test(test_timer_rests_while_it_is_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
