/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An asker learns what the caches know of an object, and walks a path by names.
 */
#include "cache/known.h"

#include "cache/caches_fixture.h"

static struct known_walk begin(struct world *w, const char *path)
{
	struct asker who = asker_now(w->caches, w->cred, w->now_us);
	struct known_walk k;

	known_walk_begin(&k, &who, node_of(w, "dir"), path);
	return k;
}

FIXTURE(struct world, setup, teardown);

TEST(test_walk, struct world *w)
{
	struct known_walk k;

	say_tree(w);
	k = begin(w, "sub/file");
	assert_true(known_walk_next(&k));
	assert_int_equal(k.name.len, 3);
	assert_ptr_equal(k.dir.node, node_of(w, "dir"));
	assert_ptr_equal(k.node, node_of(w, "s"));
	assert_true(known_search(&k.dir));
	assert_true(known_bound(&k.dir, &k.named.bound));
	assert_string_equal(k.left, "file");
	assert_true(known_walk_next(&k));
	assert_ptr_equal(k.dir.node, node_of(w, "s"));
	assert_false(known_walk_next(&k));
	assert_ptr_equal(k.node, node_of(w, "f"));
}

TEST(test_walk_ends, struct world *w)
{
	struct known_walk k;

	say_tree(w);
	/* An empty path leads to where it begins. */
	k = begin(w, "");
	assert_false(known_walk_next(&k));
	assert_ptr_equal(k.node, node_of(w, "dir"));
	/* A name that nobody has asked for. */
	k = begin(w, "else/file");
	assert_true(known_walk_next(&k));
	assert_false(k.named.known);
	assert_null(k.node);
	assert_false(known_walk_next(&k));
	/* One that does not exist. */
	say_lookup(w, "none", NULL, 10, round_trip(w));
	k = begin(w, "none/file");
	assert_true(known_walk_next(&k));
	assert_true(k.named.absent);
	assert_true(known_absent(&k.dir, &k.named.bound));
	assert_false(known_walk_next(&k));
	/* From nowhere. */
	k = begin(w, "sub");
	k.node = NULL;
	assert_false(known_walk_next(&k));
}

TEST(test_who_asks, struct world *w)
{
	struct asker who = asker_now(w->caches, w->cred, w->now_us);
	nfs3_fh fh = fh_of("dir");
	struct known k;

	assert_false(known_find(&k, &who, &fh));
	say_tree(w);
	who.now_us = who.received_us = w->now_us;
	assert_true(known_find(&k, &who, &fh));
	assert_true(known_fresh(&k));
	assert_true(known_own(&k));
	/* A LOOKUP that was answered proves no right. */
	assert_false(known_granted(&k, ACCESS3_LOOKUP));
	assert_true(known_attr(&k).attributes_follow);
	who.cred = 0;
	assert_true(known_find(&k, &who, &fh));
	assert_false(known_answered(&k));
	/* Nobody has confirmed it for longer than attr_timeout. */
	who.now_us = who.received_us = w->now_us + 4 * S;
	assert_true(known_find(&k, &who, &fh));
	assert_false(known_fresh(&k));
	assert_false(known_attr(&k).attributes_follow);
	/* Of no node, the policy only. */
	known_node(&k, &who, NULL);
	assert_ptr_equal(k.policy, &w->config.policy);
	assert_false(known_fresh(&k));
	assert_null(k.grant);
}
