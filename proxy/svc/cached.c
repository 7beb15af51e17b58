/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers about one object: what they need is the table in DESIGN,
 * "Contract"; listings are in cached_list.c, data in cached_read.c.
 */
#include "svc/cached.h"

#include <string.h>

#include "svc/cached_private.h"

bool cached_find(
    struct known *k, const struct svc_rqst *rqst, const nfs3_fh *fh)
{
	struct asker who = svc_asker(rqst);

	return known_find(k, &who, fh);
}

void cached_served(
    const struct known *k, struct svc_rqst *rqst, enum metrics_counter counter)
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
	struct known k;

	if (!cached_find(&k, rqst, &rqst->args.object) || !known_any(&k) ||
	    !known_fresh(&k))
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
	struct known k;

	if (!cached_find(&k, rqst, &rqst->args.access.object) || !k.grant ||
	    (k.grant->known & asked) != asked ||
	    !contract_granted(&k.contract, k.grant->access_us) ||
	    !known_fresh(&k))
		return cached_missed(rqst, METRICS_ACCESS_MISSES);
	r->obj_attributes = known_attr(&k);
	r->access = k.grant->given & asked;
	cached_served(&k, rqst, METRICS_ACCESS_HITS);
	svc_reply_result(rqst, &res);
	return true;
}

/* ---- LOOKUP ----------------------------------------------------------- */

static void reply_absent(struct svc_rqst *rqst, const struct known *dir)
{
	union nfs_res res = {.status = NFS3ERR_NOENT};

	res.lookup.LOOKUP3res_u.dir_attributes = known_attr(dir);
	cached_served(dir, rqst, METRICS_NEGATIVE_HITS);
	svc_reply_result(rqst, &res);
}

/* A complete listing of the caller's own has no such name. */
static bool listed_absent(
    const struct known *dir, uint32_t cred, const nfs3_name *name)
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
		if (known_absent(dir, &b) &&
		    listing_lacks(dir->caches->lists, l, name))
			return true;
	}
	return false;
}

static bool reply_found(
    struct svc_rqst *rqst, const struct known *dir, struct node *child)
{
	union nfs_res res = {.status = NFS3_OK};
	LOOKUP3resok *r = &res.lookup.LOOKUP3res_u.resok;
	struct asker who = svc_asker(rqst);
	struct known k;

	known_node(&k, &who, child);
	if (!known_fresh(&k))
		return false;
	r->object = node_fh(child);
	r->obj_attributes = known_attr(&k);
	r->dir_attributes = known_attr(dir);
	cached_served(&k, rqst, METRICS_NAME_HITS);
	svc_reply_result(rqst, &res);
	return true;
}

bool cached_lookup(struct svc_rqst *rqst)
{
	const nfs3_name *name = &rqst->args.dirop.name;
	struct known dir;
	struct named to;

	if (!cached_find(&dir, rqst, &rqst->args.dirop.dir) ||
	    !known_search(&dir))
		return cached_missed(rqst, METRICS_NAME_MISSES);
	to = known_name(dir.caches, dir.node, name);
	if (to.child && known_bound(&dir, &to.bound) &&
	    reply_found(rqst, &dir, to.child))
		return true;
	if (to.known ? to.absent && known_absent(&dir, &to.bound)
		     : listed_absent(&dir, rqst->cred_id, name)) {
		reply_absent(rqst, &dir);
		return true;
	}
	return cached_missed(rqst, METRICS_NAME_MISSES);
}

/* ---- answers kept whole ----------------------------------------------- */

/* Their attributes stand first in all of them. */
static void put_attr(
    struct svc_rqst *rqst, union nfs_res *res, const struct known *k)
{
	post_op_attr attr = known_attr(k);

	if (rqst->proc->prog == NFSACL_PROGRAM)
		res->getacl.GETACL3res_u.resok.attributes = attr;
	else
		res->fsinfo.FSINFO3res_u.resok.obj_attributes = attr;
}

/* Bound to the object's version, or a thing of the file system's. */
static bool answer_holds(
    const struct svc_rqst *rqst, const struct known *k, const struct binding *b)
{
	if (answer_of_version(rqst->proc))
		return known_bound(k, b);
	return contract_fresh(&k->contract, b->sent_us);
}

bool cached_answer(struct svc_rqst *rqst)
{
	uint32_t key =
	    rqst->proc->prog == NFSACL_PROGRAM ? rqst->args.getacl.mask : 0;
	const struct answer *a;
	union nfs_res res;
	struct known k;

	if (!cached_find(&k, rqst, &rqst->args.object) || !known_any(&k) ||
	    !known_fresh(&k))
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
