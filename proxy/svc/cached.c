/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers about one object: what they need is the table in DESIGN,
 * "Contract"; listings are in cached_list.c, data in cached_read.c.
 */
#include "svc/cached.h"

#include <string.h>

#include "svc/cached_private.h"

void cached_open_node(
    struct cached *k, const struct svc_rqst *rqst, struct node *node)
{
	k->caches = svc_caches(rqst->svc);
	k->node = node;
	contract_init(&k->contract, caches_policy(k->caches, node),
	    svc_offline(rqst->svc), rqst->received_us, rqst->now_us);
	k->grant = accesscache_find(k->caches->access, node, rqst->cred_id);
	k->sent_us = attrcache_sent(k->caches->attr, node);
}

bool cached_open(
    struct cached *k, const struct svc_rqst *rqst, const nfs3_fh *fh)
{
	struct node *node = attrcache_find(svc_caches(rqst->svc)->attr, fh);

	if (!node)
		return false;
	cached_open_node(k, rqst, node);
	return true;
}

bool cached_fresh(const struct cached *k)
{
	return contract_fresh(&k->contract, k->sent_us);
}

bool cached_granted(const struct cached *k, uint32_t bits)
{
	const struct grant *g = k->grant;

	return g && (g->known & bits) == bits && (g->given & bits) == bits &&
	       contract_granted(&k->contract, g->access_us);
}

bool cached_own(const struct cached *k)
{
	return k->grant && contract_granted(&k->contract, k->grant->own_us);
}

bool cached_any(const struct cached *k)
{
	return k->grant && contract_granted(&k->contract, k->grant->any_us);
}

bool cached_bound(const struct cached *k, const struct binding *b)
{
	/* What must be asked for again may be gone, with all that hangs on it:
	 * a directory that we removed. */
	return k->sent_us != 0 &&
	       contract_bound(&k->contract, k->caches->attr, k->node, b) &&
	       (cached_fresh(k) || contract_fresh(&k->contract, b->sent_us));
}

post_op_attr cached_attr(const struct cached *k)
{
	post_op_attr attr = {.attributes_follow = FALSE};

	if (!cached_fresh(k))
		return attr;
	attr.attributes_follow = TRUE;
	attrcache_fattr(
	    k->caches->attr, k->node, &attr.post_op_attr_u.attributes);
	return attr;
}

void cached_served(
    const struct cached *k, struct svc_rqst *rqst, enum metrics_counter counter)
{
	struct metrics *m = svc_metrics(rqst->svc);

	metrics_add(m, counter, 1);
	if (!rqst->confirmed)
		metrics_add(m, METRICS_ROUND_TRIPS_SAVED, 1);
	svc_served(rqst->svc, k->sent_us, k->contract.now_us);
}

bool cached_missed(struct svc_rqst *rqst, enum metrics_counter counter)
{
	/* Once, however often it looks. */
	if (rqst->joins == 0 && !rqst->confirmed)
		metrics_add(svc_metrics(rqst->svc), counter, 1);
	return false;
}

bool cached_getattr(struct svc_rqst *rqst)
{
	union nfs_res res = {.status = NFS3_OK};
	struct cached k;

	if (!cached_open(&k, rqst, &rqst->args.object) || !cached_any(&k) ||
	    !cached_fresh(&k))
		return cached_missed(rqst, METRICS_ATTR_MISSES);
	attrcache_fattr(k.caches->attr, k.node,
	    &res.getattr.GETATTR3res_u.resok.obj_attributes);
	cached_served(&k, rqst, METRICS_ATTR_HITS);
	svc_reply_result(rqst, &res);
	return true;
}

bool cached_access(struct svc_rqst *rqst)
{
	union nfs_res res = {.status = NFS3_OK};
	ACCESS3resok *r = &res.access.ACCESS3res_u.resok;
	uint32_t asked = rqst->args.access.access;
	struct cached k;

	if (!cached_open(&k, rqst, &rqst->args.access.object) || !k.grant ||
	    (k.grant->known & asked) != asked ||
	    !contract_granted(&k.contract, k.grant->access_us) ||
	    !cached_fresh(&k))
		return cached_missed(rqst, METRICS_ACCESS_MISSES);
	r->obj_attributes = cached_attr(&k);
	r->access = k.grant->given & asked;
	cached_served(&k, rqst, METRICS_ACCESS_HITS);
	svc_reply_result(rqst, &res);
	return true;
}

/* ---- LOOKUP ----------------------------------------------------------- */

static void reply_absent(struct svc_rqst *rqst, const struct cached *dir)
{
	union nfs_res res = {.status = NFS3ERR_NOENT};

	res.lookup.LOOKUP3res_u.dir_attributes = cached_attr(dir);
	cached_served(dir, rqst, METRICS_NEGATIVE_HITS);
	svc_reply_result(rqst, &res);
}

/* An absence rests on what its name was asked, or the directory. */
static bool absence_holds(const struct cached *dir, const struct binding *b)
{
	uint64_t sent_us = b->sent_us;

	if (b->firm && dir->sent_us > sent_us)
		sent_us = dir->sent_us;
	return cached_bound(dir, b) && contract_absent(&dir->contract, sent_us);
}

/* A complete listing of the caller's own has no such name. */
static bool listed_absent(
    const struct cached *dir, uint32_t cred, const nfs3_name *name)
{
	const struct fsys *fs = attrcache_fsys(dir->caches->attr, dir->node);

	/* Names with a leading dot may be there though they are not listed:
	 * .snapshot, .zfs. */
	if (!fsys_lists_all(fs) || name->len == 0 || name->data[0] == '.')
		return false;
	for (int plus = 0; plus < 2; plus++) {
		struct listing *l = listcache_find(
		    dir->caches->lists, dir->node, cred, plus != 0);
		struct binding b;

		if (!l)
			continue;
		b = listing_binding(l);
		if (absence_holds(dir, &b) &&
		    listing_lacks(dir->caches->lists, l, name))
			return true;
	}
	return false;
}

static bool reply_found(
    struct svc_rqst *rqst, const struct cached *dir, struct node *child)
{
	union nfs_res res = {.status = NFS3_OK};
	LOOKUP3resok *r = &res.lookup.LOOKUP3res_u.resok;
	struct cached k;

	cached_open_node(&k, rqst, child);
	if (!cached_fresh(&k))
		return false;
	r->object = node_fh(child);
	r->obj_attributes = cached_attr(&k);
	r->dir_attributes = cached_attr(dir);
	cached_served(&k, rqst, METRICS_NAME_HITS);
	svc_reply_result(rqst, &res);
	return true;
}

bool cached_lookup(struct svc_rqst *rqst)
{
	const nfs3_name *name = &rqst->args.dirop.name;
	struct cached dir;
	struct dentry *d;
	struct binding b;

	if (!cached_open(&dir, rqst, &rqst->args.dirop.dir) ||
	    !(cached_granted(&dir, ACCESS3_LOOKUP) || cached_own(&dir)))
		return cached_missed(rqst, METRICS_NAME_MISSES);
	d = namecache_find(dir.caches->names, dir.node, name);
	if (d) {
		struct node *child = dentry_child(dir.caches->names, d);

		b = dentry_binding(d);
		if (d->child == 0 && absence_holds(&dir, &b)) {
			reply_absent(rqst, &dir);
			return true;
		}
		if (child && cached_bound(&dir, &b) &&
		    reply_found(rqst, &dir, child))
			return true;
	} else if (listed_absent(&dir, rqst->cred_id, name)) {
		reply_absent(rqst, &dir);
		return true;
	}
	return cached_missed(rqst, METRICS_NAME_MISSES);
}

/* ---- answers kept whole ----------------------------------------------- */

/* Their attributes stand first in all of them. */
static void put_attr(
    struct svc_rqst *rqst, union nfs_res *res, const struct cached *k)
{
	post_op_attr attr = cached_attr(k);

	if (rqst->proc->prog == NFSACL_PROGRAM)
		res->getacl.GETACL3res_u.resok.attributes = attr;
	else
		res->fsinfo.FSINFO3res_u.resok.obj_attributes = attr;
}

/* Bound to the object's version, or a thing of the file system's. */
static bool answer_holds(const struct svc_rqst *rqst, const struct cached *k,
    const struct binding *b)
{
	if (answer_of_version(rqst->proc))
		return cached_bound(k, b);
	return contract_fresh(&k->contract, b->sent_us);
}

bool cached_answer(struct svc_rqst *rqst)
{
	uint32_t key =
	    rqst->proc->prog == NFSACL_PROGRAM ? rqst->args.getacl.mask : 0;
	const struct answer *a;
	union nfs_res res;
	struct cached k;

	if (!cached_open(&k, rqst, &rqst->args.object) || !cached_any(&k) ||
	    !cached_fresh(&k))
		return cached_missed(rqst, METRICS_ANSWER_MISSES);
	a = answercache_find(k.caches->answers, k.node, rqst->proc, key);
	if (!a || !answer_holds(rqst, &k, &a->bound) ||
	    !nfs_res_decode(rqst->proc, a->body, a->len, &res))
		return cached_missed(rqst, METRICS_ANSWER_MISSES);
	put_attr(rqst, &res, &k);
	if (rqst->row->edit)
		(void)rqst->row->edit(rqst, &res);
	cached_served(&k, rqst, METRICS_ANSWER_HITS);
	svc_reply_result(rqst, &res);
	return true;
}
