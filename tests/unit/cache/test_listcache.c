/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a complete listing proves of names that are not in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/caches.h"
#include "cache/learn_fixture.h"

enum { S = 1000000 };

static void say_case_sensitive(struct world *w)
{
	union nfs_args args = {.object = fh_of("dir")};
	union nfs_res res = {.status = NFS3_OK};

	say(w, NFSPROC3_PATHCONF, &args, &res);
}

/* A whole listing of "dir" that is firm: it has "file" alone. */
static struct listing *listed(struct world *w)
{
	static const struct entry one = {"file", "fh-file", NF3REG};

	say_dir(w);
	say_case_sensitive(w);
	w->now_us += S;
	say_page(w, &one, 1, 0, true);
	return listcache_find(
	    w->caches->lists, node_of(w, "dir"), w->cred, true);
}

static bool lacks(struct world *w, struct listing *l, const char *text)
{
	nfs3_name name = name_of(text);

	return listing_lacks(w->caches->lists, l, &name);
}

static void test_what_is_not_listed_is_absent(void **state)
{
	struct world *w = *state;
	struct listing *l = listed(w);

	assert_non_null(l);
	assert_true(lacks(w, l, "other"));
	assert_false(lacks(w, l, "file"));
}

/* Servers say that case counts where it does not. */
static void test_other_case_is_not_absent(void **state)
{
	struct world *w = *state;

	assert_false(lacks(w, listed(w), "File"));
}

/* "é" is one letter or two. */
static void test_beyond_ascii_nothing_is_absent(void **state)
{
	struct world *w = *state;

	assert_false(lacks(w, listed(w), "caf\303\251"));
}

/* The short name of a long one is found, though no listing has it. */
static void test_unlisted_name_ends_the_belief(void **state)
{
	struct world *w = *state;
	const struct fsys *fs;

	listed(w);
	fs = attrcache_fsys(w->caches->attr, node_of(w, "dir"));
	assert_true(fsys_lists_all(fs));
	say_name(w, "file", "fh-file", NF3REG);
	assert_true(fsys_lists_all(fs));
	say_name(w, "PROGRA~1", "fh-file", NF3REG);
	assert_false(fsys_lists_all(fs));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_what_is_not_listed_is_absent),
	    TEST(test_other_case_is_not_absent),
	    TEST(test_beyond_ascii_nothing_is_absent),
	    TEST(test_unlisted_name_ends_the_belief),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
