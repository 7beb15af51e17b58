/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that say by what they are called, and of which kind they are, whether
 * they will be used: in directories that nobody used before. */

#include <xxhash.h>

#include "learn_fixture.h"

enum { NAMES_MAX = 32, PACKAGES = 60 };

struct file {
	const char *name;
	bool directory;
};

static uint64_t hash(const char *s)
{
	return XXH3_64bits(s, strlen(s));
}

static uint64_t type_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name ? hash(dot + 1) | 1 : 0;
}

/* The object of that name in directory `dir`. */
static uint64_t object(uint64_t dir, const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), dir) | 1;
}

static void list(
    struct world *w, uint64_t dir, const struct file *files, uint32_t n)
{
	struct predictor_dirent ents[NAMES_MAX];

	for (uint32_t i = 0; i < n; i++)
		ents[i] = (struct predictor_dirent){
		    .object = object(dir, files[i].name),
		    .name_hash = hash(files[i].name),
		    .type_hash =
			files[i].directory ? 0 : type_of(files[i].name),
		    .size_bytes = files[i].directory ? 0 : 1000,
		    .rank = i,
		    .directory = files[i].directory};
	predictor_list(w->p, 0, dir, ents, n);
}

static void use(struct world *w, uint64_t dir, const char *name)
{
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .now_ns = w->now_ns,
	    .latency_ns = 10 * MS,
	    .actor = 7,
	    .object = object(dir, name),
	    .parent = dir,
	    .name_hash = hash(name),
	    .type_hash = type_of(name),
	    .size_bytes = 1000};

	predictor_observe(w->p, &o);
	w->n = predictor_predict(w->p, w->out, 256);
	w->now_ns += 10 * MS + MS / 5;
}

/* Returns the probability with which that name was told just now; 0 if it was
 * not. */
static float told(const struct world *w, uint64_t dir, const char *name)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->out[i].object == object(dir, name))
			return w->out[i].p;
	return 0;
}

static const struct file package[] = {{"LICENSE", false}, {"README.md", false},
    {"index.js", false}, {"lib", true}, {"package.json", false},
    {"test", true}};

FIXTURE(struct world, world_open, world_end);

/* The very first use of all: what is shipped knows the names. */
TEST(test_common_names, struct world *w)
{
	list(w, 1, package, 6);
	use(w, 1, "package.json");
	assert_true(told(w, 1, "index.js") > 0.3f);
	assert_true(told(w, 1, "LICENSE") < 0.1f);
	assert_true(told(w, 1, "lib") > told(w, 1, "test"));
}

/* The objects in a directory that is likely to be entered are told, too; if its
 * listing is not known, that comes first. */
TEST(test_below, struct world *w)
{
	static const struct file lib[] = {
	    {"index.js", false}, {"index.js.map", false}, {"util.js", false}};
	uint8_t needs = 0;
	uint64_t below = object(1, "lib");

	list(w, 1, package, 6);
	use(w, 1, "package.json");
	for (size_t i = 0; i < w->n; i++)
		if (w->out[i].object == below)
			needs = w->out[i].needs;
	assert_true(needs & PREDICTOR_NEEDS_LISTING);
	list(w, below, lib, 3);
	use(w, 1, "index.js");
	assert_true(told(w, below, "index.js") > 0.1f);
	assert_true(
	    told(w, below, "index.js") > told(w, below, "index.js.map"));
}

/* Names that nobody shipped: what one directory was used for holds in the
 * next. */
TEST(test_learned, struct world *w)
{
	static const struct file files[] = {{"agenda.zz", false},
	    {"begin.zz", false}, {"middle.yy", false}, {"never.zz", false},
	    {"tail.zz", false}, {"unused.yy", false}};

	for (uint64_t dir = 1; dir <= 200; dir++) {
		list(w, dir, files, 6);
		use(w, dir, "begin.zz");
		if (dir < 200)
			use(w, dir, "tail.zz");
	}
	assert_true(told(w, 200, "tail.zz") > 0.7f);
	assert_true(told(w, 200, "never.zz") < 0.15f);
	assert_true(told(w, 200, "unused.yy") < 0.15f);
}

/* Accesses of a first run over packages that were told ahead with more than
 * `sure`. */
static unsigned packages_told(struct world *w, float sure)
{
	unsigned ahead = 0;

	for (uint64_t dir = 1000; dir < 1000 + PACKAGES; dir++) {
		list(w, dir, package, 6);
		use(w, dir, "package.json");
		ahead += told(w, dir, "index.js") > sure;
		use(w, dir, "index.js");
	}
	return ahead;
}

/* A job that uses one module of each directory, whichever it is. */
static void other_job(struct world *w, const char *suffix)
{
	enum { MODULES = 14, DIRECTORIES = 800 };
	static char names[MODULES][16];
	struct file modules[MODULES];
	uint32_t x = 1;

	for (int i = 0; i < MODULES; i++) {
		snprintf(names[i], sizeof(names[i]), "%c.%s", 'a' + i, suffix);
		modules[i] = (struct file){names[i], false};
	}
	for (uint64_t dir = 1; dir < DIRECTORIES; dir++) {
		list(w, dir, modules, MODULES);
		x = x * 1103515245 + 12345;
		use(w, dir, modules[(x >> 8) % MODULES].name);
	}
	pause_run(w);
}

/* The lessons of one job do not spoil the first run of another, or hardly do
 * where both are about the same kinds of files. */
TEST(test_other_jobs)
{
	static const char *const suffixes[] = {"py", "js"};
	static const float sure[] = {0.2f, 0.05f};
	struct world w;

	world_begin(&w, 0);
	assert_int_equal(packages_told(&w, 0.2f), PACKAGES);
	world_end(&w);
	for (int i = 0; i < 2; i++) {
		unsigned ahead;

		world_begin(&w, 0);
		other_job(&w, suffixes[i]);
		ahead = packages_told(&w, sure[i]);
		if (ahead < PACKAGES * 95 / 100)
			fail_msg("after a job over .%s: %u of %d", suffixes[i],
			    ahead, PACKAGES);
		world_end(&w);
	}
}
