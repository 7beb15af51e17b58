/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers about one object, and about a name in it. Listings are in
 * cached_list.c, data in cached_read.c. Each function fills an answer only
 * where all that it says is fresh and the asker has the right to be told
 * (known.h); otherwise it says MISS, and svc_answer.c asks the server.
 */
#include "svc/cached.h"

#include "svc/cached_private.h"

/* A confirmation is older than a round trip when it comes. With two of them,
 * those who look for several names, one after the other, wait for one reply
 * only. */
enum { RECENT_TRIPS = 2 };

enum cached_verdict cached_getattr(
    const struct cached_call *call, struct cached_answer *a)
{
	struct known k;

	answer_begin(a);
	if (!known_find(&k, &call->who, &call->args->object) ||
	    !known_answered(&k) || !known_fresh(&k))
		return CACHED_MISS;
	attrcache_fattr(k.caches->attr, k.node,
	    &a->res.getattr.GETATTR3res_u.resok.obj_attributes);
	return answer_end(a, &k);
}

enum cached_verdict cached_access(
    const struct cached_call *call, struct cached_answer *a)
{
	ACCESS3resok *r = &a->res.access.ACCESS3res_u.resok;
	uint32_t asked = call->args->access.access;
	struct known k;

	answer_begin(a);
	if (!known_find(&k, &call->who, &call->args->access.object) ||
	    !known_access(&k, asked) || !known_fresh(&k))
		return CACHED_MISS;
	r->obj_attributes = known_attr(&k);
	r->access = k.grant->given & asked;
	return answer_end(a, &k);
}

/* ---- LOOKUP ----------------------------------------------------------- */

/* Answers a LOOKUP by NFS3ERR_NOENT. */
static enum cached_verdict absent(
    struct cached_answer *a, const struct known *dir)
{
	a->res.status = NFS3ERR_NOENT;
	a->res.lookup.LOOKUP3res_u.dir_attributes = known_attr(dir);
	return answer_end(a, dir);
}

/* Answers a LOOKUP by the child, whose attributes must be fresh as well: a
 * client opens the file by them. */
static enum cached_verdict found(const struct cached_call *call,
    struct cached_answer *a, const struct known *dir, struct node *child)
{
	LOOKUP3resok *r = &a->res.lookup.LOOKUP3res_u.resok;
	struct known k;

	known_node(&k, &call->who, child);
	if (!known_fresh(&k))
		return CACHED_MISS;
	r->object = node_fh(child);
	r->obj_attributes = known_attr(&k);
	r->dir_attributes = known_attr(dir);
	return answer_end(a, &k);
}

enum cached_verdict cached_lookup(
    const struct cached_call *call, struct cached_answer *a)
{
	const nfs3_name *name = &call->args->dirop.name;
	struct known dir;
	struct named to;
	struct binding b;

	answer_begin(a);
	if (!known_find(&dir, &call->who, &call->args->dirop.dir) ||
	    !known_search(&dir))
		return CACHED_MISS;
	to = known_name(dir.caches, dir.node, name);
	if (to.child && known_bound(&dir, &to.bound))
		return found(call, a, &dir, to.child);
	if (known_absence(&dir, name, &to, &b) &&
	    (to.known ? known_absent(&dir, &b)
		      : known_absent_unasked(
			    &dir, &b, RECENT_TRIPS * call->who.trip_us)))
		return absent(a, &dir);
	return CACHED_MISS;
}

/* ---- answers kept whole ----------------------------------------------- */

/* Puts the attributes of now in the place of those that were kept, which stand
 * first in all of these results. */
static void put_attr(
    const struct cached_call *call, union nfs_res *res, const struct known *k)
{
	post_op_attr attr = known_attr(k);

	if (call->proc->prog == NFSACL_PROGRAM)
		res->getacl.GETACL3res_u.resok.attributes = attr;
	else
		res->fsinfo.FSINFO3res_u.resok.obj_attributes = attr;
}

enum cached_verdict cached_whole(
    const struct cached_call *call, struct cached_answer *a)
{
	uint32_t key = answer_key(call->proc, call->args);
	const struct answer *kept;
	struct known k;

	answer_begin(a);
	if (!known_find(&k, &call->who, &call->args->object) ||
	    !known_answered(&k) || !known_fresh(&k))
		return CACHED_MISS;
	kept = answercache_find(k.caches->answers, k.node, call->proc, key);
	if (!kept)
		return CACHED_MISS;
	/* READLINK and GETACL are bound to the object's version; the others are
	 * about its file system, and grow old by themselves. */
	if (answer_of_version(call->proc)
		? !known_bound(&k, &kept->bound)
		: !contract_fresh(&k.contract, kept->bound.sent_us))
		return CACHED_MISS;
	if (answer_is_past(k.caches->attr, k.node, kept))
		return CACHED_MISS;
	if (!nfs_res_decode(call->proc, kept->body, kept->len, &a->res))
		return CACHED_MISS;
	put_attr(call, &a->res, &k);
	return answer_end(a, &k);
}
