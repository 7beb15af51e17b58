/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches in virtual time. A server's replies go in through learn_reply(), 40 ms
 * after the call; what may be answered from them comes out of contract.h. The
 * directory "dir" has the file number 1.
 */
#ifndef FOREFETCH_TEST_CACHES_FIXTURE_H
#define FOREFETCH_TEST_CACHES_FIXTURE_H

#include "unittest.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn_said.h"

enum { MS = 1000, S = 1000000 };

static const uint64_t T0 = UINT64_C(1) << 40;

struct world {
	struct caches *caches;
	struct metrics *metrics;
	struct config_server config;
	uint64_t now_us;
	uint32_t cred;
};

static inline void setup(struct world *w)
{
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
}

static inline void teardown(struct world *w)
{
	caches_free(w->caches);
	metrics_free(w->metrics);
}

/* ---- a server's words ------------------------------------------------- */

static inline fattr3 attr_of(ftype3 type, uint64_t fileid, uint32_t ctime)
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

static inline post_op_attr post(ftype3 type, uint64_t fileid, uint32_t ctime)
{
	post_op_attr p = {.attributes_follow = TRUE};

	p.post_op_attr_u.attributes = attr_of(type, fileid, ctime);
	return p;
}

static inline wcc_data wcc(uint64_t fileid, uint32_t before, uint32_t after)
{
	fattr3 a = attr_of(NF3DIR, fileid, before);
	wcc_data w = {.after = post(NF3DIR, fileid, after)};

	w.before.attributes_follow = TRUE;
	w.before.pre_op_attr_u.attributes =
	    (wcc_attr){.size = a.size, .mtime = a.mtime, .ctime = a.ctime};
	return w;
}

/* One reply: the call was sent at `sent_us`, it is now. */
static inline void say(struct world *w, uint32_t proc,
    const union nfs_args *args, const union nfs_res *res, uint64_t sent_us)
{
	struct learn l = {.caches = w->caches,
	    .args = args,
	    .res = res,
	    .cred = w->cred,
	    .sent_us = sent_us,
	    .now_us = w->now_us};

	learn_said(l, proc);
}

/* A call that is answered 40 ms after it is sent. */
static inline uint64_t round_trip(struct world *w)
{
	uint64_t sent_us = w->now_us;

	w->now_us += 40 * MS;
	return sent_us;
}

static inline void say_getattr(struct world *w, const char *fh, const fattr3 *a)
{
	union nfs_args args = {.object = fh_of(fh)};
	union nfs_res res = {.status = NFS3_OK};

	res.getattr.GETATTR3res_u.resok.obj_attributes = *a;
	say(w, NFSPROC3_GETATTR, &args, &res, round_trip(w));
}

static inline void say_dir(struct world *w, const char *fh, uint32_t ctime)
{
	fattr3 a = attr_of(NF3DIR, 1, ctime);

	say_getattr(w, fh, &a);
}

static inline void say_lookup(struct world *w, const char *name,
    const char *child, uint32_t dir_ctime, uint64_t sent_us)
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

/* A second later. */
static inline void say_lookup_later(
    struct world *w, const char *name, const char *child, uint32_t dir_ctime)
{
	w->now_us += S;
	say_lookup(w, name, child, dir_ctime, round_trip(w));
}

static inline void say_named(struct world *w, const char *dir, uint64_t dir_id,
    const char *name, const char *child, ftype3 type, uint64_t id)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of(dir), .name = fh_of(name)}};
	union nfs_res res = {.status = NFS3_OK};
	LOOKUP3resok *r = &res.lookup.LOOKUP3res_u.resok;

	r->object = fh_of(child);
	r->obj_attributes = post(type, id, 5);
	r->dir_attributes = post(NF3DIR, dir_id, 10);
	say(w, NFSPROC3_LOOKUP, &args, &res, round_trip(w));
}

/* "dir" holds "sub", which is a directory of the handle "s", and that "file".
 */
static inline void say_tree(struct world *w)
{
	say_dir(w, "dir", 10);
	w->now_us += 1 * S;
	say_named(w, "dir", 1, "sub", "s", NF3DIR, 2);
	say_named(w, "s", 2, "file", "f", NF3REG, 20);
}

static inline void say_pathconf(struct world *w, bool with_attributes)
{
	union nfs_args args = {.object = fh_of("dir")};
	union nfs_res res = {.status = NFS3_OK};

	if (with_attributes)
		res.pathconf.PATHCONF3res_u.resok.obj_attributes =
		    post(NF3DIR, 1, 10);
	res.pathconf.PATHCONF3res_u.resok.case_preserving = TRUE;
	say(w, NFSPROC3_PATHCONF, &args, &res, round_trip(w));
}

static inline void say_sensitive(struct world *w)
{
	say_pathconf(w, true);
}

static inline void say_remove(
    struct world *w, const char *name, uint32_t before, uint32_t after)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of(name)}};
	union nfs_res res = {.status = NFS3_OK};

	res.wccstat.wcc = wcc(1, before, after);
	say(w, NFSPROC3_REMOVE, &args, &res, round_trip(w));
}

/* ---- questions -------------------------------------------------------- */

static inline struct contract contract_now(const struct world *w)
{
	struct contract c;

	contract_init(&c, &w->config.policy, false, w->now_us, w->now_us);
	return c;
}

static inline struct node *node_of(struct world *w, const char *fh)
{
	nfs3_fh view = fh_of(fh);

	return attrcache_find(w->caches->attr, &view);
}

static inline bool fresh(struct world *w, const char *fh)
{
	struct contract c = contract_now(w);
	struct node *n = node_of(w, fh);

	return n && contract_fresh(&c, attrcache_sent(w->caches->attr, n));
}

/* Whether a name's binding holds, its directory being confirmed or not. */
static inline bool holds(struct world *w, const char *name)
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

static inline void set_mode(struct world *w, enum config_consistency mode)
{
	w->config.policy.consistency = mode;
}

#endif
