/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract of docs/CONTRACT.md where files change: by this client, by
 * another one, at the same time, or with a reply that does not tell.
 */
#include "cache/caches_fixture.h"
#include "cache/known.h"

FIXTURE(struct world, setup, teardown);

/* ---- changes ---------------------------------------------------------- */

TEST(test_foreign_change_ends_names, struct world *w)
{
	say_dir(w, "dir", 10);
	say_lookup_later(w, "x", "f", 10);
	say_dir(w, "dir", 11);
	assert_false(holds(w, "x"));
}

TEST(test_own_change_keeps_the_rest_for_the_bound, struct world *w)
{
	say_sensitive(w);
	say_lookup_later(w, "x", "f", 10);
	w->now_us += S;
	say_remove(w, "y", 10, 11);
	assert_true(holds(w, "x"));
	/* Another change may have met the same tick: asked for again. */
	w->now_us += 3 * S;
	say_dir(w, "dir", 11);
	assert_false(holds(w, "x"));
}

TEST(test_later_own_changes_do_not_renew, struct world *w)
{
	say_sensitive(w);
	say_lookup_later(w, "x", "f", 10);
	say_remove(w, "y", 10, 11);
	w->now_us += 2 * S;
	say_remove(w, "z", 11, 12);
	w->now_us += 1500 * MS;
	assert_false(holds(w, "x"));
}

TEST(test_foreign_change_under_an_own_one, struct world *w)
{
	say_sensitive(w);
	say_lookup_later(w, "x", "f", 10);
	/* Before ours it was 11: somebody was there. */
	say_remove(w, "y", 11, 12);
	assert_false(holds(w, "x"));
}

/* As at a mount, where knfsd tells no attributes. */
TEST(test_pathconf_before_attributes, struct world *w)
{
	say_pathconf(w, false);
	say_dir(w, "dir", 10);
	say_lookup_later(w, "x", "f", 10);
	say_remove(w, "y", 10, 11);
	assert_true(holds(w, "x"));
}

TEST(test_own_change_where_names_fold, struct world *w)
{
	/* Whether case counts was never asked. */
	say_dir(w, "dir", 10);
	say_lookup_later(w, "NAME", "f", 10);
	say_remove(w, "name", 10, 11);
	assert_false(holds(w, "NAME"));
}

TEST(test_reply_from_before_an_own_change, struct world *w)
{
	uint64_t sent_us;

	say_sensitive(w);
	w->now_us += S;
	sent_us = w->now_us;
	say_remove(w, "x", 10, 11);
	/* It was sent before the REMOVE was answered. */
	say_lookup(w, "x", "f", 10, sent_us);
	assert_int_equal(node_of(w, "dir")->ctime.seconds, 11);
	{
		nfs3_name x = fh_of("x");
		struct dentry *d =
		    namecache_find(w->caches->names, node_of(w, "dir"), &x);

		assert_non_null(d);
		assert_int_equal(d->child, 0);
	}
}

TEST(test_older_call_never_overwrites, struct world *w)
{
	fattr3 a = attr_of(NF3DIR, 1, 9);
	union nfs_args args = {.object = fh_of("dir")};
	union nfs_res res = {.status = NFS3_OK};
	uint64_t sent_us = w->now_us;

	w->now_us += 1;
	say_dir(w, "dir", 10);
	res.getattr.GETATTR3res_u.resok.obj_attributes = a;
	say(w, NFSPROC3_GETATTR, &args, &res, sent_us);
	assert_int_equal(node_of(w, "dir")->ctime.seconds, 10);
}

/* Nor does what comes with it hang on the later version: in frozen mode it
 * would for ever. */
TEST(test_older_call_binds_nothing, struct world *w)
{
	union nfs_args args = {
	    .access = {.object = fh_of("dir"), .access = ACCESS_ALL}};
	union nfs_res res = {.status = NFS3_OK};
	ACCESS3resok *r = &res.access.ACCESS3res_u.resok;
	uint64_t sent_us = w->now_us;
	const struct grant *g;

	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	w->now_us += S;
	say_dir(w, "dir", 10);
	say_lookup(w, "x", "f", 9, sent_us);
	say_lookup(w, "y", NULL, 9, sent_us);
	r->obj_attributes = post(NF3DIR, 1, 9);
	r->access = ACCESS_ALL;
	say(w, NFSPROC3_ACCESS, &args, &res, sent_us);
	assert_false(holds(w, "x"));
	assert_false(holds(w, "y"));
	g = accesscache_find(w->caches->access, node_of(w, "dir"), w->cred);
	assert_true(!g || (g->access_us == 0 && g->own_us == 0));
	/* A call of the same version does. */
	say_lookup(w, "x", "f", 10, round_trip(w));
	assert_true(holds(w, "x"));
}

TEST(test_another_handle_of_the_file, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 20, 5);
	union nfs_args args = {.setattr = {.object = fh_of("one")}};
	union nfs_res res = {.status = NFS3_OK};

	say_getattr(w, "one", &a);
	say_getattr(w, "two", &a);
	assert_true(fresh(w, "two"));
	res.wccstat.wcc.after = post(NF3REG, 20, 6);
	say(w, NFSPROC3_SETATTR, &args, &res, round_trip(w));
	assert_true(fresh(w, "one"));
	assert_false(fresh(w, "two"));
}

/* A change that fails tells of the state, too. */
TEST(test_failed_change_tells_of_the_directory, struct world *w)
{
	union nfs_args args = {
	    .mkdir.where = {.dir = fh_of("dir"), .name = fh_of("d")}};
	union nfs_res res = {.status = NFS3ERR_EXIST};

	say_sensitive(w);
	say_lookup_later(w, "x", NULL, 10);
	assert_true(holds(w, "x"));
	/* Somebody else was there: the directory is another. */
	res.newobj.newobj3res_u.dir_wcc = wcc(1, 10, 50);
	say(w, NFSPROC3_MKDIR, &args, &res, round_trip(w));
	assert_int_equal(node_of(w, "dir")->ctime.seconds, 50);
	assert_false(holds(w, "x"));
}

/* A stranger wrote to the file, and the client was told of it. */
TEST(test_failed_change_tells_of_the_file, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 20, 5);
	union nfs_args link = {
	    .link = {.file = fh_of("one"),
		.link = {.dir = fh_of("dir"), .name = fh_of("d")}}};
	union nfs_args write = {.write = {.file = fh_of("one")}};
	union nfs_res res = {.status = NFS3ERR_EXIST};

	say_getattr(w, "one", &a);
	res.link.file_attributes = post(NF3REG, 20, 6);
	say(w, NFSPROC3_LINK, &link, &res, round_trip(w));
	assert_int_equal(node_of(w, "one")->ctime.seconds, 6);
	res = (union nfs_res){.status = NFS3ERR_ACCES};
	res.write.WRITE3res_u.file_wcc.after = post(NF3REG, 20, 7);
	say(w, NFSPROC3_WRITE, &write, &res, round_trip(w));
	assert_int_equal(node_of(w, "one")->ctime.seconds, 7);
}

TEST(test_setattr_that_failed_half_way, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 20, 5);
	union nfs_args args = {.setattr = {.object = fh_of("one")}};
	union nfs_res res = {.status = NFS3ERR_PERM};

	say_getattr(w, "one", &a);
	res.wccstat.wcc.after = post(NF3REG, 20, 5);
	say(w, NFSPROC3_SETATTR, &args, &res, round_trip(w));
	assert_true(fresh(w, "one"));
	res.wccstat.wcc.after.post_op_attr_u.attributes.size = 0;
	say(w, NFSPROC3_SETATTR, &args, &res, round_trip(w));
	assert_false(fresh(w, "one"));
}

/* Two changes of one name, under way at once: the order is not known. */
TEST(test_replies_that_crossed, struct world *w)
{
	union nfs_args args = {
	    .create.where = {.dir = fh_of("dir"), .name = fh_of("x")}};
	union nfs_res res = {.status = NFS3_OK};
	newobj3resok *r = &res.newobj.newobj3res_u.resok;
	nfs3_name x = fh_of("x");
	uint64_t sent_us;

	say_sensitive(w);
	w->now_us += S;
	sent_us = w->now_us;
	say_remove(w, "x", 10, 11);
	r->obj.handle_follows = TRUE;
	r->obj.post_op_fh3_u.handle = fh_of("f");
	r->obj_attributes = post(NF3REG, 20, 5);
	r->dir_wcc = wcc(1, 11, 12);
	say(w, NFSPROC3_CREATE, &args, &res, sent_us);
	assert_null(namecache_find(w->caches->names, node_of(w, "dir"), &x));
}

/* RENAME of a name onto another one of the same file does nothing (RFC 1813,
 * section 3.3.14), and both stay. */
TEST(test_rename_of_one_of_two_names, struct world *w)
{
	union nfs_args args = {
	    .rename = {.from = {.dir = fh_of("dir"), .name = fh_of("x")},
		.to = {.dir = fh_of("dir"), .name = fh_of("y")}}};
	union nfs_res res = {.status = NFS3_OK};
	fattr3 a = attr_of(NF3REG, 20, 5);
	nfs3_name x = fh_of("x");

	say_sensitive(w);
	say_lookup_later(w, "x", "f", 10);
	say_lookup(w, "y", "f", 10, round_trip(w));
	a.nlink = 2;
	a.ctime.seconds = 6;
	say_getattr(w, "f", &a);
	res.rename.fromdir_wcc = res.rename.todir_wcc = wcc(1, 10, 10);
	say(w, NFSPROC3_RENAME, &args, &res, round_trip(w));
	assert_null(namecache_find(w->caches->names, node_of(w, "dir"), &x));
}

TEST(test_export_that_moved, struct world *w)
{
	struct config_export over = {.path = (char *)"/src"};

	w->config.overrides = &over;
	w->config.noverrides = 1;
	assert_true(caches_set_export(w->caches, "/src", 7));
	assert_int_equal(
	    attrcache_get_fsys(w->caches->attr, 7)->export_plus_one, 1);
	assert_true(caches_set_export(w->caches, "/src", 8));
	assert_int_equal(
	    attrcache_get_fsys(w->caches->attr, 8)->export_plus_one, 1);
	assert_int_equal(
	    attrcache_get_fsys(w->caches->attr, 7)->export_plus_one, 0);
	w->config.overrides = NULL;
	w->config.noverrides = 0;
}

/* Nothing is known of the handle that it is changed by. */
TEST(test_change_by_a_handle_not_seen_before, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 20, 5);
	union nfs_args args = {.setattr = {.object = fh_of("one")}};
	union nfs_res res = {.status = NFS3_OK};

	say_getattr(w, "two", &a);
	assert_true(fresh(w, "two"));
	res.wccstat.wcc.after = post(NF3REG, 20, 6);
	say(w, NFSPROC3_SETATTR, &args, &res, round_trip(w));
	assert_false(fresh(w, "two"));
	/* Nor does the reply say which file that was. */
	w->now_us += S;
	say_getattr(w, "two", &a);
	assert_true(fresh(w, "two"));
	args.setattr.object = fh_of("three");
	memset(&res, 0, sizeof(res));
	say(w, NFSPROC3_SETATTR, &args, &res, round_trip(w));
	assert_false(fresh(w, "two"));
}

TEST(test_many_file_systems, struct world *w)
{
	char name[16];

	for (unsigned i = 0; i < 3000; i++) {
		fattr3 a = attr_of(NF3REG, 20, 5);

		a.fsid = 100 + i;
		snprintf(name, sizeof(name), "f%u", i);
		say_getattr(w, name, &a);
		assert_true(fresh(w, name));
		assert_int_equal(
		    attrcache_fsys(w->caches->attr, node_of(w, name))->fsid,
		    100 + i);
	}
}

TEST(test_unknown_effect_forgets, struct world *w)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of("x")}};
	struct learn l = {.caches = w->caches,
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_REMOVE),
	    .args = &args};

	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	say_dir(w, "dir", 10);
	say_lookup_later(w, "x", "f", 10);
	l.sent_us = l.now_us = w->now_us;
	learn_unknown(&l);
	assert_false(holds(w, "x"));
	assert_false(fresh(w, "dir"));
}

/* Somebody led the name to another file, which is the one that is gone. */
TEST(test_removed_name_that_somebody_had_moved, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 21, 5);

	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	say_sensitive(w);
	w->now_us += S;
	say_getattr(w, "n", &a);
	say_lookup(w, "x", "f", 10, round_trip(w));
	say_lookup(w, "y", "g", 10, round_trip(w));
	say_remove(w, "y", 10, 11);
	assert_true(fresh(w, "n"));
	say_lookup_later(w, "x", "f", 11);
	say_remove(w, "x", 12, 13);
	assert_false(fresh(w, "n"));
	assert_false(fresh(w, "f"));
}

static void say_rename_over(
    struct world *w, const char *from, const char *to, uint32_t before)
{
	union nfs_args args = {
	    .rename = {.from = {.dir = fh_of("dir"), .name = fh_of(from)},
		.to = {.dir = fh_of("dir"), .name = fh_of(to)}}};
	union nfs_res res = {.status = NFS3_OK};

	res.rename.fromdir_wcc = wcc(1, before, before + 1);
	res.rename.todir_wcc = res.rename.fromdir_wcc;
	say(w, NFSPROC3_RENAME, &args, &res, round_trip(w));
}

TEST(test_name_renamed_over_that_somebody_had_moved, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 21, 5);

	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	say_sensitive(w);
	w->now_us += S;
	say_getattr(w, "n", &a);
	say_lookup(w, "x", "f", 10, round_trip(w));
	say_lookup(w, "y", "g", 10, round_trip(w));
	say_rename_over(w, "x", "y", 11);
	assert_false(fresh(w, "n"));
	assert_false(fresh(w, "g"));
}

static void say_create(struct world *w, const char *name, createmode3 mode)
{
	union nfs_args args = {
	    .create = {.where = {.dir = fh_of("dir"), .name = fh_of(name)}}};
	union nfs_res res = {.status = NFS3_OK};

	args.create.how.mode = mode;
	res.newobj.newobj3res_u.resok.dir_wcc = wcc(1, 10, 10);
	say(w, NFSPROC3_CREATE, &args, &res, round_trip(w));
}

/* A server need not tell the handle (RFC 1813 section 3.3.8), and the file may
 * have been there. */
TEST(test_create_without_a_handle, struct world *w)
{
	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	say_sensitive(w);
	say_lookup_later(w, "x", "f", 10);
	say_create(w, "y", GUARDED);
	assert_true(fresh(w, "f"));
	say_create(w, "x", UNCHECKED);
	assert_false(fresh(w, "f"));
}

TEST(test_stale_drops_names, struct world *w)
{
	union nfs_args args = {.object = fh_of("f")};
	union nfs_res res = {.status = NFS3ERR_STALE};
	nfs3_name x = fh_of("x");
	struct dentry *d;

	say_dir(w, "dir", 10);
	say_lookup_later(w, "x", "f", 10);
	say(w, NFSPROC3_GETATTR, &args, &res, round_trip(w));
	d = namecache_find(w->caches->names, node_of(w, "dir"), &x);
	assert_true(!d || !dentry_child(w->caches->names, d));
	assert_null(node_of(w, "f"));
	/* The same handle again is another node. */
	say_lookup(w, "x", "f", 10, round_trip(w));
	assert_true(fresh(w, "f"));
}

/* The name was led elsewhere between the two, within a tick. */
TEST(test_older_answer_does_not_move_a_name, struct world *w)
{
	nfs3_name x = fh_of("x");
	uint64_t older_us;

	say_dir(w, "dir", 10);
	w->now_us += S;
	older_us = round_trip(w);
	say_lookup(w, "x", "later", 10, round_trip(w));
	say_lookup(w, "x", "former", 10, older_us);
	assert_ptr_equal(known_name(w->caches, node_of(w, "dir"), &x).child,
	    node_of(w, "later"));
}
