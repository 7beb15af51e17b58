/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What predictions say that an object needs, and what makes one access. */
#include "predictor/predictor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS 1000000ull

enum { DIR_KEY = 77, NEVER = 0 };
enum {
	NAME = PREDICTOR_NEEDS_NAME,
	ATTR = PREDICTOR_NEEDS_ATTR,
	GRANT = PREDICTOR_NEEDS_ACCESS,
	DATA = PREDICTOR_NEEDS_DATA,
	LISTING = PREDICTOR_NEEDS_LISTING,
	ABSENCE = PREDICTOR_NEEDS_ABSENCE,
	EXTENTS = PREDICTOR_NEEDS_EXTENTS,
};

struct world {
	struct predictor *p;
	uint64_t now_ns;
	uint64_t uid;
	struct prediction out[512];
	size_t n;
	/* All that was told since the last pause. */
	struct prediction told[512 * 64];
	size_t ntold;
};

static void world_begin(struct world *w, const struct predictor_options *opt)
{
	struct predictor_options plain = {0};

	*w = (struct world){
	    .p = predictor_new(opt ? opt : &plain), .now_ns = 1000 * MS};
	assert_non_null(w->p);
}

static void world_end(struct world *w)
{
	predictor_free(w->p);
}

/* A call of a process that waits 10 ms for its reply and thinks for 0.2. */
static void call(struct world *w, struct predictor_obs o)
{
	o.now_ns = w->now_ns;
	o.latency_ns = 10 * MS;
	o.actor = 7 + w->uid;
	o.uid = w->uid;
	if (o.kind == PREDICTOR_READ && !o.count_bytes)
		o.count_bytes = 16384;
	predictor_observe(w->p, &o);
	w->n = predictor_predict(w->p, w->out, 512);
	for (size_t i = 0; i < w->n && w->ntold < 512 * 64; i++)
		w->told[w->ntold++] = w->out[i];
	w->now_ns += 10 * MS + MS / 5;
}

static void named(struct world *w, enum predictor_kind kind, uint64_t object,
    uint64_t parent, bool directory)
{
	call(w, (struct predictor_obs){.kind = kind,
		    .object = object,
		    .parent = parent,
		    .name_hash = object * 31 + 5,
		    .directory = directory,
		    .size_bytes = 50000});
}

static void by_handle(
    struct world *w, enum predictor_kind kind, uint64_t object)
{
	call(w, (struct predictor_obs){
		    .kind = kind, .object = object, .size_bytes = 50000});
}

static void open_and_read(struct world *w, uint64_t object)
{
	named(w, PREDICTOR_LOOKUP, object, DIR_KEY, false);
	by_handle(w, PREDICTOR_ACCESS, object);
	by_handle(w, PREDICTOR_READ, object);
}

static void pause_run(struct world *w)
{
	w->now_ns += 2000 * MS;
	w->ntold = 0;
}

/* As it was told last. */
static const struct prediction *told(const struct world *w, uint64_t object)
{
	for (size_t i = w->ntold; i-- > 0;)
		if (w->told[i].object == object)
			return &w->told[i];
	return NULL;
}

static void assert_told(
    const struct world *w, uint64_t object, float p, unsigned needs)
{
	const struct prediction *t = told(w, object);

	if (!t)
		fail_msg("%lu is not predicted", (unsigned long)object);
	if (t->p < p)
		fail_msg("p %f", t->p);
	assert_int_equal(t->needs, needs);
}

static uint64_t count_events(const struct world *w)
{
	struct predictor_stats st;

	predictor_get_stats(w->p, &st);
	return st.events;
}

/* Three calls are one access; READs further on are of it too. */
static void test_one_access(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	for (uint64_t i = 0; i < 20; i++)
		open_and_read(&w, 100 + i);
	assert_int_equal(count_events(&w), 20);
	for (int i = 1; i < 50; i++)
		call(&w, (struct predictor_obs){.kind = PREDICTOR_READ,
			     .object = 100,
			     .offset_bytes = (uint64_t)i * 65536,
			     .count_bytes = 65536});
	assert_int_equal(count_events(&w), 20);
	/* Opened again later: another access. */
	by_handle(&w, PREDICTOR_GETATTR, 101);
	assert_int_equal(count_events(&w), 21);
	world_end(&w);
}

/* What the runs before asked for is what is told. */
static void test_needs(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 20; i++) {
			if (i % 2)
				open_and_read(&w, 100 + i);
			else
				named(&w, PREDICTOR_LOOKUP, 100 + i, DIR_KEY,
				    false);
		}
		pause_run(&w);
	}
	named(&w, PREDICTOR_LOOKUP, 100, DIR_KEY, false);
	assert_told(&w, 101, 0.3f, NAME | ATTR | GRANT | DATA);
	assert_told(&w, 102, 0.3f, NAME | ATTR);
	assert_int_equal(told(&w, 101)->parent, DIR_KEY);
	assert_int_equal(told(&w, 101)->first_bytes, 16384);
	assert_int_equal(told(&w, 102)->first_bytes, 0);
	assert_int_equal(told(&w, 101)->size_bytes, 50000);
	world_end(&w);
}

/* An open that nobody foresaw: at its LOOKUP the rest is told. */
static void test_rest_of_access(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	for (int run = 0; run < 3; run++) {
		open_and_read(&w, 100);
		for (uint64_t i = 0; i < 40; i++)
			open_and_read(&w, 1000 * (uint64_t)(run + 1) + i);
		pause_run(&w);
	}
	named(&w, PREDICTOR_LOOKUP, 100, DIR_KEY, false);
	assert_told(&w, 100, 0.3f, GRANT | DATA);
	by_handle(&w, PREDICTOR_ACCESS, 100);
	assert_int_equal(w.n, 0);
	world_end(&w);
}

/* `git status`: LOOKUP and GETATTR of every file, never a READ. */
static void test_attributes_only(void **state)
{
	enum { FILES = 2000 };
	struct world w;
	unsigned foretold = 0;

	(void)state;
	world_begin(&w, NULL);
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < FILES; i++) {
			named(
			    &w, PREDICTOR_LOOKUP, 10000 + i, 1 + i / 50, false);
			for (size_t j = 0; j < w.n && run == 2; j++) {
				assert_int_equal(w.out[j].needs & DATA, 0);
				foretold++;
			}
			by_handle(&w, PREDICTOR_GETATTR, 10000 + i);
		}
		pause_run(&w);
	}
	assert_true(foretold > FILES * 9 / 10);
	/* The first one alone foretells a good deal more than files that
	 * are read would be. */
	named(&w, PREDICTOR_LOOKUP, 10000, 1, false);
	named(&w, PREDICTOR_LOOKUP, 10001, 1, false);
	assert_told(&w, 10060, 0.3f, NAME | ATTR);
	world_end(&w);
}

static void list_dir(
    struct world *w, uint64_t dir, uint64_t first, uint32_t n, bool directories)
{
	struct predictor_dirent *ents = calloc(n, sizeof(*ents));

	/* READDIR gives the names in an order of its own. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rank = (i * 7) % n;

		ents[i] = (struct predictor_dirent){.object = first + rank,
		    .name_hash = (first + rank) * 31 + 5,
		    .rank = rank,
		    .directory = directories};
	}
	predictor_list(w->p, w->uid, dir, ents, n);
	free(ents);
}

/* A walk over what was never seen, in the order of READDIR or of names:
 * names and attributes are told ahead. */
static void walk(struct world *w, bool by_name, unsigned *foretold)
{
	enum { DIRS = 30, FILES = 50 };

	*foretold = 0;
	list_dir(w, 1, 100, DIRS, true);
	for (uint32_t d = 0; d < DIRS; d++) {
		uint64_t dir = 100 + (by_name ? d : d * 7 % DIRS);

		list_dir(w, dir, dir * 1000, FILES, false);
		named(w, PREDICTOR_LOOKUP, dir, 1, true);
		named(w, PREDICTOR_READDIR, dir, 1, true);
		for (uint32_t i = 0; i < FILES; i++) {
			uint64_t f = dir * 1000 + (by_name ? i : i * 7 % FILES);

			*foretold += told(w, f) && told(w, f)->p > 0.4f;
			named(w, PREDICTOR_LOOKUP, f, dir, false);
		}
	}
	for (size_t i = 0; i < w->ntold; i++)
		assert_int_equal(w->told[i].needs & DATA, 0);
	*foretold = *foretold * 100 / (DIRS * FILES);
}

static void test_walk_unseen(void **state)
{
	unsigned foretold;
	struct world w;

	(void)state;
	for (int by_name = 0; by_name < 2; by_name++) {
		world_begin(&w, NULL);
		walk(&w, by_name, &foretold);
		if (foretold < 90)
			fail_msg("by_name=%d: %u%%", by_name, foretold);
		world_end(&w);
	}
}

/* A place in a longer listing means nothing in a shorter one: the sanitizers
 * judge. */
static void test_listing_that_shrank(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	list_dir(&w, 1, 100, 40, false);
	for (uint64_t f = 100; f < 120; f++)
		named(&w, PREDICTOR_LOOKUP, f, 1, false);
	list_dir(&w, 1, 100, 1, false);
	for (uint64_t f = 138; f >= 120; f--)
		named(&w, PREDICTOR_LOOKUP, f, 1, false);
	world_end(&w);
}

/* A walk asks for the listings of the directories that come next. */
static void test_walk_listings(void **state)
{
	unsigned wanted = 0;
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	list_dir(&w, 1, 100, 40, true);
	for (uint64_t d = 100; d < 140; d++) {
		wanted += told(&w, d) && told(&w, d)->needs & LISTING;
		named(&w, PREDICTOR_LOOKUP, d, 1, true);
		named(&w, PREDICTOR_READDIR, d, 1, true);
	}
	assert_true(wanted >= 35);
	world_end(&w);
}

static void list_package(struct world *w, uint64_t dir)
{
	struct predictor_dirent ents[2] = {
	    {.object = dir * 1000 + 1, .name_hash = 4711, .rank = 0},
	    {.object = dir * 1000 + 2, .name_hash = 4712, .rank = 1}};

	predictor_list(w->p, 0, dir, ents, 2);
}

/* The same name in every directory, of which none was seen before: after a
 * few of them the next are told. Directories that are not listed are. */
static void test_analogy(void **state)
{
	unsigned foretold = 0, wanted = 0;
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	list_dir(&w, 1, 100, 40, true);
	for (uint64_t d = 100; d < 130; d++)
		list_package(&w, d);
	for (uint64_t d = 100; d < 140; d++) {
		foretold += told(&w, d * 1000 + 1) != NULL;
		for (size_t i = 0; i < w.ntold && d >= 130; i++) {
			if (w.told[i].object == d &&
			    w.told[i].needs & LISTING) {
				wanted++;
				break;
			}
		}
		call(&w, (struct predictor_obs){.kind = PREDICTOR_READ,
			     .object = d * 1000 + 1,
			     .parent = d,
			     .name_hash = 4711,
			     .size_bytes = 100});
	}
	assert_true(foretold >= 20);
	assert_true(wanted >= 8);
	world_end(&w);
}

/* The search path of an interpreter: absent in two directories, found in
 * the third. Names that were absent come with their directory. */
static void test_absent(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 15; i++) {
			named(&w, PREDICTOR_ABSENT, 2000 + i, 2, false);
			named(&w, PREDICTOR_ABSENT, 3000 + i, 3, false);
			named(&w, PREDICTOR_LOOKUP, 4000 + i, 4, false);
		}
		pause_run(&w);
	}
	named(&w, PREDICTOR_ABSENT, 2000, 2, false);
	assert_told(&w, 3000, 0.3f, ABSENCE);
	assert_int_equal(told(&w, 3000)->parent, 3);
	assert_told(&w, 4001, 0.3f, NAME | ATTR);
	world_end(&w);
}

/* The name comes to be: what was absent is an object now, and back. */
static void test_absent_no_more(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 10; i++)
			named(&w, PREDICTOR_ABSENT, 2000 + i, 2, false);
		pause_run(&w);
	}
	call(&w, (struct predictor_obs){.kind = PREDICTOR_LOOKUP,
		     .object = 555,
		     .parent = 2,
		     .name_hash = 2001 * 31 + 5});
	pause_run(&w);
	named(&w, PREDICTOR_ABSENT, 2000, 2, false);
	assert_null(told(&w, 2001));
	assert_null(
	    told(&w, 555) && told(&w, 555)->needs & ABSENCE ? w.p : NULL);
	assert_told(&w, 2002, 0.15f, ABSENCE);
	world_end(&w);
}

/* Nothing is told within the window after its call, and again after it. */
static void test_recent(void **state)
{
	struct predictor_options opt = {.recent_ns = 3000 * MS};
	struct world w;
	uint64_t last[20] = {0};
	unsigned again = 0;

	(void)state;
	world_begin(&w, &opt);
	/* Twenty objects in turn, 0.51 s a turn, then 5.1 s. */
	for (int turn = 0; turn < 200; turn++) {
		for (uint64_t i = 0; i < 20; i++) {
			if (turn > 100)
				w.now_ns += 240 * MS;
			last[i] = w.now_ns;
			by_handle(&w, PREDICTOR_GETATTR, 100 + i);
			for (size_t j = 0; j < w.n; j++) {
				uint64_t at = last[w.out[j].object - 100];

				assert_true(at + 3000 * MS <= w.now_ns);
				again++;
			}
		}
	}
	assert_true(again > 1000);
	world_end(&w);
}

/* How soon after its call an object is told at the earliest, where twenty of
 * them are called in turn. */
static uint64_t told_after_ms(struct world *w, uint64_t step_ms)
{
	uint64_t last_ns[20] = {0}, soonest_ns = UINT64_MAX;

	for (uint64_t i = 0; i < 20 * 100; i++) {
		w->now_ns += step_ms * MS;
		last_ns[i % 20] = w->now_ns;
		by_handle(w, PREDICTOR_GETATTR, 100 + i % 20);
		for (size_t j = 0; j < w->n; j++) {
			uint64_t at = last_ns[w->out[j].object - 100];

			if (at > 0 && w->now_ns - at < soonest_ns)
				soonest_ns = w->now_ns - at;
		}
	}
	return soonest_ns / MS;
}

/* A reload may change the window. */
static void test_recent_is_changed(void **state)
{
	struct predictor_options opt = {.recent_ns = 3000 * MS};
	struct world w;

	(void)state;
	world_begin(&w, &opt);
	assert_in_range(told_after_ms(&w, 200), 3000, 4000);
	predictor_set_recent(w.p, 1000 * MS);
	assert_in_range(told_after_ms(&w, 200), 1000, 2000);
	predictor_set_recent(w.p, 3500 * MS);
	assert_in_range(told_after_ms(&w, 200), 3500, 4000);
	world_end(&w);
}

/* A run with so long between its calls: for how long at most the last telling
 * of an object was over when that was called. */
static uint64_t told_before_ms(struct world *w, uint64_t step_ms)
{
	uint64_t told_ns[60] = {0}, longest_ns = 0;

	for (uint64_t i = 0; i < 60; i++) {
		w->now_ns += step_ms * MS;
		if (i >= 20 && i < 59 && w->now_ns - told_ns[i] > longest_ns)
			longest_ns = w->now_ns - told_ns[i];
		by_handle(w, PREDICTOR_GETATTR, 100 + i);
		for (size_t j = 0; j < w->n; j++)
			if (w->out[j].object > 100 + i)
				told_ns[w->out[j].object - 100] = w->now_ns;
	}
	return longest_ns / MS;
}

/* A job that has become slow is told again what was told too long ago. */
static void test_renewed(void **state)
{
	struct predictor_options opt = {.recent_ns = 1500 * MS};
	struct world w;

	(void)state;
	world_begin(&w, &opt);
	for (int run = 0; run < 5; run++) {
		(void)told_before_ms(&w, 10);
		pause_run(&w);
	}
	/* Two calls ahead, if it was long ago then. */
	assert_in_range(told_before_ms(&w, 400), 1, 1500 + 3 * 400);
	world_end(&w);
}

static bool may_calls;

static bool may(void *ctx, uint64_t uid, uint64_t parent, uint64_t object)
{
	(void)object;
	may_calls = true;
	assert_ptr_equal(ctx, &may_calls);
	return uid == 20 && parent == DIR_KEY;
}

/* What uid 10 did, 20 may profit from and 30 may not. */
static void test_wall(void **state)
{
	struct predictor_options opt = {
	    .may_search = may, .may_search_ctx = &may_calls};
	struct predictor_stats st;
	struct world w;

	(void)state;
	world_begin(&w, &opt);
	w.uid = 10;
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 20; i++)
			open_and_read(&w, 100 + i);
		pause_run(&w);
	}
	assert_false(may_calls);
	w.uid = 20;
	open_and_read(&w, 100);
	open_and_read(&w, 101);
	assert_true(told(&w, 105) != NULL);
	w.uid = 30;
	for (uint64_t i = 0; i < 10; i++) {
		open_and_read(&w, 100 + i);
		assert_int_equal(w.n, 0);
	}
	predictor_get_stats(w.p, &st);
	assert_true(st.walled > 0);
	world_end(&w);
}

/* Without a check nobody profits from another; listings are walled too. */
static void test_wall_closed(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, NULL);
	w.uid = 10;
	list_dir(&w, DIR_KEY, 100, 40, false);
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 20; i++)
			open_and_read(&w, 100 + i);
		pause_run(&w);
	}
	for (w.uid = 11; w.uid < 60; w.uid++) {
		for (uint64_t i = 0; i < 6; i++) {
			named(&w, PREDICTOR_LOOKUP, 100 + i, DIR_KEY, false);
			for (size_t j = 0; j < w.n; j++)
				assert_in_range(w.out[j].object, 100, 100 + i);
		}
	}
	w.uid = 10;
	pause_run(&w);
	open_and_read(&w, 100);
	open_and_read(&w, 101);
	assert_true(count_events(&w) > 60);
	world_end(&w);
}

/* As a linker does: it looks at all its files, and then it reads them. */
static void look_then(struct world *w, bool read)
{
	struct predictor_options opt = {.recent_ns = 1500 * MS};

	world_begin(w, &opt);
	for (uint64_t i = 0; i < 60; i++)
		named(w, PREDICTOR_LOOKUP, 100 + i, DIR_KEY, false);
	pause_run(w);
	for (uint64_t i = 0; i < 10; i++) {
		by_handle(w, PREDICTOR_ACCESS, 100 + i);
		if (read)
			by_handle(w, PREDICTOR_READ, 100 + i);
	}
}

static void test_looks_then_reads(void **state)
{
	struct world w;

	(void)state;
	look_then(&w, true);
	assert_non_null(told(&w, 115));
	assert_true(told(&w, 115)->needs & DATA);
	world_end(&w);
	/* Where it only looks again, data is not wanted. */
	look_then(&w, false);
	assert_non_null(told(&w, 115));
	assert_false(told(&w, 115)->needs & DATA);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_access),
	    cmocka_unit_test(test_needs),
	    cmocka_unit_test(test_rest_of_access),
	    cmocka_unit_test(test_attributes_only),
	    cmocka_unit_test(test_looks_then_reads),
	    cmocka_unit_test(test_walk_unseen),
	    cmocka_unit_test(test_listing_that_shrank),
	    cmocka_unit_test(test_walk_listings),
	    cmocka_unit_test(test_analogy),
	    cmocka_unit_test(test_absent),
	    cmocka_unit_test(test_absent_no_more),
	    cmocka_unit_test(test_recent),
	    cmocka_unit_test(test_recent_is_changed),
	    cmocka_unit_test(test_renewed),
	    cmocka_unit_test(test_wall),
	    cmocka_unit_test(test_wall_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
