/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A complete listing proves that a name which it lacks is absent, unless the
 * server may find that by another spelling. */
#include "unittest.h"
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

FIXTURE(struct world, set_up, tear_down);

TEST(test_what_is_not_listed_is_absent, struct world *w)
{
	struct listing *l = listed(w);

	assert_non_null(l);
	assert_true(lacks(w, l, "other"));
	assert_false(lacks(w, l, "file"));
}

/* Servers say that case counts where it does not. */
TEST(test_other_case_is_not_absent, struct world *w)
{
	assert_false(lacks(w, listed(w), "File"));
}

/* "é" is one letter or two. */
TEST(test_beyond_ascii_nothing_is_absent, struct world *w)
{
	assert_false(lacks(w, listed(w), "caf\303\251"));
}

/* A listing with so many names, as it was saved. */
static struct listing *loaded(struct world *w, unsigned n)
{
	enum { HEAD = 17, NAME = 8 };
	const char verf[NFS3_COOKIEVERFSIZE] = {0};
	struct binding bound = {.firm = true};
	char *data = calloc(n, HEAD + NAME + 1), *at = data;

	say_dir(w);
	for (unsigned i = 0; i < n; i++, at += HEAD + NAME) {
		at[16] = NAME;
		(void)snprintf(at + HEAD, NAME + 1, "n%07u", i);
	}
	listcache_load(w->caches->lists, node_of(w, "dir"), w->cred, true, verf,
	    data, (size_t)(at - data), &bound);
	free(data);
	return listcache_find(
	    w->caches->lists, node_of(w, "dir"), w->cred, true);
}

/* Nobody waits until all of a large directory was looked at. Each question gets
 * on with that, and until it is over none is answered. */
TEST(test_large_one_tells_later, struct world *w)
{
	struct listing *l = loaded(w, 100000);
	unsigned asked = 1;

	assert_int_equal(listing_count(l), 100000);
	while (!lacks(w, l, "other")) {
		assert_false(lacks(w, l, "n0099999"));
		assert_in_range(asked += 2, 0, 100);
	}
	assert_true(asked > 4);
	assert_true(lacks(w, l, "another"));
	for (unsigned i = 0; i < 100000; i += 99) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%07u", i);
		assert_false(lacks(w, l, name));
	}
}

/* The short name of a long one is found, though no listing has it. */
TEST(test_unlisted_name_ends_the_belief, struct world *w)
{
	const struct fsys *fs;

	listed(w);
	fs = attrcache_fsys(w->caches->attr, node_of(w, "dir"));
	assert_true(fsys_lists_all(fs));
	say_name(w, "file", "fh-file", NF3REG);
	assert_true(fsys_lists_all(fs));
	say_name(w, "PROGRA~1", "fh-file", NF3REG);
	assert_false(fsys_lists_all(fs));
}
