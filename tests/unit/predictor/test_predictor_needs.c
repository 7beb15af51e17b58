/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Predictions say what an object needs, and several calls make one access. */
#include "predictor/needs_fixture.h"

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

FIXTURE(struct world, world_open, world_end);

/* Three calls are one access; READs further on are of it too. */
TEST(test_one_access, struct world *w)
{
	for (uint64_t i = 0; i < 20; i++)
		open_and_read(w, 100 + i);
	assert_int_equal(count_events(w), 20);
	for (int i = 1; i < 50; i++)
		call(w, (struct predictor_obs){.kind = PREDICTOR_READ,
			    .object = 100,
			    .offset_bytes = (uint64_t)i * 65536,
			    .count_bytes = 65536});
	assert_int_equal(count_events(w), 20);
	/* Opened again later: another access. */
	by_handle(w, PREDICTOR_GETATTR, 101);
	assert_int_equal(count_events(w), 21);
}

/* The predictor tells of each object the needs that earlier runs had of it. */
TEST(test_needs, struct world *w)
{
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 20; i++) {
			if (i % 2)
				open_and_read(w, 100 + i);
			else
				named(w, PREDICTOR_LOOKUP, 100 + i, DIR_KEY,
				    false);
		}
		pause_run(w);
	}
	named(w, PREDICTOR_LOOKUP, 100, DIR_KEY, false);
	assert_told(w, 101, 0.3f, NAME | ATTR | GRANT | DATA);
	assert_told(w, 102, 0.3f, NAME | ATTR);
	assert_int_equal(told(w, 101)->parent, DIR_KEY);
	assert_int_equal(told(w, 101)->first_bytes, 16384);
	assert_int_equal(told(w, 102)->first_bytes, 0);
	assert_int_equal(told(w, 101)->size_bytes, 50000);
}

/* An open that nobody foresaw: at its LOOKUP the rest is told. */
TEST(test_rest_of_access, struct world *w)
{
	for (int run = 0; run < 3; run++) {
		open_and_read(w, 100);
		for (uint64_t i = 0; i < 40; i++)
			open_and_read(w, 1000 * (uint64_t)(run + 1) + i);
		pause_run(w);
	}
	named(w, PREDICTOR_LOOKUP, 100, DIR_KEY, false);
	assert_told(w, 100, 0.3f, GRANT | DATA);
	by_handle(w, PREDICTOR_ACCESS, 100);
	assert_int_equal(w->n, 0);
}

/* `git status`: LOOKUP and GETATTR of every file, never a READ. */
TEST(test_attributes_only, struct world *w)
{
	enum { FILES = 2000 };
	unsigned foretold = 0;

	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < FILES; i++) {
			named(
			    w, PREDICTOR_LOOKUP, 10000 + i, 1 + i / 50, false);
			for (size_t j = 0; j < w->n && run == 2; j++) {
				assert_int_equal(w->out[j].needs & DATA, 0);
				foretold++;
			}
			by_handle(w, PREDICTOR_GETATTR, 10000 + i);
		}
		pause_run(w);
	}
	assert_true(foretold > FILES * 9 / 10);
	/* The first one alone foretells a good deal more than files that
	 * are read would be. */
	named(w, PREDICTOR_LOOKUP, 10000, 1, false);
	named(w, PREDICTOR_LOOKUP, 10001, 1, false);
	assert_told(w, 10060, 0.3f, NAME | ATTR);
}

static void list_dir(
    struct world *w, uint64_t dir, uint64_t first, uint32_t n, bool directories)
{
	FREED struct predictor_dirent *ents = calloc(n, sizeof(*ents));

	/* READDIR gives the names in an order of its own. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rank = (i * 7) % n;

		ents[i] = (struct predictor_dirent){.object = first + rank,
		    .name_hash = (first + rank) * 31 + 5,
		    .rank = rank,
		    .directory = directories};
	}
	predictor_list(w->p, w->uid, dir, ents, n);
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

TEST(test_walk_unseen)
{
	unsigned foretold;
	struct world w;

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
TEST(test_listing_that_shrank, struct world *w)
{
	list_dir(w, 1, 100, 40, false);
	for (uint64_t f = 100; f < 120; f++)
		named(w, PREDICTOR_LOOKUP, f, 1, false);
	list_dir(w, 1, 100, 1, false);
	for (uint64_t f = 138; f >= 120; f--)
		named(w, PREDICTOR_LOOKUP, f, 1, false);
}

/* A walk asks for the listings of the directories that come next. */
TEST(test_walk_listings, struct world *w)
{
	unsigned wanted = 0;

	list_dir(w, 1, 100, 40, true);
	for (uint64_t d = 100; d < 140; d++) {
		wanted += told(w, d) && told(w, d)->needs & LISTING;
		named(w, PREDICTOR_LOOKUP, d, 1, true);
		named(w, PREDICTOR_READDIR, d, 1, true);
	}
	assert_true(wanted >= 35);
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
TEST(test_analogy, struct world *w)
{
	unsigned foretold = 0, wanted = 0;

	list_dir(w, 1, 100, 40, true);
	for (uint64_t d = 100; d < 130; d++)
		list_package(w, d);
	for (uint64_t d = 100; d < 140; d++) {
		foretold += told(w, d * 1000 + 1) != NULL;
		for (size_t i = 0; i < w->ntold && d >= 130; i++) {
			if (w->told[i].object == d &&
			    w->told[i].needs & LISTING) {
				wanted++;
				break;
			}
		}
		call(w, (struct predictor_obs){.kind = PREDICTOR_READ,
			    .object = d * 1000 + 1,
			    .parent = d,
			    .name_hash = 4711,
			    .size_bytes = 100});
	}
	assert_true(foretold >= 20);
	assert_true(wanted >= 8);
}

/* The search path of an interpreter: absent in two directories, found in
 * the third. Names that were absent come with their directory. */
TEST(test_absent, struct world *w)
{
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 15; i++) {
			named(w, PREDICTOR_ABSENT, 2000 + i, 2, false);
			named(w, PREDICTOR_ABSENT, 3000 + i, 3, false);
			named(w, PREDICTOR_LOOKUP, 4000 + i, 4, false);
		}
		pause_run(w);
	}
	named(w, PREDICTOR_ABSENT, 2000, 2, false);
	assert_told(w, 3000, 0.3f, ABSENCE);
	assert_int_equal(told(w, 3000)->parent, 3);
	assert_told(w, 4001, 0.3f, NAME | ATTR);
}

/* The name comes to be: what was absent is an object now, and back. */
TEST(test_absent_no_more, struct world *w)
{
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 10; i++)
			named(w, PREDICTOR_ABSENT, 2000 + i, 2, false);
		pause_run(w);
	}
	call(w, (struct predictor_obs){.kind = PREDICTOR_LOOKUP,
		    .object = 555,
		    .parent = 2,
		    .name_hash = 2001 * 31 + 5});
	pause_run(w);
	named(w, PREDICTOR_ABSENT, 2000, 2, false);
	assert_null(told(w, 2001));
	assert_null(
	    told(w, 555) && told(w, 555)->needs & ABSENCE ? w->p : NULL);
	assert_told(w, 2002, 0.15f, ABSENCE);
}

static bool may_calls;

static bool may(void *ctx, uint64_t uid, uint64_t parent, uint64_t object)
{
	(void)object;
	may_calls = true;
	assert_ptr_equal(ctx, &may_calls);
	return uid == 20 && parent == DIR_KEY;
}

/* Uid 20 may profit from what uid 10 did, and uid 30 may not. */
TEST(test_wall, struct world *w)
{
	struct predictor_options opt = {
	    .may_search = may, .may_search_ctx = &may_calls};
	struct predictor_stats st;

	world_end(w);
	world_begin(w, &opt);
	w->uid = 10;
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 20; i++)
			open_and_read(w, 100 + i);
		pause_run(w);
	}
	assert_false(may_calls);
	w->uid = 20;
	open_and_read(w, 100);
	open_and_read(w, 101);
	assert_true(told(w, 105) != NULL);
	w->uid = 30;
	for (uint64_t i = 0; i < 10; i++) {
		open_and_read(w, 100 + i);
		assert_int_equal(w->n, 0);
	}
	predictor_get_stats(w->p, &st);
	assert_true(st.walled > 0);
}

/* Without a check nobody profits from another; listings are walled too. */
TEST(test_wall_closed, struct world *w)
{
	w->uid = 10;
	list_dir(w, DIR_KEY, 100, 40, false);
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < 20; i++)
			open_and_read(w, 100 + i);
		pause_run(w);
	}
	for (w->uid = 11; w->uid < 60; w->uid++) {
		for (uint64_t i = 0; i < 6; i++) {
			named(w, PREDICTOR_LOOKUP, 100 + i, DIR_KEY, false);
			for (size_t j = 0; j < w->n; j++)
				assert_in_range(w->out[j].object, 100, 100 + i);
		}
	}
	w->uid = 10;
	pause_run(w);
	open_and_read(w, 100);
	open_and_read(w, 101);
	assert_true(count_events(w) > 60);
}

/* As a linker does: it looks at all its files, and then it reads them. */
static void look_then(struct world *w, bool read)
{
	world_begin(w, NULL);
	w->recent_ns = 1500 * MS;
	for (uint64_t i = 0; i < 60; i++)
		named(w, PREDICTOR_LOOKUP, 100 + i, DIR_KEY, false);
	pause_run(w);
	for (uint64_t i = 0; i < 10; i++) {
		by_handle(w, PREDICTOR_ACCESS, 100 + i);
		if (read)
			by_handle(w, PREDICTOR_READ, 100 + i);
	}
}

TEST(test_looks_then_reads)
{
	struct world w;

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

/* Whoever goes through a directory asks for its rights, and for none of the
 * files that it looks at there. */
TEST(test_rights_of_a_directory, struct world *w)
{
	struct predictor_dirent ents[80];
	unsigned told = 0;

	for (uint32_t i = 0; i < 80; i++)
		ents[i] = (struct predictor_dirent){.object = 1000 + i,
		    .name_hash = (1000 + i) * 31 + 5,
		    .rank = i,
		    .directory = i % 8 == 7};
	predictor_list(w->p, w->uid, DIR_KEY, ents, 80);
	for (uint64_t i = 0; i < 40; i++) {
		bool dir = i % 8 == 7;

		named(w, dir ? PREDICTOR_ACCESS : PREDICTOR_LOOKUP, 1000 + i,
		    DIR_KEY, dir);
	}
	for (size_t i = 0; i < w->ntold; i++) {
		uint64_t rank = w->told[i].object - 1000;

		if (rank >= 80 || rank % 8 == 7)
			continue;
		assert_int_equal(w->told[i].needs & GRANT, 0);
		told++;
	}
	assert_true(told > 20);
}
