/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract of DESIGN, sentence by sentence, with virtual time: replies
 * go in through learn_reply(), what may be answered comes out of contract.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn.h"

enum { MS = 1000, S = 1000000 };

static const uint64_t T0 = UINT64_C(1) << 40;

struct world {
	struct caches *caches;
	struct metrics *metrics;
	struct config_server config;
	uint64_t now_us;
	uint32_t cred;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct rpc_auth_sys auth = {.uid = 1000, .gid = 1000};
	struct rpc_cred cred = {.flavor = AUTH_SYS};

	w->config.policy =
	    (struct config_policy){.consistency = CONFIG_CONSISTENCY_BOUNDED,
		.attr_timeout_us = 3 * S,
		.negative_timeout_us = 2 * S,
		.grant_timeout_us = UINT64_C(3600) * S};
	w->metrics = metrics_new();
	w->caches = caches_new(&w->config, w->metrics, 64 << 20, NULL);
	w->now_us = T0;
	w->cred = caches_cred(w->caches, &cred, &auth);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	caches_free(w->caches);
	metrics_free(w->metrics);
	free(w);
	return 0;
}

/* ---- a server's words ------------------------------------------------- */

static nfs3_fh fh_of(const char *text)
{
	return (nfs3_fh){.len = (uint32_t)strlen(text), .data = text};
}

static fattr3 attr_of(ftype3 type, uint64_t fileid, uint32_t ctime)
{
	return (fattr3){.type = type,
	    .mode = 0755,
	    .nlink = type == NF3DIR ? 2 : 1,
	    .size = 100,
	    .used = 4096,
	    .fsid = 7,
	    .fileid = fileid,
	    .mtime = {ctime, 1},
	    .ctime = {ctime, 1}};
}

static post_op_attr post(ftype3 type, uint64_t fileid, uint32_t ctime)
{
	post_op_attr p = {.attributes_follow = TRUE};

	p.post_op_attr_u.attributes = attr_of(type, fileid, ctime);
	return p;
}

static wcc_data wcc(uint64_t fileid, uint32_t before, uint32_t after)
{
	fattr3 a = attr_of(NF3DIR, fileid, before);
	wcc_data w = {.after = post(NF3DIR, fileid, after)};

	w.before.attributes_follow = TRUE;
	w.before.pre_op_attr_u.attributes =
	    (wcc_attr){.size = a.size, .mtime = a.mtime, .ctime = a.ctime};
	return w;
}

/* One reply: the call was sent at `sent_us`, it is now. */
static void say(struct world *w, uint32_t proc, const union nfs_args *args,
    const union nfs_res *res, uint64_t sent_us)
{
	char body[4096];
	struct xdr_view view = {.data = body};
	struct learn l = {.caches = w->caches,
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc),
	    .args = args,
	    .res = res,
	    .body = &view,
	    .cred = w->cred,
	    .sent_us = sent_us,
	    .now_us = w->now_us};

	view.len = (uint32_t)nfs_res_encode(l.proc, res, body, sizeof(body));
	learn_reply(&l);
}

/* A call that is answered 40 ms after it is sent. */
static uint64_t round_trip(struct world *w)
{
	uint64_t sent_us = w->now_us;

	w->now_us += 40 * MS;
	return sent_us;
}

static void say_getattr(struct world *w, const char *fh, const fattr3 *a)
{
	union nfs_args args = {.object = fh_of(fh)};
	union nfs_res res = {.status = NFS3_OK};

	res.getattr.GETATTR3res_u.resok.obj_attributes = *a;
	say(w, NFSPROC3_GETATTR, &args, &res, round_trip(w));
}

static void say_dir(struct world *w, const char *fh, uint32_t ctime)
{
	fattr3 a = attr_of(NF3DIR, 1, ctime);

	say_getattr(w, fh, &a);
}

static void say_lookup(struct world *w, const char *name, const char *child,
    uint32_t dir_ctime, uint64_t sent_us)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of(name)}};
	union nfs_res res = {.status = child ? NFS3_OK : NFS3ERR_NOENT};

	if (child) {
		LOOKUP3resok *r = &res.lookup.LOOKUP3res_u.resok;

		r->object = fh_of(child);
		r->obj_attributes = post(NF3REG, 20, 5);
		r->dir_attributes = post(NF3DIR, 1, dir_ctime);
	} else {
		res.lookup.LOOKUP3res_u.dir_attributes =
		    post(NF3DIR, 1, dir_ctime);
	}
	say(w, NFSPROC3_LOOKUP, &args, &res, sent_us);
}

static void say_pathconf(struct world *w, bool with_attributes)
{
	union nfs_args args = {.object = fh_of("dir")};
	union nfs_res res = {.status = NFS3_OK};

	if (with_attributes)
		res.pathconf.PATHCONF3res_u.resok.obj_attributes =
		    post(NF3DIR, 1, 10);
	res.pathconf.PATHCONF3res_u.resok.case_preserving = TRUE;
	say(w, NFSPROC3_PATHCONF, &args, &res, round_trip(w));
}

static void say_sensitive(struct world *w)
{
	say_pathconf(w, true);
}

static void say_remove(
    struct world *w, const char *name, uint32_t before, uint32_t after)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of(name)}};
	union nfs_res res = {.status = NFS3_OK};

	res.wccstat.wcc = wcc(1, before, after);
	say(w, NFSPROC3_REMOVE, &args, &res, round_trip(w));
}

/* ---- questions -------------------------------------------------------- */

static struct contract contract_now(const struct world *w)
{
	struct contract c;

	contract_init(&c, &w->config.policy, false, w->now_us, w->now_us);
	return c;
}

static struct node *node_of(struct world *w, const char *fh)
{
	nfs3_fh view = fh_of(fh);

	return attrcache_find(w->caches->attr, &view);
}

static bool fresh(struct world *w, const char *fh)
{
	struct contract c = contract_now(w);
	struct node *n = node_of(w, fh);

	return n && contract_fresh(&c, attrcache_sent(w->caches->attr, n));
}

/* Whether a name's binding holds, its directory being confirmed or not. */
static bool holds(struct world *w, const char *name)
{
	struct contract c = contract_now(w);
	nfs3_name view = fh_of(name);
	struct node *dir = node_of(w, "dir");
	struct dentry *d = namecache_find(w->caches->names, dir, &view);
	struct binding b;

	if (!d)
		return false;
	b = dentry_binding(d);
	return contract_bound(&c, w->caches->attr, dir, &b);
}

static void set_mode(struct world *w, enum config_consistency mode)
{
	w->config.policy.consistency = mode;
}

/* ---- consistency ------------------------------------------------------ */

static void test_bounded_counts_from_sending(void **state)
{
	struct world *w = *state;

	say_dir(w, "dir", 10);
	assert_true(fresh(w, "dir"));
	w->now_us += 3 * S - 40 * MS;
	assert_true(fresh(w, "dir"));
	w->now_us += 1;
	assert_false(fresh(w, "dir"));
}

static void test_strict_wants_a_later_call(void **state)
{
	struct world *w = *state;
	struct contract c;
	uint64_t received_us = w->now_us;

	set_mode(w, CONFIG_CONSISTENCY_STRICT);
	say_dir(w, "dir", 10);
	assert_false(fresh(w, "dir"));
	/* A request that came in before the call was sent. */
	contract_init(&c, &w->config.policy, false, received_us, w->now_us);
	assert_true(contract_fresh(
	    &c, attrcache_sent(w->caches->attr, node_of(w, "dir"))));
}

static void test_frozen_asks_once(void **state)
{
	struct world *w = *state;

	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	say_dir(w, "dir", 10);
	w->now_us += UINT64_C(86400) * S;
	assert_true(fresh(w, "dir"));
}

static void test_offline_takes_any(void **state)
{
	struct world *w = *state;
	struct contract c;

	say_dir(w, "dir", 10);
	w->now_us += UINT64_C(600) * S;
	contract_init(&c, &w->config.policy, true, w->now_us, w->now_us);
	assert_true(contract_fresh(&c, T0));
	assert_true(contract_granted(&c, T0));
	w->now_us += UINT64_C(3600) * S;
	contract_init(&c, &w->config.policy, true, w->now_us, w->now_us);
	assert_false(contract_granted(&c, T0));
}

/* ---- grains ----------------------------------------------------------- */

static void test_binding_is_firm_after_a_grain(void **state)
{
	struct world *w = *state;

	say_dir(w, "dir", 10);
	w->now_us += GRAIN_US;
	say_lookup(w, "late", "f", 10, round_trip(w));
	w->now_us += 20 * S;
	say_dir(w, "dir", 10);
	assert_true(holds(w, "late"));
}

static void test_binding_is_provisional_within_a_grain(void **state)
{
	struct world *w = *state;

	say_dir(w, "dir", 10);
	w->now_us += GRAIN_US - 1;
	say_lookup(w, "soon", "f", 10, round_trip(w));
	assert_true(holds(w, "soon"));
	w->now_us += 3 * S;
	say_dir(w, "dir", 10);
	assert_false(holds(w, "soon"));
}

static void test_grain_is_a_second_for_whole_seconds(void **state)
{
	struct world *w = *state;
	fattr3 a = attr_of(NF3DIR, 1, 10);
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of("x")}};
	union nfs_res res = {.status = NFS3ERR_NOENT};

	a.mtime.nseconds = a.ctime.nseconds = 0;
	say_getattr(w, "dir", &a);
	w->now_us += 900 * MS;
	res.lookup.LOOKUP3res_u.dir_attributes.attributes_follow = TRUE;
	res.lookup.LOOKUP3res_u.dir_attributes.post_op_attr_u.attributes = a;
	say(w, NFSPROC3_LOOKUP, &args, &res, round_trip(w));
	w->now_us += 3 * S;
	say_getattr(w, "dir", &a);
	assert_false(holds(w, "x"));
}

/* ---- changes ---------------------------------------------------------- */

static void test_foreign_change_ends_names(void **state)
{
	struct world *w = *state;

	say_dir(w, "dir", 10);
	w->now_us += S;
	say_lookup(w, "x", "f", 10, round_trip(w));
	say_dir(w, "dir", 11);
	assert_false(holds(w, "x"));
}

static void test_own_change_keeps_the_rest_for_the_bound(void **state)
{
	struct world *w = *state;

	say_sensitive(w);
	w->now_us += S;
	say_lookup(w, "x", "f", 10, round_trip(w));
	w->now_us += S;
	say_remove(w, "y", 10, 11);
	assert_true(holds(w, "x"));
	/* Another change may have met the same tick: asked for again. */
	w->now_us += 3 * S;
	say_dir(w, "dir", 11);
	assert_false(holds(w, "x"));
}

static void test_later_own_changes_do_not_renew(void **state)
{
	struct world *w = *state;

	say_sensitive(w);
	w->now_us += S;
	say_lookup(w, "x", "f", 10, round_trip(w));
	say_remove(w, "y", 10, 11);
	w->now_us += 2 * S;
	say_remove(w, "z", 11, 12);
	w->now_us += 1500 * MS;
	assert_false(holds(w, "x"));
}

static void test_foreign_change_under_an_own_one(void **state)
{
	struct world *w = *state;

	say_sensitive(w);
	w->now_us += S;
	say_lookup(w, "x", "f", 10, round_trip(w));
	/* Before ours it was 11: somebody was there. */
	say_remove(w, "y", 11, 12);
	assert_false(holds(w, "x"));
}

/* As at a mount, where knfsd tells no attributes. */
static void test_pathconf_before_attributes(void **state)
{
	struct world *w = *state;

	say_pathconf(w, false);
	say_dir(w, "dir", 10);
	w->now_us += S;
	say_lookup(w, "x", "f", 10, round_trip(w));
	say_remove(w, "y", 10, 11);
	assert_true(holds(w, "x"));
}

static void test_own_change_where_names_fold(void **state)
{
	struct world *w = *state;

	/* Whether case counts was never asked. */
	say_dir(w, "dir", 10);
	w->now_us += S;
	say_lookup(w, "NAME", "f", 10, round_trip(w));
	say_remove(w, "name", 10, 11);
	assert_false(holds(w, "NAME"));
}

static void test_reply_from_before_an_own_change(void **state)
{
	struct world *w = *state;
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

static void test_older_call_never_overwrites(void **state)
{
	struct world *w = *state;
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

static void test_another_handle_of_the_file(void **state)
{
	struct world *w = *state;
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
static void test_failed_change_tells_of_the_directory(void **state)
{
	struct world *w = *state;
	union nfs_args args = {
	    .mkdir.where = {.dir = fh_of("dir"), .name = fh_of("d")}};
	union nfs_res res = {.status = NFS3ERR_EXIST};

	say_sensitive(w);
	w->now_us += S;
	say_lookup(w, "x", NULL, 10, round_trip(w));
	assert_true(holds(w, "x"));
	/* Somebody else was there: the directory is another. */
	res.newobj.newobj3res_u.dir_wcc = wcc(1, 10, 50);
	say(w, NFSPROC3_MKDIR, &args, &res, round_trip(w));
	assert_int_equal(node_of(w, "dir")->ctime.seconds, 50);
	assert_false(holds(w, "x"));
}

static void test_setattr_that_failed_half_way(void **state)
{
	struct world *w = *state;
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
static void test_replies_that_crossed(void **state)
{
	struct world *w = *state;
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
static void test_rename_of_one_of_two_names(void **state)
{
	struct world *w = *state;
	union nfs_args args = {
	    .rename = {.from = {.dir = fh_of("dir"), .name = fh_of("x")},
		.to = {.dir = fh_of("dir"), .name = fh_of("y")}}};
	union nfs_res res = {.status = NFS3_OK};
	fattr3 a = attr_of(NF3REG, 20, 5);
	nfs3_name x = fh_of("x");

	say_sensitive(w);
	w->now_us += S;
	say_lookup(w, "x", "f", 10, round_trip(w));
	say_lookup(w, "y", "f", 10, round_trip(w));
	a.nlink = 2;
	a.ctime.seconds = 6;
	say_getattr(w, "f", &a);
	res.rename.fromdir_wcc = res.rename.todir_wcc = wcc(1, 10, 10);
	say(w, NFSPROC3_RENAME, &args, &res, round_trip(w));
	assert_null(namecache_find(w->caches->names, node_of(w, "dir"), &x));
}

static void test_export_that_moved(void **state)
{
	struct world *w = *state;
	struct config_export over = {.path = (char *)"/src"};

	w->config.overrides = &over;
	w->config.noverrides = 1;
	caches_set_export(w->caches, "/src", 7);
	assert_int_equal(
	    attrcache_find_fsys(w->caches->attr, 7)->export_plus_one, 1);
	caches_set_export(w->caches, "/src", 8);
	assert_int_equal(
	    attrcache_find_fsys(w->caches->attr, 8)->export_plus_one, 1);
	assert_int_equal(
	    attrcache_find_fsys(w->caches->attr, 7)->export_plus_one, 0);
	w->config.overrides = NULL;
	w->config.noverrides = 0;
}

/* Nothing is known of the handle that it is changed by. */
static void test_change_by_a_handle_not_seen_before(void **state)
{
	struct world *w = *state;
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

static void test_many_file_systems(void **state)
{
	struct world *w = *state;
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

static void test_unknown_effect_forgets(void **state)
{
	struct world *w = *state;
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of("x")}};
	struct learn l = {.caches = w->caches,
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_REMOVE),
	    .args = &args};

	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	say_dir(w, "dir", 10);
	w->now_us += S;
	say_lookup(w, "x", "f", 10, round_trip(w));
	l.sent_us = l.now_us = w->now_us;
	learn_unknown(&l);
	assert_false(holds(w, "x"));
	assert_false(fresh(w, "dir"));
}

static void test_stale_drops_names(void **state)
{
	struct world *w = *state;
	union nfs_args args = {.object = fh_of("f")};
	union nfs_res res = {.status = NFS3ERR_STALE};
	nfs3_name x = fh_of("x");
	struct dentry *d;

	say_dir(w, "dir", 10);
	w->now_us += S;
	say_lookup(w, "x", "f", 10, round_trip(w));
	say(w, NFSPROC3_GETATTR, &args, &res, round_trip(w));
	d = namecache_find(w->caches->names, node_of(w, "dir"), &x);
	assert_true(!d || !dentry_child(w->caches->names, d));
	assert_null(node_of(w, "f"));
	/* The same handle again is another node. */
	say_lookup(w, "x", "f", 10, round_trip(w));
	assert_true(fresh(w, "f"));
}

/* ---- rights ----------------------------------------------------------- */

static void say_access(
    struct world *w, const char *fh, uint32_t given, uint32_t ctime)
{
	union nfs_args args = {
	    .access = {.object = fh_of(fh), .access = ACCESS_ALL}};
	union nfs_res res = {.status = NFS3_OK};

	res.access.ACCESS3res_u.resok.obj_attributes = post(NF3REG, 20, ctime);
	res.access.ACCESS3res_u.resok.access = given;
	say(w, NFSPROC3_ACCESS, &args, &res, round_trip(w));
}

static void test_rights_are_one_credentials(void **state)
{
	struct world *w = *state;
	struct rpc_auth_sys auth = {.uid = 1001, .gid = 1000};
	struct rpc_cred cred = {.flavor = AUTH_SYS};
	uint32_t other = caches_cred(w->caches, &cred, &auth);

	say_access(w, "f", ACCESS3_READ, 5);
	assert_non_null(
	    accesscache_find(w->caches->access, node_of(w, "f"), w->cred));
	assert_null(
	    accesscache_find(w->caches->access, node_of(w, "f"), other));
}

static void test_groups_count_in_any_order(void **state)
{
	struct world *w = *state;
	struct rpc_cred cred = {.flavor = AUTH_SYS};
	struct rpc_auth_sys a = {
	    .uid = 5, .gid = 6, .ngids = 3, .gids = {9, 7, 8}};
	struct rpc_auth_sys b = {
	    .uid = 5, .gid = 6, .ngids = 4, .gids = {8, 9, 7, 7}};
	struct rpc_auth_sys c = {
	    .uid = 5, .gid = 6, .ngids = 2, .gids = {9, 7}};

	assert_int_equal(caches_cred(w->caches, &cred, &a),
	    caches_cred(w->caches, &cred, &b));
	assert_int_not_equal(caches_cred(w->caches, &cred, &a),
	    caches_cred(w->caches, &cred, &c));
}

static void test_ctime_does_not_renew_a_grant(void **state)
{
	struct world *w = *state;
	struct contract c;
	const struct grant *g;
	fattr3 a = attr_of(NF3REG, 20, 5);

	say_access(w, "f", ACCESS3_READ, 5);
	w->now_us += 3 * S;
	say_getattr(w, "f", &a);
	c = contract_now(w);
	g = accesscache_find(w->caches->access, node_of(w, "f"), w->cred);
	assert_true(fresh(w, "f"));
	assert_false(contract_granted(&c, g->access_us));
}

static void test_own_chmod_ends_grants(void **state)
{
	struct world *w = *state;
	union nfs_args args = {.setattr = {.object = fh_of("f")}};
	union nfs_res res = {.status = NFS3_OK};
	const struct grant *g;

	say_access(w, "f", ACCESS3_READ, 5);
	res.wccstat.wcc.after = post(NF3REG, 20, 6);
	say(w, NFSPROC3_SETATTR, &args, &res, round_trip(w));
	g = accesscache_find(w->caches->access, node_of(w, "f"), w->cred);
	assert_true(!g || g->known == 0);
}

/* ---- memory ----------------------------------------------------------- */

static void test_budget_holds(void **state)
{
	struct world *w = *state;
	char name[32], fh[32];

	w->caches->memory_bytes = 4 << 20;
	say_dir(w, "dir", 10);
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		snprintf(fh, sizeof(fh), "handle-of-28-bytes--%08d", i);
		say_lookup(w, name, fh, 10, w->now_us);
		w->now_us += MS;
	}
	assert_true(caches_bytes(w->caches) <= 4 << 20);
	/* The latest are there, and the directory that all went through. */
	assert_non_null(node_of(w, "dir"));
	assert_true(holds(w, name));
	assert_true(attrcache_count(w->caches->attr) > 10000);
}

static void test_entry_is_small(void **state)
{
	struct world *w = *state;
	char name[32], fh[32];

	w->cred = 0;
	say_dir(w, "dir", 10);
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "name-%07d", i);
		snprintf(fh, sizeof(fh), "handle-of-28-bytes--%08d", i);
		say_lookup(w, name, fh, 10, w->now_us);
	}
	assert_int_equal(attrcache_count(w->caches->attr), 100001);
	print_message("%zu bytes an entry\n", caches_entry_bytes(w->caches));
	assert_true(caches_entry_bytes(w->caches) <= 160);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_bounded_counts_from_sending),
	    TEST(test_strict_wants_a_later_call),
	    TEST(test_frozen_asks_once),
	    TEST(test_offline_takes_any),
	    TEST(test_binding_is_firm_after_a_grain),
	    TEST(test_binding_is_provisional_within_a_grain),
	    TEST(test_grain_is_a_second_for_whole_seconds),
	    TEST(test_foreign_change_ends_names),
	    TEST(test_own_change_keeps_the_rest_for_the_bound),
	    TEST(test_later_own_changes_do_not_renew),
	    TEST(test_foreign_change_under_an_own_one),
	    TEST(test_pathconf_before_attributes),
	    TEST(test_own_change_where_names_fold),
	    TEST(test_reply_from_before_an_own_change),
	    TEST(test_older_call_never_overwrites),
	    TEST(test_another_handle_of_the_file),
	    TEST(test_failed_change_tells_of_the_directory),
	    TEST(test_setattr_that_failed_half_way),
	    TEST(test_replies_that_crossed),
	    TEST(test_rename_of_one_of_two_names),
	    TEST(test_export_that_moved),
	    TEST(test_change_by_a_handle_not_seen_before),
	    TEST(test_many_file_systems),
	    TEST(test_unknown_effect_forgets),
	    TEST(test_stale_drops_names),
	    TEST(test_rights_are_one_credentials),
	    TEST(test_groups_count_in_any_order),
	    TEST(test_ctime_does_not_renew_a_grant),
	    TEST(test_own_chmod_ends_grants),
	    TEST(test_budget_holds),
	    TEST(test_entry_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
