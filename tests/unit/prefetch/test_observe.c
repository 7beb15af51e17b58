/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and listings as the predictor hears of them. */
#include "unittest.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/ground/observe.h"

/* ---- questions -------------------------------------------------------- */

static struct observe_call call_of(
    struct world *w, uint32_t proc, const union nfs_args *args)
{
	return (struct observe_call){
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc),
	    .args = args,
	    .cred_id = w->cred,
	    .uid = 1000,
	    .actor = 77,
	    .received_us = w->now_us,
	    .latency_us = 40000};
}

static bool observe(struct world *w, const struct observe_call *call)
{
	struct node *about;

	return observe_call(
	    w->caches, observe_node(w->caches, call), call, &w->obs, &about);
}

static bool ask(
    struct world *w, uint32_t proc, const union nfs_args *args, nfsstat3 status)
{
	struct observe_call call = call_of(w, proc, args);

	call.status = status;
	memset(&w->obs, 0xee, sizeof(w->obs));
	return observe(w, &call);
}

static bool ask_name(struct world *w, const char *name, nfsstat3 status)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = name_of(name)}};

	return ask(w, NFSPROC3_LOOKUP, &args, status);
}

static bool ask_object(
    struct world *w, uint32_t proc, const char *fh, nfsstat3 status)
{
	union nfs_args args = {.object = fh_of(fh)};

	return ask(w, proc, &args, status);
}

FIXTURE(struct world, set_up, tear_down);

/* ---- calls ------------------------------------------------------------ */

TEST(test_lookup_found, struct world *w)
{
	nfs3_name name = name_of("main.c");

	say_name(w, "main.c", "f", NF3REG);
	assert_true(ask_name(w, "main.c", NFS3_OK));
	assert_int_equal(w->obs.kind, PREDICTOR_LOOKUP);
	assert_int_equal(w->obs.object, key_of("f"));
	assert_int_equal(w->obs.parent, key_of("dir"));
	assert_int_equal(w->obs.name_hash, observe_name(&name));
	assert_int_equal(w->obs.size_bytes, 120);
	assert_false(w->obs.directory);
	assert_false(w->obs.exec);
	assert_int_equal(w->obs.now_ns, w->now_us * 1000);
	assert_int_equal(w->obs.latency_ns, 40000000);
	assert_int_equal(w->obs.uid, 1000);
	assert_int_equal(w->obs.pid, 0);
}

TEST(test_lookup_directory, struct world *w)
{
	say_name(w, "sub", "d", NF3DIR);
	assert_true(ask_name(w, "sub", NFS3_OK));
	assert_true(w->obs.directory);
	/* Bytes of a directory are nothing to fetch. */
	assert_int_equal(w->obs.size_bytes, 0);
	assert_int_equal(w->obs.type_hash, 0);
}

/* The end of a name tells its type, wherever it lies. */
TEST(test_types, struct world *w)
{
	uint64_t c;

	say_name(w, "a.c", "f", NF3REG);
	assert_true(ask_name(w, "a.c", NFS3_OK));
	c = w->obs.type_hash;
	assert_int_not_equal(c, 0);
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "x.tar.c" : "lib.c";

		assert_true(ask_name(w, name, NFS3ERR_NOENT));
		assert_int_equal(w->obs.type_hash, c);
	}
	assert_true(ask_name(w, "a.h", NFS3ERR_NOENT));
	assert_int_not_equal(w->obs.type_hash, c);
	/* The type of a hidden file may be its whole name, without the dot. */
	assert_true(ask_name(w, ".c", NFS3ERR_NOENT));
	assert_int_equal(w->obs.type_hash, c);
	assert_true(ask_name(w, "c.", NFS3ERR_NOENT));
	assert_int_not_equal(w->obs.type_hash, c);
	assert_true(ask_name(w, "c", NFS3ERR_NOENT));
	assert_int_equal(w->obs.type_hash, 0);
}

/* A name that is not there has a key of its own, of directory and name. */
TEST(test_lookup_absent, struct world *w)
{
	nfs3_name name = name_of("no.h");
	nfs3_fh dir = fh_of("dir"), other = fh_of("other");

	say_name(w, "no.h", NULL, NF3REG);
	assert_true(ask_name(w, "no.h", NFS3ERR_NOENT));
	assert_int_equal(w->obs.kind, PREDICTOR_ABSENT);
	assert_int_equal(w->obs.object, observe_absent(&dir, &name));
	assert_int_not_equal(w->obs.object, observe_absent(&other, &name));
	assert_int_equal(w->obs.parent, key_of("dir"));
	assert_int_equal(w->obs.name_hash, observe_name(&name));
	assert_int_equal(w->obs.size_bytes, 0);
	name = name_of("no.c");
	assert_int_not_equal(w->obs.object, observe_absent(&dir, &name));
}

TEST(test_lookup_nothing, struct world *w)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("unknown"), .name = name_of("a")}};

	say_name(w, "main.c", "f", NF3REG);
	assert_false(ask_name(w, ".", NFS3_OK));
	assert_false(ask_name(w, "..", NFS3_OK));
	assert_false(ask_name(w, "main.c", NFS3ERR_ACCES));
	assert_false(ask_name(w, "main.c", NFS3ERR_IO));
	/* Found, they say, but the caches have not heard of it. */
	assert_false(ask_name(w, "else", NFS3_OK));
	assert_false(ask(w, NFSPROC3_LOOKUP, &args, NFS3_OK));
	assert_false(ask(w, NFSPROC3_LOOKUP, &args, NFS3ERR_NOENT));
}

TEST(test_object, struct world *w)
{
	nfs3_fh fh = fh_of("f");

	say_name(w, "main.c", "f", NF3REG);
	assert_true(ask_object(w, NFSPROC3_ACCESS, "f", NFS3_OK));
	assert_int_equal(w->obs.kind, PREDICTOR_ACCESS);
	assert_int_equal(w->obs.object, key_of("f"));
	assert_int_equal(w->obs.size_bytes, 120);
	/* The name is the predictor's to remember. */
	assert_int_equal(w->obs.parent, 0);
	assert_int_equal(w->obs.name_hash, 0);
	attrcache_find(w->caches->attr, &fh)->flags |= NODE_PROGRAM;
	assert_true(ask_object(w, NFSPROC3_GETATTR, "f", NFS3_OK));
	assert_int_equal(w->obs.kind, PREDICTOR_GETATTR);
	assert_true(w->obs.exec);
	assert_true(ask_object(w, NFSPROC3_GETATTR, "dir", NFS3_OK));
	assert_true(w->obs.directory);
	assert_false(w->obs.exec);
	assert_int_equal(w->obs.size_bytes, 0);
}

TEST(test_read, struct world *w)
{
	union nfs_args args = {.read = {
				   .file = fh_of("f"),
				   .offset = UINT64_C(5) << 32,
				   .count = 16384,
			       }};

	say_name(w, "main.c", "f", NF3REG);
	assert_true(ask(w, NFSPROC3_READ, &args, NFS3_OK));
	assert_int_equal(w->obs.kind, PREDICTOR_READ);
	assert_int_equal(w->obs.object, key_of("f"));
	assert_int_equal(w->obs.offset_bytes, UINT64_C(5) << 32);
	assert_int_equal(w->obs.count_bytes, 16384);
	assert_false(ask(w, NFSPROC3_READ, &args, NFS3ERR_ACCES));
}

/* A listing is one access, however many pages it has. */
TEST(test_first_page, struct world *w)
{
	union nfs_args plus = {.readdirplus = {.dir = fh_of("dir")}};
	union nfs_args plain = {.readdir = {.dir = fh_of("dir")}};

	say_dir(w);
	assert_true(ask(w, NFSPROC3_READDIRPLUS, &plus, NFS3_OK));
	assert_int_equal(w->obs.kind, PREDICTOR_READDIR);
	assert_int_equal(w->obs.object, key_of("dir"));
	assert_true(w->obs.directory);
	assert_true(ask(w, NFSPROC3_READDIR, &plain, NFS3_OK));
	assert_int_equal(w->obs.kind, PREDICTOR_READDIR);
	plus.readdirplus.cookie = plain.readdir.cookie = 3;
	assert_false(ask(w, NFSPROC3_READDIRPLUS, &plus, NFS3_OK));
	assert_false(ask(w, NFSPROC3_READDIR, &plain, NFS3_OK));
}

TEST(test_says_nothing, struct world *w)
{
	union nfs_args args = {.object = fh_of("dir")};
	struct observe_call call = call_of(w, NFSPROC3_GETATTR, &args);

	say_dir(w);
	assert_true(ask_object(w, NFSPROC3_GETATTR, "dir", NFS3_OK));
	assert_false(ask_object(w, NFSPROC3_GETATTR, "dir", NFS3ERR_STALE));
	assert_false(ask_object(w, NFSPROC3_GETATTR, "nothing", NFS3_OK));
	assert_false(ask_object(w, NFSPROC3_FSSTAT, "dir", NFS3_OK));
	assert_false(ask_object(w, NFSPROC3_READLINK, "dir", NFS3_OK));
	assert_false(ask_object(w, NFSPROC3_REMOVE, "dir", NFS3_OK));
	/* Nothing is kept for whoever has no number. */
	call.cred_id = 0;
	assert_false(observe(w, &call));
	call.cred_id = w->cred;
	call.proc = nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_NULL);
	assert_non_null(call.proc);
	assert_false(observe(w, &call));
}

/* Two users of a client are two actors, and so are two clients of a user. */
TEST(test_actors, struct world *w)
{
	union nfs_args args = {.object = fh_of("dir")};
	struct observe_call call = call_of(w, NFSPROC3_GETATTR, &args);
	uint64_t first;

	say_dir(w);
	assert_true(observe(w, &call));
	first = w->obs.actor;
	assert_int_not_equal(first, 0);
	call.uid = 1001;
	assert_true(observe(w, &call));
	assert_int_not_equal(w->obs.actor, first);
	call.uid = 1000;
	call.actor = 1 << 20;
	assert_true(observe(w, &call));
	assert_int_not_equal(w->obs.actor, first);
}

/* ---- listings --------------------------------------------------------- */

static size_t list(
    struct world *w, uint32_t cred, struct predictor_dirent **ents)
{
	nfs3_fh fh = fh_of("dir");
	struct node *dir = attrcache_find(w->caches->attr, &fh);

	assert_non_null(dir);
	return observe_listing(w->caches, dir, cred, ents);
}

static const struct entry entries[] = {{".", "dir", NF3DIR},
    {"..", "top", NF3DIR}, {"zz.c", "z", NF3REG}, {"bb", "b", NF3DIR},
    {"unseen", NULL, NF3REG}, {"b", "c", NF3REG}, {"aa.h", "a", NF3REG}};

/* In the order of READDIR; ranks are by the bytes of the names, and only of
 * those whose objects are known. */
TEST(test_listing, struct world *w)
{
	static const char *const handles[] = {"z", "b", "c", "a"};
	static const uint32_t ranks[] = {3, 2, 1, 0};
	FREED struct predictor_dirent *ents;
	nfs3_name name = name_of("bb");

	say_dir(w);
	say_page(w, entries, 7, 0, true);
	assert_int_equal(list(w, w->cred, &ents), 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ents[i].object, key_of(handles[i]));
		assert_int_equal(ents[i].rank, ranks[i]);
		assert_int_equal(ents[i].directory, i == 1);
		assert_false(ents[i].exec);
	}
	assert_int_equal(ents[1].name_hash, observe_name(&name));
	assert_int_equal(ents[0].size_bytes, 132);
	assert_int_equal(ents[1].size_bytes, 0);
	assert_int_not_equal(ents[0].type_hash, 0);
	assert_int_equal(ents[1].type_hash, 0);
	assert_int_not_equal(ents[0].type_hash, ents[3].type_hash);
}

TEST(test_listing_incomplete, struct world *w)
{
	struct predictor_dirent *ents = (void *)w;

	say_dir(w);
	assert_int_equal(list(w, w->cred, &ents), 0);
	assert_null(ents);
	say_page(w, entries, 4, 0, false);
	assert_int_equal(list(w, w->cred, &ents), 0);
	assert_null(ents);
	say_page(w, entries + 4, 3, 4, true);
	assert_int_equal(list(w, w->cred, &ents), 4);
	free(ents);
	/* A listing that one user was shown is not another's. */
	assert_int_equal(list(w, w->cred + 1, &ents), 0);
	assert_null(ents);
}

TEST(test_listing_empty, struct world *w)
{
	struct predictor_dirent *ents;

	say_dir(w);
	say_page(w, entries, 2, 0, true);
	assert_int_equal(list(w, w->cred, &ents), 0);
	assert_null(ents);
}

/* ---- ages ------------------------------------------------------------- */

static uint64_t recent_s(struct world *w)
{
	assert_true(ask_object(w, NFSPROC3_GETATTR, "dir", NFS3_OK));
	return w->obs.recent_ns / 1000000000;
}

/* The predictor takes an object for recent during half of the time for which
 * clients may rest on it, by the export that it is in and by the configuration
 * of now. */
TEST(test_recent, struct world *w)
{
	struct config_server reloaded = w->config;
	struct config_export own = {
	    .path = (char *)"/own", .policy = w->config.policy};

	say_dir(w);
	w->config.policy.attr_timeout_us = 10000000;
	assert_int_equal(recent_s(w), 5);
	reloaded.policy.attr_timeout_us = 60000000;
	own.policy.attr_timeout_us = 600000000;
	reloaded.overrides = &own;
	reloaded.noverrides = 1;
	caches_set_config(w->caches, &reloaded);
	assert_int_equal(recent_s(w), 30);
	assert_true(caches_set_export(w->caches, "/own", 7));
	assert_int_equal(recent_s(w), 300);
	caches_set_config(w->caches, &w->config);
}
