/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a file is read, by its kind. */
#include "unittest.h"
#include "prefetch/sources/kinds.h"

enum {
	JS = 11,
	SO = 22,
	KIB = 1024,
	MIB = 1024 * 1024,
	FIRST = 16 * KIB, /* of which a client reads the beginning at once */
};

static const uint64_t SECOND = 1000000;

struct world {
	struct kinds *k;
	uint64_t next, now_us;
};

static void setup(struct world *w)
{
	w->k = kinds_new();
	w->next = 1;
	w->now_us = 100 * SECOND;
}

static void teardown(struct world *w)
{
	kinds_free(w->k);
}

static struct kinds_file new_file(
    struct world *w, uint16_t type, uint64_t size_bytes)
{
	return (struct kinds_file){.object = w->next++,
	    .type = type,
	    .size_bytes = size_bytes,
	    .now_us = w->now_us};
}

static double rest_of(struct world *w, uint16_t type, uint64_t size_bytes)
{
	struct kinds_file f = new_file(w, type, size_bytes);

	return kinds_rest(w->k, &f);
}

/* `n` files, of each the beginning, and `percent` of what follows. */
static void read_files(struct world *w, uint16_t type, uint64_t size_bytes,
    unsigned percent, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct kinds_file f = new_file(w, type, size_bytes);
		uint64_t rest = (size_bytes - FIRST) * percent / 100;

		(void)kinds_seen(w->k, &f, 0, FIRST);
		if (rest > 0)
			(void)kinds_seen(w->k, &f, FIRST, (uint32_t)rest);
	}
}

/* Until what was read counts. */
static void be_over(struct world *w)
{
	w->now_us += 60 * SECOND;
	for (int i = 0; i < 1000; i++)
		kinds_age(w->k, w->now_us);
}

FIXTURE(struct world, setup, teardown);

/* ---- what is usual ---------------------------------------------------- */

TEST(test_usual, struct world *w)
{
	assert_true(rest_of(w, JS, 40 * KIB) > .8);
	assert_true(rest_of(w, JS, 128 * KIB) > .7);
	assert_true(rest_of(w, SO, 30 * MIB) < .1);
	/* The larger, the less of it. */
	for (uint64_t size = 20 * KIB; size < 20 * MIB; size *= 4)
		assert_true(rest_of(w, SO, size) > rest_of(w, SO, size * 4));
}

/* ---- learning --------------------------------------------------------- */

TEST(test_read_whole, struct world *w)
{
	read_files(w, JS, 2 * MIB, 100, 10);
	/* It was whole, so it counts at once. */
	assert_true(rest_of(w, JS, 2 * MIB) > .85);
}

TEST(test_read_in_part, struct world *w)
{
	read_files(w, SO, 2 * MIB, 20, 10);
	be_over(w);
	assert_true(rest_of(w, SO, 2 * MIB) > .15);
	assert_true(rest_of(w, SO, 2 * MIB) < .3);
}

TEST(test_only_beginnings, struct world *w)
{
	read_files(w, SO, 100 * KIB, 0, 12);
	be_over(w);
	assert_true(rest_of(w, SO, 100 * KIB) < .15);
}

/* The sizes of all files give the first guess for a new kind; the kind's own
 * files soon give a better one. */
TEST(test_kinds_differ, struct world *w)
{
	double before = rest_of(w, JS, 100 * KIB);

	read_files(w, SO, 100 * KIB, 0, 12);
	be_over(w);
	assert_true(rest_of(w, JS, 100 * KIB) < before / 2);
	read_files(w, JS, 100 * KIB, 100, 12);
	assert_true(rest_of(w, JS, 100 * KIB) > .8);
	be_over(w);
	assert_true(rest_of(w, SO, 100 * KIB) < .15);
}

TEST(test_forgets, struct world *w)
{
	read_files(w, JS, 100 * KIB, 0, 200);
	be_over(w);
	assert_true(rest_of(w, JS, 100 * KIB) < .05);
	read_files(w, JS, 100 * KIB, 100, 60);
	assert_true(rest_of(w, JS, 100 * KIB) > .7);
}

/* It was over, and then was read on: that counts for the same reading. */
TEST(test_goes_on_later, struct world *w)
{
	struct kinds_file files[20];

	for (int i = 0; i < 20; i++) {
		files[i] = new_file(w, SO, 2 * MIB);
		(void)kinds_seen(w->k, &files[i], 0, FIRST);
		(void)kinds_seen(w->k, &files[i], MIB, 64 * KIB);
	}
	be_over(w);
	assert_true(rest_of(w, SO, 2 * MIB) < .15);
	for (int i = 0; i < 20; i++) {
		files[i].now_us = w->now_us;
		(void)kinds_seen(w->k, &files[i], MIB + 64 * KIB, 960 * KIB);
		(void)kinds_seen(w->k, &files[i], FIRST, MIB - FIRST);
	}
	be_over(w);
	assert_true(rest_of(w, SO, 2 * MIB) > .7);
}

/* ---- a file that is being read ---------------------------------------- */

TEST(test_being_read, struct world *w)
{
	struct kinds_file f;
	double begun, on;

	read_files(w, SO, 100 * KIB, 0, 6);
	be_over(w);
	f = new_file(w, SO, 100 * KIB);
	assert_true(kinds_seen(w->k, &f, 0, FIRST));
	begun = kinds_rest(w->k, &f);
	assert_true(begun < .3);
	assert_true(kinds_seen(w->k, &f, FIRST, 4 * KIB));
	on = kinds_rest(w->k, &f);
	assert_true(on > 2 * begun);
	/* That was said. */
	assert_false(kinds_seen(w->k, &f, FIRST + 4 * KIB, 4 * KIB));
}

/* A mapped file: three places of it are news, further ones are not. */
TEST(test_places, struct world *w)
{
	struct kinds_file f = new_file(w, SO, 8 * MIB);

	assert_true(kinds_seen(w->k, &f, 0, 4 * KIB));
	assert_true(kinds_seen(w->k, &f, 4 * MIB, 64 * KIB));
	assert_true(kinds_seen(w->k, &f, 2 * MIB, 64 * KIB));
	assert_false(kinds_seen(w->k, &f, 6 * MIB, 64 * KIB));
	assert_false(kinds_seen(w->k, &f, 3 * MIB, 64 * KIB));
}

/* How much of it is read is known, and not a matter of its kind. */
TEST(test_read_before, struct world *w)
{
	struct kinds_file f = new_file(w, JS, 100 * KIB);

	f.read = true;
	assert_true(kinds_rest(w->k, &f) <= 0);
	(void)kinds_seen(w->k, &f, 0, FIRST);
	assert_true(kinds_rest(w->k, &f) <= 0);
	/* A reading that was the first one ends. */
	f = new_file(w, JS, 100 * KIB);
	(void)kinds_seen(w->k, &f, 0, FIRST);
	f.read = true;
	assert_true(kinds_rest(w->k, &f) > 0);
	f.now_us += 60 * SECOND;
	assert_true(kinds_rest(w->k, &f) <= 0);
	(void)kinds_seen(w->k, &f, 0, FIRST);
	assert_true(kinds_rest(w->k, &f) <= 0);
}

/* ---- bad input -------------------------------------------------------- */

TEST(test_odd_files, struct world *w)
{
	struct kinds_file f = new_file(w, JS, 0);

	(void)kinds_seen(w->k, &f, 0, FIRST);
	f = new_file(w, JS, 5);
	(void)kinds_seen(w->k, &f, UINT64_MAX - 10, UINT32_MAX);
	(void)kinds_seen(w->k, &f, UINT64_MAX, 0);
	f = new_file(w, JS, UINT64_MAX);
	(void)kinds_seen(w->k, &f, 0, UINT32_MAX);
	(void)kinds_seen(w->k, &f, UINT64_MAX - 10, UINT32_MAX);
	/* The same bytes again and again are not more of it. */
	f = new_file(w, SO, 10 * MIB);
	for (int i = 0; i < 10000; i++)
		(void)kinds_seen(w->k, &f, MIB, 128 * KIB);
	be_over(w);
	for (uint16_t type = 0; type < 1000; type++)
		for (uint64_t size = 1; size < UINT64_MAX / 8; size *= 8) {
			double p = rest_of(w, type, size);

			assert_true(p >= 0 && p <= 1);
		}
}
