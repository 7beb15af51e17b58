/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Somebody goes through a tree, and the walk wants what he will come to: the
 * caches are real ones, which learned what a server said, and nothing is sent.
 */
#include "unittest.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_fixture.h"
#include "predictor/walk/walktree.h"

enum {
	LIST_BYTES = 65536,
	TEXT = 24,
	CREDS = 2,
	SECOND = 1000000,
};

struct walk_world {
	struct world *w;
	struct rooms pf;
	struct credential *creds[CREDS];
};

static void setup(struct walk_world *s)
{
	struct rpc_auth_sys auth = {.uid = 2000, .gid = 2000};
	struct rpc_cred cred = {.flavor = AUTH_SYS};

	s->w = calloc(1, sizeof(*s->w));
	set_up(s->w);
	s->pf.g.caches = s->w->caches;
	s->pf.g.config = &s->w->config;
	rooms_open(&s->pf, s->creds, CREDS);
	rooms_add(&s->pf, &source_walk);
	s->creds[0]->id = s->w->cred;
	s->creds[1]->id = caches_cred(s->w->caches, &cred, &auth);
}

static void teardown(struct walk_world *s)
{
	rooms_close(&s->pf, s->creds, CREDS);
	tear_down(s->w);
	free(s->w);
}

/* ---- what the server says, and clients ask ----------------------------- */

/* File numbers are by their handles. */
static post_op_attr attr_of(const char *fh, bool dir)
{
	post_op_attr p = {.attributes_follow = TRUE};
	fattr3 *a = &p.post_op_attr_u.attributes;

	a->type = dir ? NF3DIR : NF3REG;
	a->mode = 0755;
	a->nlink = 2;
	a->fsid = 1;
	a->size = 4096;
	a->fileid = key_of(fh) % 1000000 + 100;
	a->ctime.seconds = a->mtime.seconds = 1000;
	return p;
}

static void add_entry(XDR *xdrs, const char *name, uint64_t cookie)
{
	size_t len = strlen(name);
	bool dir = name[len - 1] == '/';
	char text[TEXT];
	struct nfs3_dirent e = {.cookie = cookie};

	snprintf(text, sizeof(text), "%.*s", (int)(len - dir), name);
	e.name = name_of(text);
	e.attributes = attr_of(text, dir);
	e.fileid = e.attributes.post_op_attr_u.attributes.fileid;
	e.handle.handle_follows = TRUE;
	e.handle.post_op_fh3_u.handle = fh_of(text);
	assert_true(nfs3_dirent_encode(xdrs, true, &e));
}

/* A whole listing: names with blanks between them, and a `/` behind those of
 * directories. Handles are as the names. */
static void say_list(struct walk_world *s, const char *dir, const char *names)
{
	union nfs_args args = {.readdirplus = {.dir = fh_of(dir)}};
	union nfs_res res = {.status = NFS3_OK};
	READDIRPLUS3resok *r = &res.readdirplus.READDIRPLUS3res_u.resok;
	char *copy = strdup(names), *save = NULL, *name, *list;
	uint64_t n = 0;
	XDR xdrs;

	list = malloc(LIST_BYTES);
	xdrmem_create(&xdrs, list, LIST_BYTES, XDR_ENCODE);
	for (name = strtok_r(copy, " ", &save); name;
	     name = strtok_r(NULL, " ", &save))
		add_entry(&xdrs, name, ++n);
	assert_true(nfs3_dirlist_end(&xdrs, true));
	r->dir_attributes = attr_of(dir, true);
	r->reply.data = list;
	r->reply.len = xdr_getpos(&xdrs);
	say(s->w, NFSPROC3_READDIRPLUS, &args, &res);
	free(list);
	free(copy);
}

static void sees(struct walk_world *s, unsigned who, struct predictor_obs obs,
    const char *name)
{
	struct passed seen = {.obs = obs, .cred = s->creds[who], .name = name};

	rooms_hear(&s->pf, &seen, s->w->now_us);
	s->w->now_us += 1000;
}

static void lists(struct walk_world *s, const char *dir)
{
	sees(s, 0,
	    (struct predictor_obs){.kind = PREDICTOR_READDIR,
		.directory = true,
		.object = key_of(dir)},
	    "");
}

static void looks_up(
    struct walk_world *s, const char *dir, const char *name, bool is_dir)
{
	sees(s, 0,
	    (struct predictor_obs){.kind = PREDICTOR_LOOKUP,
		.directory = is_dir,
		.parent = key_of(dir),
		.object = key_of(name)},
	    name);
}

static void misses(struct walk_world *s, const char *dir, const char *name)
{
	sees(s, 0,
	    (struct predictor_obs){.kind = PREDICTOR_ABSENT,
		.parent = key_of(dir),
		.object = key_of(name)},
	    name);
}

/* Its listing came for the first user. */
static void came(struct walk_world *s, const char *dir, const char *names)
{
	say_list(s, dir, names);
	s->pf.g.now_us = s->w->now_us;
	source_walk.listed(s->pf.sources->at[0],
	    &(struct listed){.cred = s->creds[0], .dir = node_of(s->w, dir)});
}

/* These directories are wanted, in this order, and nothing else. */
static void assert_wanted(struct walk_world *s, const char *names)
{
	char *copy = strdup(names), *save = NULL, *name;
	struct want *w;

	for (name = strtok_r(copy, " ", &save); name;
	     name = strtok_r(NULL, " ", &save)) {
		w = queue_next(s->pf.queue);
		if (!w)
			fail_msg("%s is not wanted", name);
		if (w->wish.object != key_of(name))
			fail_msg("%s is not what is wanted next", name);
		assert_true(w->wish.needs & PREDICTOR_NEEDS_LISTING);
		want_drop(w);
	}
	assert_null(queue_next(s->pf.queue));
	free(copy);
}

FIXTURE(struct walk_world, setup, teardown);

/* ---- walks -------------------------------------------------------------- */

TEST(test_second_listing_is_a_walk, struct walk_world *s)
{
	say_list(s, "top", "a/ b/ f c/");
	say_list(s, "a", "g");
	lists(s, "top");
	assert_wanted(s, "");
	lists(s, "a");
	assert_wanted(s, "b c");
	/* The directories of a listing that comes ahead take its place in the
	 * order. */
	came(s, "b", "x/ y/");
	assert_wanted(s, "x y");
	/* It has been told. */
	lists(s, "b");
	assert_wanted(s, "");
}

TEST(test_listings_that_are_known, struct walk_world *s)
{
	say_list(s, "top", "a/ d/");
	say_list(s, "a", "b/");
	say_list(s, "b", "c/");
	lists(s, "top");
	lists(s, "a");
	assert_wanted(s, "b c d");
}

/* Those who open a file far below go through directories, too. */
TEST(test_a_path_is_no_walk, struct walk_world *s)
{
	say_list(s, "top", "a/ x/");
	say_list(s, "a", "b/ y/");
	say_list(s, "b", "c/ z/");
	looks_up(s, "top", "a", true);
	looks_up(s, "a", "b", true);
	looks_up(s, "b", "c", true);
	looks_up(s, "c", "file", false);
	assert_wanted(s, "");
}

TEST(test_lookups_beside_each_other, struct walk_world *s)
{
	say_list(s, "top", "a/ b/ c/ d/ e/");
	looks_up(s, "top", "a", true);
	looks_up(s, "a", "f", false);
	looks_up(s, "top", "b", true);
	looks_up(s, "b", "f", false);
	assert_wanted(s, "");
	looks_up(s, "top", "c", true);
	looks_up(s, "c", "f", false);
	assert_wanted(s, "d e");
}

TEST(test_a_walk_stays_below, struct walk_world *s)
{
	say_list(s, "top", "a/ b/ c/");
	say_list(s, "a", "x/ y/");
	looks_up(s, "top", "a", true);
	lists(s, "a");
	lists(s, "x");
	assert_wanted(s, "y");
	lists(s, "y");
	assert_wanted(s, "");
}

/* Most leave out what is hidden: until one is listed. */
TEST(test_hidden, struct walk_world *s)
{
	say_list(s, "top", "a/ .h/ b/ c/");
	say_list(s, ".h", "x/ y/ z/");
	lists(s, "top");
	lists(s, "a");
	assert_wanted(s, "b c");
	lists(s, ".h");
	assert_wanted(s, "x y z");
}

TEST(test_names_below_what_is_hidden, struct walk_world *s)
{
	say_list(s, "top", ".h/ a/");
	say_list(s, ".h", "u/ v/ w/ x/ y/");
	looks_up(s, "top", ".h", true);
	for (int i = 0; i < 3; i++) {
		const char *dirs[] = {"u", "v", "w"};

		looks_up(s, ".h", dirs[i], true);
		looks_up(s, dirs[i], "f", false);
	}
	assert_wanted(s, "");
}

/* The more of it was used, the further it goes. */
TEST(test_it_grows, struct walk_world *s)
{
	char names[900] = "", *end = names, sub[16];
	size_t before, after;

	for (int i = 0; i < 80; i++)
		end += sprintf(end, "d%d/ ", i);
	say_list(s, "top", names);
	lists(s, "top");
	lists(s, "d0");
	before = s->pf.queue->nqueued;
	assert_true(before > 1 && before < 8);
	for (int i = 1; i < 20; i++) {
		snprintf(sub, sizeof(sub), "d%d", i);
		lists(s, sub);
	}
	after = s->pf.queue->nqueued - 19;
	assert_true(after > 2 * before);
}

/* Somebody uses few of many directories, here and there: that is soon left
 * alone. */
TEST(test_in_vain, struct walk_world *s)
{
	char names[900] = "", *end = names, sub[16];

	for (int i = 0; i < 99; i++)
		end += sprintf(end, "d%d/ ", i * 37 % 99);
	for (int k = 0; k < 20; k++) {
		snprintf(sub, sizeof(sub), "t%d", k);
		say_list(s, sub, "");
	}
	say_list(s, "top", names);
	for (int i = 0; i < 99; i += 9) {
		snprintf(sub, sizeof(sub), "d%d", i * 37 % 99);
		looks_up(s, "top", sub, true);
		looks_up(s, sub, "f", false);
	}
	assert_true(s->pf.queue->nqueued < 40);
}

/* In `n` directories of top, one after the other: so many names each, with a
 * pause behind. Leaves what is wanted after the last one. */
static void goes_through(
    struct walk_world *s, int n, int looks, uint64_t pause_us)
{
	char names[900] = "", *end = names, sub[16], name[16];
	struct want *w;

	for (int i = 0; i < 99; i++)
		end += sprintf(end, "d%d/ ", i);
	say_list(s, "top", names);
	for (int i = 0; i < n; i++) {
		while ((w = queue_next(s->pf.queue)) != NULL)
			want_drop(w);
		snprintf(sub, sizeof(sub), "d%d", i);
		looks_up(s, "top", sub, true);
		for (int k = 0; k < looks; k++) {
			snprintf(name, sizeof(name), "f%d-%d", i, k);
			looks_up(s, sub, name, false);
		}
		s->w->now_us += pause_us;
	}
}

/* Somebody comes to all of them, but so slowly that each is too old by then. */
TEST(test_in_vain_once_it_is_old, struct walk_world *s)
{
	goes_through(s, 5, 1, 0);
	assert_true(s->pf.queue->nqueued > 0);
	goes_through(s, 40, 1, 20 * SECOND);
	assert_wanted(s, "");
}

/* The file system that it goes through has an [export] section: there nothing
 * is too old by then. */
TEST(test_age_of_its_export, struct walk_world *s)
{
	struct config_export still = {
	    .path = (char *)"/still", .policy = s->w->config.policy};

	still.policy.attr_timeout_us = UINT64_C(3600) * SECOND;
	s->w->config.overrides = &still;
	s->w->config.noverrides = 1;
	say_list(s, "top", "");
	assert_true(caches_set_export(s->w->caches, "/still", 1));
	goes_through(s, 20, 1, 20 * SECOND);
	assert_non_null(queue_next(s->pf.queue));
	s->w->config.overrides = NULL;
	s->w->config.noverrides = 0;
}

/* A listing is worth the lookups that it spares. */
TEST(test_a_name_in_each_directory, struct walk_world *s)
{
	struct want *w;

	goes_through(s, 20, 1, 0);
	w = queue_next(s->pf.queue);
	assert_non_null(w);
	assert_true(w->wish.calls_spared > 0 && w->wish.calls_spared < 1.5f);
}

TEST(test_nine_names_in_each_directory, struct walk_world *s)
{
	struct want *w;

	goes_through(s, 20, 9, 0);
	w = queue_next(s->pf.queue);
	assert_non_null(w);
	assert_true(w->wish.calls_spared > 4 && w->wish.calls_spared < 10);
	while ((w = queue_next(s->pf.queue)) != NULL)
		want_drop(w);
	/* Whoever lists them reads all of it. */
	lists(s, "d80");
	lists(s, "d81");
	w = queue_next(s->pf.queue);
	assert_non_null(w);
	assert_true(w->wish.calls_spared == 0);
}

/* Another user's calls make nothing wanted in a directory that only this one
 * has listed. */
TEST(test_users, struct walk_world *s)
{
	struct predictor_obs o = {.kind = PREDICTOR_READDIR, .directory = true};

	say_list(s, "top", "a/ b/ c/");
	lists(s, "top");
	o.object = key_of("top");
	sees(s, 1, o, "");
	o.object = key_of("a");
	sees(s, 1, o, "");
	assert_wanted(s, "");
	lists(s, "a");
	assert_wanted(s, "b c");
}

/* A server may say anything. */
TEST(test_directories_in_themselves, struct walk_world *s)
{
	say_list(s, "top", "a/ top/ b/");
	say_list(s, "a", "b/ a/ top/");
	say_list(s, "b", "a/ b/ top/");
	for (int i = 0; i < 50; i++) {
		lists(s, "top");
		lists(s, "a");
		lists(s, "b");
		s->w->now_us += 2 * SECOND;
	}
	assert_true(s->pf.queue->nqueued <= 3);
}

/* The tree changes while somebody goes through it. */
TEST(test_a_tree_that_changes, struct walk_world *s)
{
	say_list(s, "top", "a/ b/ c/");
	lists(s, "top");
	lists(s, "a");
	assert_wanted(s, "b c");
	s->w->now_us += 5 * SECOND;
	s->w->version++;
	came(s, "b", "x/");
	came(s, "b", "");
	lists(s, "b");
	came(s, "c", "b/");
	lists(s, "c");
	assert_true(s->pf.queue->nqueued <= 3);
}

TEST(test_names_that_come_back, struct walk_world *s)
{
	struct want *w;

	say_list(s, "top", "a/ b/ c/ d/ e/");
	say_list(s, "c", "f g");
	say_list(s, "d", "f .conf");
	say_list(s, "e", "f");
	lists(s, "top");
	lists(s, "a");
	misses(s, "a", ".conf");
	assert_wanted(s, "b c d e");
	lists(s, "b");
	misses(s, "b", ".conf");
	/* Where it is not known: it is looked up; where it is: it is read. */
	s->w->now_us += SECOND;
	lists(s, "c");
	for (int found = 0, asked = 0; (w = queue_next(s->pf.queue)) != NULL;) {
		found += w->wish.object == key_of(".conf");
		if (w->wish.object == key_of(".conf"))
			assert_true(w->wish.needs & PREDICTOR_NEEDS_DATA);
		if (w->wish.name) {
			assert_string_equal(w->wish.name, ".conf");
			assert_int_equal(w->wish.parent, key_of("e"));
			assert_false(wish_is_asked(&w->wish));
			asked++;
		}
		want_drop(w);
		assert_true(found <= 1 && asked <= 1);
		if (lane_is_empty(&s->pf.queue->lanes[0]) &&
		    s->pf.queue->nqueued == 0)
			assert_int_equal(found + asked, 2);
	}
}

/* ---- the tree ------------------------------------------------------------ */

TEST(test_tree_is_bounded)
{
	struct walktree *t = AFTER(walktree_free, walktree_new());
	struct walkdir *top = walktree_get(t, 1, 1);

	for (uint64_t i = 2; i < 2 * WALKTREE_MAX; i++) {
		struct walkdir *d = walktree_get(t, i, 1);

		assert_non_null(d);
		walktree_hang(
		    i % 3 ? walktree_get(t, 1, 1) : walktree_get(t, i - 1, 1),
		    d);
	}
	assert_int_equal(walktree_count(t), WALKTREE_MAX);
	assert_ptr_equal(walktree_find(t, 1, 1), top);
	assert_null(walktree_find(t, 2, 1));
	assert_null(walktree_find(t, 1, 2));
	walktree_clear(top);
	assert_true(TAILQ_EMPTY(&top->below));
}
