/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mentions: what is told of the files that a file names, and to whom. */
#include "unittest.h"
#include "predictor/mention/mention.h"

enum { CRED = 1, WANTS = 512, SECOND = 1000000000 };

struct test {
	struct mention *m;
	struct tokens tokens;
	struct mention_want wants[WANTS];
	size_t n;
	uint64_t now_ns;
	uint64_t forbidden; /* a directory */
};

static bool may_search(void *ctx, uint32_t cred, uint64_t dir)
{
	const struct test *t = ctx;

	return cred == CRED && dir != t->forbidden;
}

static void setup(struct test *t)
{
	struct mention_params p = {
	    .memory_bytes = 1 << 20, .may_search = may_search, .ctx = t};

	t->m = mention_new(&p);
	t->now_ns = 100 * (uint64_t)SECOND;
	assert_non_null(t->m);
}

static void teardown(struct test *t)
{
	mention_free(t->m);
}

/* Names, between spaces; those that end with a slash are directories. The key
 * of a name is that of its directory, times 100, and its number. */
static void list(struct test *t, uint64_t dir, const char *names)
{
	struct nameindex_name at[64];
	char copy[1024], *save, *name;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", names);
	for (name = strtok_r(copy, " ", &save); name;
	     name = strtok_r(NULL, " ", &save)) {
		size_t len = strlen(name);

		at[n] = (struct nameindex_name){.object = dir * 100 + n + 1,
		    .size_bytes = 1000,
		    .directory = name[len - 1] == '/'};
		nameindex_fill(&at[n], name, len - at[n].directory);
		n++;
	}
	mention_listed(t->m, dir, at, n, t->now_ns);
}

static void step(struct test *t)
{
	t->n = 0;
	while (mention_has_work(t->m)) {
		size_t n = mention_step(
		    t->m, t->now_ns, t->wants + t->n, WANTS - t->n);

		for (size_t i = t->n; i < t->n + n; i++)
			mention_accepted(t->m, t->wants[i].pred.object);
		t->n += n;
		assert_true(t->n < WANTS);
	}
}

static bool scan_as(
    struct test *t, uint64_t object, const char *text, float p, uint32_t cred)
{
	struct mention_data d = {.object = object,
	    .version = 1,
	    .len = (uint32_t)strlen(text),
	    .cred = cred,
	    .p = p};

	if (!mention_may_scan(t->m, &d, t->now_ns))
		return false;
	tokens_scan(&t->tokens, text, strlen(text));
	mention_scanned(t->m, &d, &t->tokens, t->now_ns);
	step(t);
	return true;
}

static bool scan(struct test *t, uint64_t object, const char *text)
{
	return scan_as(t, object, text, 1, CRED);
}

static void use(struct test *t, uint64_t object)
{
	struct predictor_obs o = {
	    .kind = PREDICTOR_READ, .object = object, .count_bytes = 1000};

	mention_seen(t->m, &o, CRED, t->now_ns);
}

static void look_up(struct test *t, uint64_t dir, uint64_t object)
{
	struct predictor_obs o = {.kind = PREDICTOR_ABSENT,
	    .object = object,
	    .parent = dir,
	    .name_hash = 12345};

	mention_seen(t->m, &o, CRED, t->now_ns);
}

static const struct prediction *told(const struct test *t, uint64_t object)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->wants[i].pred.object == object)
			return &t->wants[i].pred;
	return NULL;
}

/* 101 main.js, 102 x.js, 103 lib (10301 y.js), 104 other.js */
static void two_directories(struct test *t)
{
	list(t, 1, "main.js x.js lib/ other.js");
}

FIXTURE(struct test, setup, teardown);

TEST(tells_names_beside_the_file, struct test *t)
{
	two_directories(t);
	assert_true(scan(t, 101, "require('./x'); require('./missing');"));
	assert_non_null(told(t, 102));
	assert_int_equal(told(t, 102)->parent, 1);
	assert_true(told(t, 102)->needs & PREDICTOR_NEEDS_DATA);
	assert_true(told(t, 102)->p > 0.7f);
	assert_int_equal(t->n, 1);
}

TEST(goes_on_when_a_directory_is_listed, struct test *t)
{
	two_directories(t);
	scan(t, 101, "require('./lib/y');");
	assert_int_equal(t->n, 1);
	assert_int_equal(told(t, 103)->needs,
	    PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_LISTING);
	list(t, 103, "y.js z.js");
	step(t);
	assert_int_equal(t->n, 1);
	assert_non_null(told(t, 10301));
}

TEST(finds_what_is_above, struct test *t)
{
	two_directories(t);
	list(t, 103, "y.js z.js");
	scan(t, 10301, "require('../x');");
	assert_int_equal(t->n, 1);
	assert_non_null(told(t, 102));
}

TEST(finds_what_is_searched, struct test *t)
{
	two_directories(t);
	list(t, 7, "alpha.js beta.js");
	scan(t, 101, "require('alpha');");
	assert_int_equal(t->n, 0);
	look_up(t, 7, 999);
	scan(t, 104, "require('alpha');");
	assert_non_null(told(t, 701));
}

TEST(waits_for_rights, struct test *t)
{
	t->forbidden = 103;
	two_directories(t);
	list(t, 103, "secret.js z.js");
	scan(t, 101, "require('./lib/secret');");
	assert_null(told(t, 10301));
	t->forbidden = 0;
	mention_allowed(t->m, 103);
	step(t);
	assert_non_null(told(t, 10301));
}

TEST(tells_nothing_to_others, struct test *t)
{
	two_directories(t);
	scan_as(t, 101, "require('./x');", 1, CRED + 1);
	assert_int_equal(t->n, 0);
}

TEST(falls_with_each_hop, struct test *t)
{
	float p;

	two_directories(t);
	scan(t, 101, "require('./x');");
	p = told(t, 102)->p;
	scan_as(t, 102, "require('./other');", p, CRED);
	assert_true(told(t, 104)->p < p);
	assert_true(told(t, 104)->lead > 1);
	/* It is read: now the next one is as likely as any. */
	use(t, 102);
	step(t);
	assert_true(told(t, 104)->p >= p);
}

TEST(does_not_tell_what_was_read, struct test *t)
{
	two_directories(t);
	use(t, 102);
	scan(t, 101, "require('./x');");
	assert_null(told(t, 102));
}

TEST(scans_a_version_once, struct test *t)
{
	two_directories(t);
	assert_true(scan(t, 101, "require('./x');"));
	assert_false(scan(t, 101, "require('./x');"));
}

/* A hundred directories, in each of which the same kind of mention is in vain,
 * or comes true. */
static float odds_after(struct test *t, uint64_t from, bool comes_true)
{
	float p = 0;

	for (uint64_t dir = from; dir < from + 100; dir++) {
		list(t, dir, "a.c a.h");
		scan(t, dir * 100 + 1, "#include \"a.h\"\n");
		p = t->n > 0 ? t->wants[0].pred.p : 0;
		use(t, dir * 100 + 1);
		if (comes_true)
			use(t, dir * 100 + 2);
		step(t);
		t->now_ns += 30 * (uint64_t)SECOND;
	}
	return p;
}

TEST(learns_what_comes_true, struct test *t)
{
	assert_true(odds_after(t, 1000, true) > 0.9f);
}

TEST(learns_what_does_not, struct test *t)
{
	assert_true(odds_after(t, 1000, false) < 0.1f);
}

/* In a hundred directories, one after the other within a moment: how many files
 * that their a.c mentions were told of, if these are read, or not. */
static unsigned told_of_a_kind(struct test *t, bool comes_true)
{
	unsigned n = 0;

	for (uint64_t dir = 1000; dir < 1100; dir++) {
		list(t, dir, "a.c a.map");
		scan(t, dir * 100 + 1, "sourceMappingURL=a.map\n");
		n += told(t, dir * 100 + 2) != NULL;
		if (comes_true)
			use(t, dir * 100 + 2);
		t->now_ns += SECOND / 1000;
	}
	return n;
}

TEST(tells_few_of_a_kind_that_never_came_true, struct test *t)
{
	assert_in_range(told_of_a_kind(t, false), 1, 12);
}

TEST(tells_all_of_a_kind_that_does, struct test *t)
{
	assert_int_equal(told_of_a_kind(t, true), 100);
}

TEST(falls_silent_where_it_does_not_pay, struct test *t)
{
	struct mention_stats st;

	(void)odds_after(t, 1000, false);
	(void)odds_after(t, 2000, false);
	mention_get_stats(t->m, &st);
	assert_true(st.passed > 50);
	assert_int_equal(st.used, 0);
}

TEST(learns_what_is_used_first, struct test *t)
{
	for (uint64_t dir = 1000; dir < 1010; dir++) {
		list(t, dir, "package.json index.js README");
		use(t, dir * 100 + 1);
		t->now_ns += 30 * (uint64_t)SECOND;
	}
	list(t, 7, "start.js pack/");
	scan(t, 701, "require('./pack');");
	list(t, 702, "LICENSE README index.js package.json");
	step(t);
	assert_non_null(told(t, 70204));
	assert_null(told(t, 70202));
}

/* Files that mentions foretell in vain take no more bytes than files that are
 * read. */
TEST(keeps_below_demand, struct test *t)
{
	struct nameindex_name at[4096];
	static char text[TOKENS_DATA_MAX];
	uint64_t bytes = 0;
	size_t len = 0;

	for (size_t i = 0; i < 4096; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "name%zu.txt", i);

		at[i] = (struct nameindex_name){
		    .object = i + 1, .size_bytes = 60000};
		nameindex_fill(&at[i], name, (size_t)n);
		if (len + 40 < sizeof(text))
			len += (size_t)sprintf(text + len, "\"%s\"\n", name);
	}
	mention_listed(t->m, 5, at, 4096, t->now_ns);
	look_up(t, 5, 77);
	two_directories(t);
	scan(t, 101, text);
	for (size_t i = 0; i < t->n; i++)
		bytes += t->wants[i].pred.size_bytes;
	assert_in_range(bytes, 1, 600000);
}

TEST(drops_directories_of_too_many_names, struct test *t)
{
	FREED struct nameindex_name *at = calloc(20000, sizeof(*at));
	struct mention_stats st;

	for (size_t i = 0; i < 20000; i++)
		at[i] = (struct nameindex_name){.object = i + 1,
		    .full = (uint32_t)i + 1,
		    .stem = 7,
		    .head = 7};
	mention_listed(t->m, 5, at, 20000, t->now_ns);
	mention_get_stats(t->m, &st);
	assert_int_equal(st.names, 0);
	for (uint64_t dir = 1; dir < 100; dir++)
		mention_listed(t->m, dir, at, 4000, t->now_ns);
	mention_get_stats(t->m, &st);
	assert_in_range(st.names, 4000, (1 << 20) / 48);
}
