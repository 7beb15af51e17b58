/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of which kinds files are read, and which are only looked at; and that each
 * type of object needs what it has. */
#include "predictor/predictor.h"

#include "unittest.h"

#define MS 1000000ull

enum { NAMES = 64, OUT = 512, READ_EACH = 16 };

struct world {
	struct predictor *p;
	uint64_t now_ns;
	struct prediction out[OUT];
	size_t n;
};

/* One file in sixteen is of the kind that is read. */
static uint64_t kind_of(uint32_t i)
{
	return i % READ_EACH ? 1003 : 1017;
}

static void list(struct world *w, uint64_t dir)
{
	struct predictor_dirent ents[NAMES];

	for (uint32_t i = 0; i < NAMES; i++)
		ents[i] = (struct predictor_dirent){.object = dir * 1000 + i,
		    .name_hash = (dir * 1000 + i) * 31 + 5,
		    .type_hash = kind_of(i),
		    .rank = i};
	predictor_list(w->p, 0, dir, ents, NAMES);
}

static void use_as(struct world *w, enum predictor_kind kind, uint64_t dir,
    uint32_t i, bool directory)
{
	struct predictor_obs o = {.kind = kind,
	    .now_ns = w->now_ns,
	    .latency_ns = 10 * MS,
	    .actor = 7,
	    .object = dir * 1000 + i,
	    .parent = dir,
	    .name_hash = (dir * 1000 + i) * 31 + 5,
	    .type_hash = directory ? 0 : kind_of(i),
	    .directory = directory,
	    .count_bytes = 16384};

	predictor_observe(w->p, &o);
	w->n = predictor_predict(w->p, w->out, OUT);
	w->now_ns += 10 * MS + MS / 5;
}

static void use(
    struct world *w, enum predictor_kind kind, uint64_t dir, uint32_t i)
{
	use_as(w, kind, dir, i, false);
}

/* Of how many files of the other kind data was predicted just now. */
static unsigned data_told(const struct world *w)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += w->out[i].object % 1000 % READ_EACH != 0 &&
		     (w->out[i].needs & PREDICTOR_NEEDS_DATA);
	return n;
}

/* git looks at all files of a tree, and reads each .gitignore: of its
 * neighbours no data is predicted. */
TEST(test_looked_at_only)
{
	struct predictor_options opt = {0};
	struct world w = {.p = predictor_new(&opt), .now_ns = 1000 * MS};

	for (uint64_t dir = 1; dir <= 6; dir++) {
		list(&w, dir);
		for (uint32_t i = 0; i < NAMES; i++) {
			use(&w, PREDICTOR_LOOKUP, dir, i);
			if (i % READ_EACH == 0)
				use(&w, PREDICTOR_READ, dir, i);
			if (dir > 1)
				assert_int_equal(data_told(&w), 0);
		}
	}
	predictor_free(w.p);
}

static void judge_types(const struct world *w, unsigned *lists, unsigned *reads)
{
	for (size_t i = 0; i < w->n; i++) {
		bool is_dir = w->out[i].object < 1000;
		uint8_t listing = w->out[i].needs & PREDICTOR_NEEDS_LISTING;
		uint8_t data = w->out[i].needs & PREDICTOR_NEEDS_DATA;

		assert_int_equal(is_dir ? data : listing, 0);
		*lists += listing != 0;
		*reads += data != 0;
	}
}

/* Some look at directories and list them while others read files there: nobody
 * is told to list a file, or to read a directory. */
TEST(test_each_type_its_needs)
{
	enum { DIRS = 8, FILES = 20, CALLS = 4000 };
	static const enum predictor_kind kinds[2][4] = {
	    {PREDICTOR_GETATTR, PREDICTOR_LOOKUP, PREDICTOR_ACCESS,
		PREDICTOR_READ},
	    {PREDICTOR_READDIR, PREDICTOR_ACCESS, PREDICTOR_GETATTR,
		PREDICTOR_READDIR}};
	struct predictor_options opt = {0};
	struct world w = {.p = predictor_new(&opt), .now_ns = 1000 * MS};
	struct predictor_dirent ents[DIRS];
	unsigned lists = 0, reads = 0;

	for (uint32_t i = 0; i < DIRS; i++) {
		ents[i] = (struct predictor_dirent){.object = 100 + i,
		    .name_hash = (100 + i) * 31 + 5,
		    .rank = i,
		    .directory = true};
		list(&w, 100 + i);
	}
	predictor_list(w.p, 0, 0, ents, DIRS);
	srandom(7);
	for (int i = 0; i < CALLS; i++) {
		bool on_dir = random() % 8 == 0;
		uint32_t d = 100 + (uint32_t)random() % DIRS;

		use_as(&w, kinds[on_dir][random() % 4], on_dir ? 0 : d,
		    on_dir ? d : (uint32_t)random() % FILES, on_dir);
		judge_types(&w, &lists, &reads);
	}
	assert_true(lists > 0 && reads > 0);
	predictor_free(w.p);
}
