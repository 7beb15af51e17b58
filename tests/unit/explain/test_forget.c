/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A drop forgets all that is known of a path, and nothing of others. */
#include "explain/forget.h"

#include "cache/caches_fixture.h"

/* The export /srv is mounted; its root is "dir". */
static void say_mount(struct world *w)
{
	const struct nfs_proc *proc =
	    nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT);
	static const struct cred_key nobody;
	union nfs_res res = {.mnt = {.status = MNT3_OK}};
	struct mounttab_entry e = {
	    .path = "/srv", .path_len = 4, .cred = &nobody};
	char body[256];

	res.mnt.MNT3res_u.resok.fhandle = fh_of("dir");
	e.body.data = body;
	e.body.len = (uint32_t)nfs_res_encode(proc, &res, body, sizeof(body));
	mounttab_put(w->caches->mounts, &e);
}

/* How many objects were forgotten. */
static uint64_t forget(struct world *w, const char *path)
{
	struct forget f;

	(void)forget_begin(&f, w->caches, "/srv", path, w->now_us);
	while (forget_step(&f, w->now_us))
		;
	return f.objects;
}

static void setup_mounted(struct world *w)
{
	setup(w);
	say_mount(w);
	say_tree(w);
}

FIXTURE(struct world, setup_mounted, teardown);

TEST(test_file, struct world *w)
{
	assert_int_equal(forget(w, "sub/file"), 1);
	assert_null(node_of(w, "f"));
	assert_non_null(node_of(w, "s"));
	assert_true(fresh(w, "dir"));
	/* It is known again from an answer to a later call. */
	say_named(w, "s", 2, "file", "f", NF3REG, 20);
	assert_true(fresh(w, "f"));
	assert_int_equal(forget(w, "sub/file"), 1);
}

/* Another name of the file leads to it again: nobody has replaced that, so it
 * is believed for as long as before. */
TEST(test_other_name, struct world *w)
{
	say_named(w, "dir", 1, "hard", "f", NF3REG, 20);
	assert_int_equal(forget(w, "sub/file"), 1);
	say_named(w, "dir", 1, "hard", "f", NF3REG, 20);
	assert_true(fresh(w, "f"));
	assert_int_equal(
	    node_of(w, "f")->flags & (NODE_CHANGED | NODE_LIVELY), 0);
}

TEST(test_directory, struct world *w)
{
	say_named(w, "s", 2, "deep", "d", NF3DIR, 3);
	say_named(w, "d", 3, "er", "e", NF3DIR, 4);
	say_named(w, "e", 4, "est", "t", NF3REG, 21);
	say_named(w, "dir", 1, "beside", "b", NF3REG, 22);
	assert_int_equal(forget(w, "sub"), 5);
	assert_null(node_of(w, "t"));
	assert_null(node_of(w, "f"));
	assert_non_null(node_of(w, "b"));
	assert_int_equal(forget(w, "sub"), 0);
}

TEST(test_everything, struct world *w)
{
	assert_int_equal(forget(w, ""), 3);
	assert_int_equal(attrcache_count(w->caches->attr), 0);
}

/* A drop that is stopped is finished by the next, whatever that is about; and
 * names may come meanwhile. */
TEST(test_stopped, struct world *w)
{
	enum { FILES = 3000 };
	struct forget f;
	char name[16];

	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		say_named(w, "s", 2, name, name, NF3REG, 100 + (uint64_t)i);
	}
	assert_int_equal(forget_begin(&f, w->caches, "/srv", "sub", w->now_us),
	    FORGET_OBJECT);
	assert_non_null(node_of(w, "n7"));
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		say_named(w, "dir", 1, name, name, NF3REG, 9000 + (uint64_t)i);
	}
	assert_int_equal(forget(w, "sub"), FILES + 1);
	assert_null(node_of(w, "n7"));
	assert_non_null(node_of(w, "m7"));
	assert_int_equal(forget(w, "sub"), 0);
}

/* An answer to a call that was sent before does not bring it back. */
TEST(test_under_way, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 20, 5);
	union nfs_args args = {.object = fh_of("f")};
	union nfs_res res = {.status = NFS3_OK};
	uint64_t sent_us = round_trip(w);

	res.getattr.GETATTR3res_u.resok.obj_attributes = a;
	assert_int_equal(forget(w, "sub/file"), 1);
	w->now_us += 10 * MS;
	say(w, NFSPROC3_GETATTR, &args, &res, sent_us);
	assert_false(fresh(w, "f"));
}

/* A name that was absent is asked for again. */
TEST(test_absent, struct world *w)
{
	const nfs3_name none = fh_of("none");

	say_lookup(w, "none", NULL, 10, round_trip(w));
	assert_non_null(
	    namecache_find(w->caches->names, node_of(w, "dir"), &none));
	assert_int_equal(forget(w, "none"), 0);
	assert_null(namecache_find(w->caches->names, node_of(w, "dir"), &none));
}

/* Nor does a listing say any more that it is absent. */
TEST(test_listed, struct world *w)
{
	static const char end_of_list[8] = {[7] = 1}, verf[8];
	const nfs3_dirlist entries = {.data = end_of_list, .len = 8};
	const struct list_page page = {
	    .cred = w->cred, .plus = true, .verf = verf, .entries = &entries};
	struct node *dir = node_of(w, "dir");

	listcache_add(w->caches->lists, dir, &page);
	assert_non_null(listcache_find(w->caches->lists, dir, w->cred, true));
	assert_int_equal(forget(w, "none"), 0);
	assert_null(listcache_find(w->caches->lists, dir, w->cred, true));
}

TEST(test_unknown, struct world *w)
{
	struct forget f;

	assert_int_equal(forget(w, "no/such/path"), 0);
	assert_int_equal(forget(w, "sub/file/below"), 0);
	assert_int_equal(forget_begin(&f, w->caches, "/else", "sub", w->now_us),
	    FORGET_UNMOUNTED);
	assert_true(fresh(w, "f"));
}

/* Caches that were emptied meanwhile have nothing more to forget. */
TEST(test_flushed, struct world *w)
{
	struct forget f;

	assert_int_equal(
	    forget_begin(&f, w->caches, "/srv", "", w->now_us), FORGET_OBJECT);
	caches_flush(w->caches);
	assert_false(forget_step(&f, w->now_us));
}
