/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metadata survives a restart, and a saved file that is not sound does no harm.
 */
#include <unistd.h>

#include "unittest.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn_said.h"
#include "cache/metafile.h"
#include "cache/metasave.h"

enum { S = 1000000 };

struct world {
	struct event_base *base;
	struct iopool *pool;
	struct metrics *metrics;
	struct caches *caches;
	struct config_server config;
	const char *dir;
	char path[64];
	uint32_t cred;
};

static void begin(struct world *w)
{
	struct rpc_auth_sys auth = {.uid = 7, .ngids = 2, .gids = {3, 4}};
	struct rpc_cred cred = {.flavor = AUTH_SYS};

	w->caches = caches_new(&w->config, w->metrics, 64 << 20, NULL);
	w->cred = caches_cred(w->caches, &cred, &auth);
}

static void setup(struct world *w)
{
	w->config.policy =
	    (struct config_policy){.consistency = CONFIG_CONSISTENCY_BOUNDED,
		.attr_timeout_us = 3 * S,
		.negative_timeout_us = 3 * S,
		.grant_timeout_us = UINT64_C(3600) * S};
	w->dir = unittest_folder();
	snprintf(w->path, sizeof(w->path), "%s/names", w->dir);
	w->base = event_base_new();
	w->pool = iopool_new(w->base, 2);
	w->metrics = metrics_new();
	begin(w);
}

static void teardown(struct world *w)
{
	caches_free(w->caches);
	iopool_free(w->pool);
	event_base_free(w->base);
	metrics_free(w->metrics);
}

static struct metasave *saver(struct world *w)
{
	struct metasave_params p = {.base = w->base,
	    .iopool = w->pool,
	    .caches = w->caches,
	    .path = w->path,
	    .server = "nas"};

	return metasave_new(&p);
}

/* The end of the daemon. */
static void finish(struct metasave *ms)
{
	metasave_finish(ms);
	metasave_free(ms);
}

/* Fill the caches, which are empty, from the file. */
static void load(const struct world *w, struct metasave *ms)
{
	struct metasave_file f;

	metasave_read(w->path, "nas", &f);
	metasave_use(ms, &f);
}

/* Save, and begin with empty caches that load it. */
static void restart(struct world *w)
{
	struct metasave *ms = saver(w);

	finish(ms);
	caches_free(w->caches);
	begin(w);
	ms = saver(w);
	load(w, ms);
	finish(ms);
}

static post_op_attr attr_of(ftype3 type, uint64_t fileid, uint32_t ctime)
{
	post_op_attr p = {.attributes_follow = TRUE};

	p.post_op_attr_u.attributes = (fattr3){.type = type,
	    .mode = 0640,
	    .nlink = 1,
	    .uid = 5,
	    .gid = 6,
	    .size = 1234,
	    .used = 4096,
	    .fsid = 7,
	    .fileid = fileid,
	    .atime = {1, 2},
	    .mtime = {3, 4},
	    .ctime = {ctime, 6}};
	return p;
}

static void say(struct world *w, uint32_t proc, const union nfs_args *args,
    const union nfs_res *res, uint64_t now_us)
{
	struct learn l = {.caches = w->caches,
	    .args = args,
	    .res = res,
	    .cred = w->cred,
	    .sent_us = now_us,
	    .now_us = now_us + 1};

	learn_said(l, proc);
}

static void say_lookup(struct world *w, uint64_t now_us)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of("name")}};
	union nfs_res res = {.status = NFS3_OK};
	LOOKUP3resok *r = &res.lookup.LOOKUP3res_u.resok;

	r->object = fh_of("file");
	r->obj_attributes = attr_of(NF3REG, 20, 9);
	r->dir_attributes = attr_of(NF3DIR, 1, 10);
	say(w, NFSPROC3_LOOKUP, &args, &res, now_us);
}

static uint64_t clock_us(void)
{
	struct timespec ts;

	/* clock.h */
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (UINT64_C(1) << 40) + (uint64_t)ts.tv_sec * S +
	       (uint64_t)ts.tv_nsec / 1000;
}

static struct node *node_of(struct world *w, const char *fh)
{
	nfs3_fh view = fh_of(fh);

	return attrcache_find(w->caches->attr, &view);
}

static struct dentry *name_of(struct world *w)
{
	nfs3_name name = fh_of("name");

	return namecache_find(w->caches->names, node_of(w, "dir"), &name);
}

FIXTURE(struct world, setup, teardown);

TEST(test_survives, struct world *w)
{
	uint64_t now_us = clock_us();
	const struct grant *g;
	struct contract c;
	fattr3 a, was = attr_of(NF3REG, 20, 9).post_op_attr_u.attributes;

	/* The second one is a grain behind the first, so it is firm. */
	say_lookup(w, now_us - 2 * S);
	say_lookup(w, now_us - S);
	restart(w);
	assert_non_null(node_of(w, "file"));
	attrcache_fattr(w->caches->attr, node_of(w, "file"), &a);
	assert_int_equal(a.mode, was.mode);
	assert_int_equal(a.used, was.used);
	assert_int_equal(a.fileid, was.fileid);
	assert_memory_equal(&a.atime, &was.atime, 3 * sizeof(a.atime));
	assert_ptr_equal(
	    dentry_child(w->caches->names, name_of(w)), node_of(w, "file"));
	assert_true(dentry_binding(name_of(w)).firm);
	/* To be confirmed before use, but in frozen mode. */
	contract_init(&c, &w->config.policy, false, now_us, now_us);
	assert_false(contract_fresh(
	    &c, attrcache_sent(w->caches->attr, node_of(w, "file"))));
	c.mode = CONFIG_CONSISTENCY_FROZEN;
	assert_true(contract_fresh(
	    &c, attrcache_sent(w->caches->attr, node_of(w, "file"))));
	/* Rights have the age that they had. */
	g = accesscache_find(w->caches->access, node_of(w, "dir"), w->cred);
	assert_non_null(g);
	assert_true(g->own_us <= now_us - S + 100000 &&
		    g->own_us >= now_us - S - 100000);
}

TEST(test_change_is_noticed, struct world *w)
{
	uint64_t now_us = clock_us();
	union nfs_args args = {.object = fh_of("dir")};
	union nfs_res res = {.status = NFS3_OK};
	struct contract c;
	struct binding b;

	say_lookup(w, now_us - 2 * S);
	say_lookup(w, now_us - S);
	restart(w);
	/* No call was sent before the start. */
	now_us = clock_us();
	res.getattr.GETATTR3res_u.resok.obj_attributes =
	    attr_of(NF3DIR, 1, 11).post_op_attr_u.attributes;
	say(w, NFSPROC3_GETATTR, &args, &res, now_us);
	contract_init(&c, &w->config.policy, false, now_us, now_us);
	c.mode = CONFIG_CONSISTENCY_FROZEN;
	b = dentry_binding(name_of(w));
	assert_false(
	    contract_bound(&c, w->caches->attr, node_of(w, "dir"), &b));
}

/* A kill -9: what was saved may lack changes that were answered. */
static void killed(struct world *w)
{
	struct metasave *ms = saver(w);
	char whole[80];

	finish(ms);
	snprintf(whole, sizeof(whole), "%s.whole", w->path);
	assert_int_equal(unlink(whole), 0);
	caches_free(w->caches);
	begin(w);
	ms = saver(w);
	load(w, ms);
	finish(ms);
}

static bool frozen_fresh(struct world *w, uint64_t now_us)
{
	struct contract c;

	contract_init(&c, &w->config.policy, false, now_us, now_us);
	c.mode = CONFIG_CONSISTENCY_FROZEN;
	return contract_fresh(
	    &c, attrcache_sent(w->caches->attr, node_of(w, "dir")));
}

static bool frozen_holds(struct world *w, uint64_t now_us)
{
	struct binding b = dentry_binding(name_of(w));
	struct contract c;

	contract_init(&c, &w->config.policy, false, now_us, now_us);
	c.mode = CONFIG_CONSISTENCY_FROZEN;
	return contract_bound(&c, w->caches->attr, node_of(w, "dir"), &b);
}

static void confirm_dir(struct world *w, uint32_t ctime, uint64_t sent_us)
{
	union nfs_args args = {.object = fh_of("dir")};
	union nfs_res res = {.status = NFS3_OK};

	res.getattr.GETATTR3res_u.resok.obj_attributes =
	    attr_of(NF3DIR, 1, ctime).post_op_attr_u.attributes;
	say(w, NFSPROC3_GETATTR, &args, &res, sent_us);
}

TEST(test_frozen_asks_once_more_after_a_kill, struct world *w)
{
	uint64_t now_us = clock_us();

	say_lookup(w, now_us - 2 * S);
	say_lookup(w, now_us - S);
	killed(w);
	assert_false(frozen_fresh(w, now_us));
	confirm_dir(w, 10, clock_us());
	assert_true(frozen_fresh(w, now_us));
	assert_true(frozen_holds(w, now_us));
}

TEST(test_frozen_sees_own_change_after_a_kill, struct world *w)
{
	uint64_t now_us = clock_us();

	say_lookup(w, now_us - 2 * S);
	say_lookup(w, now_us - S);
	killed(w);
	confirm_dir(w, 11, clock_us());
	assert_true(frozen_fresh(w, now_us));
	assert_false(frozen_holds(w, now_us));
}

/* The next daemon ends in good order, but has not looked at what it loaded:
 * that is in doubt as before. */
TEST(test_doubt_outlives_a_good_end, struct world *w)
{
	uint64_t now_us = clock_us();

	say_lookup(w, now_us - 2 * S);
	say_lookup(w, now_us - S);
	killed(w);
	restart(w);
	assert_false(frozen_fresh(w, now_us));
	/* Nor is it, where that daemon has saved something else. */
	w->caches->dirty = true;
	restart(w);
	w->caches->dirty = true;
	restart(w);
	assert_false(frozen_fresh(w, now_us));
	confirm_dir(w, 10, clock_us());
	restart(w);
	assert_true(frozen_fresh(w, now_us));
	assert_true(frozen_holds(w, now_us));
}

/* A name that is not firm is confirmed by itself alone. */
TEST(test_doubt_of_a_name_outlives_a_good_end, struct world *w)
{
	uint64_t now_us = clock_us();

	say_lookup(w, now_us - S);
	killed(w);
	confirm_dir(w, 10, clock_us());
	restart(w);
	restart(w);
	assert_true(frozen_fresh(w, now_us));
	assert_false(frozen_holds(w, now_us));
}

/* Word of a good end counts once. */
TEST(test_word_of_a_good_end_is_taken, struct world *w)
{
	struct metasave *ms;
	char whole[80];

	snprintf(whole, sizeof(whole), "%s.whole", w->path);
	say_lookup(w, clock_us() - S);
	finish(saver(w));
	assert_int_equal(access(whole, F_OK), 0);
	caches_free(w->caches);
	begin(w);
	ms = AFTER(finish, saver(w));
	load(w, ms);
	assert_true(frozen_fresh(w, clock_us()));
	assert_int_not_equal(access(whole, F_OK), 0);
}

TEST(test_a_clock_set_back_is_remembered, struct world *w)
{
	uint64_t now_us = clock_us();

	say_lookup(w, now_us - 4 * S);
	confirm_dir(w, 100, now_us - 3 * S);
	assert_false(attrcache_get_fsys(w->caches->attr, 7)->clock_back);
	confirm_dir(w, 50, now_us - 2 * S);
	assert_true(attrcache_get_fsys(w->caches->attr, 7)->clock_back);
	say_lookup(w, now_us - S);
	restart(w);
	assert_true(attrcache_get_fsys(w->caches->attr, 7)->clock_back);
	assert_false(dentry_binding(name_of(w)).firm);
}

/* A binding that a later ctime made firm at once is firm for the next daemon,
 * too. */
TEST(test_firm_at_once_survives, struct world *w)
{
	uint64_t now_us = clock_us();
	union nfs_args args = {.object = fh_of("other")};
	union nfs_res res = {.status = NFS3_OK};

	res.getattr.GETATTR3res_u.resok.obj_attributes =
	    attr_of(NF3REG, 21, 20).post_op_attr_u.attributes;
	say(w, NFSPROC3_GETATTR, &args, &res, now_us - 2 * S);
	say_lookup(w, now_us - S);
	restart(w);
	assert_true(dentry_binding(name_of(w)).firm);
}

static void flip(const char *path, long at)
{
	FILE *f = fopen(path, "r+");
	int c;

	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	c = fgetc(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	fputc(c ^ 1, f);
	fclose(f);
}

TEST(test_damaged_is_set_aside, struct world *w)
{
	struct metasave *ms;
	char aside[80];

	snprintf(aside, sizeof(aside), "%s.damaged", w->path);
	for (long at = 0; at < 300; at += 7) {
		say_lookup(w, clock_us());
		finish(saver(w));
		flip(w->path, at);
		caches_free(w->caches);
		begin(w);
		ms = saver(w);
		load(w, ms);
		assert_int_equal(attrcache_count(w->caches->attr), 0);
		assert_int_equal(access(aside, F_OK), 0);
		assert_int_not_equal(access(w->path, F_OK), 0);
		finish(ms);
	}
}

TEST(test_cut_is_set_aside, struct world *w)
{
	struct metasave *ms;

	for (long len = 0; len < 300; len += 13) {
		say_lookup(w, clock_us());
		finish(saver(w));
		assert_int_equal(truncate(w->path, len), 0);
		caches_free(w->caches);
		begin(w);
		ms = saver(w);
		load(w, ms);
		assert_int_equal(attrcache_count(w->caches->attr), 0);
		finish(ms);
	}
}

static void put_cred(struct metabuf *b, uint32_t id, uint32_t uid)
{
	struct rpc_auth_sys auth = {.uid = uid};
	size_t at = metabuf_begin(b, METAFILE_CRED);
	struct cred_key key;

	cred_key_make(&key, AUTH_SYS, &auth);
	metabuf_put_u32(b, id);
	metabuf_put(b, &key, sizeof(key));
	metabuf_end(b, at);
}

/* A node by the name of a credential's number, which may read it. */
static void put_node(struct metabuf *b, uint32_t id)
{
	post_op_attr a = attr_of(NF3REG, id, 9);
	size_t at = metabuf_begin(b, METAFILE_NODE);

	metabuf_put_bytes(b, &id, sizeof(id));
	metabuf_put(b, &a.post_op_attr_u.attributes, sizeof(fattr3));
	metabuf_put_u32(b, id);
	metabuf_put_u8(b, 0);
	metabuf_put_u8(b, 0);
	for (int i = 0; i < 3; i++)
		metabuf_put_u64(b, clock_real_us());
	for (int i = 0; i < 3; i++) /* no more grants, answers, listings */
		metabuf_put_u32(b, 0);
	metabuf_end(b, at);
}

/* Whether the user may read the node, as far as is known. */
static bool reads(const struct world *w, uint32_t id, uint32_t uid)
{
	struct rpc_auth_sys auth = {.uid = uid};
	struct rpc_cred cred = {.flavor = AUTH_SYS};
	nfs3_fh fh = {sizeof(id), (void *)&id};
	struct node *node = attrcache_find(w->caches->attr, &fh);

	assert_non_null(node);
	return accesscache_find(w->caches->access, node,
		   caches_cred(w->caches, &cred, &auth)) != NULL;
}

/* Numbers stand in the file in any order. Of one that stands there twice, as in
 * no file of ours, the first user counts. */
TEST(test_rights_are_whose_they_were, struct world *w)
{
	enum { CREDS = 300, UID = 1000, OTHER = 2000 };
	struct metabuf b = {0};
	struct metaview v;

	for (uint32_t i = 0; i < CREDS; i++)
		put_cred(&b, 1 + i * 7 % CREDS, UID + 1 + i * 7 % CREDS);
	for (uint32_t id = 1; id <= CREDS; id++)
		put_cred(&b, id, OTHER + id);
	for (uint32_t id = 1; id <= CREDS; id++)
		put_node(&b, id);
	v = (struct metaview){.data = b.data, .len = b.len};
	assert_true(metapack_load(w->caches, &v, true, clock_us()));
	for (uint32_t id = 1; id <= CREDS; id++) {
		assert_true(reads(w, id, UID + id));
		assert_false(reads(w, id, UID + 1 + id % CREDS));
		assert_false(reads(w, id, OTHER + id));
	}
	free(b.data);
}
