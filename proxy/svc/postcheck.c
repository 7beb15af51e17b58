/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A check is one or two calls. Each tells which object a name leads to, and
 * that is compared with the object that the change was about when it was
 * first sent:
 *
 *	REMOVE, RMDIR   LOOKUP name   the object: repeat
 *	                              absent: done
 *	                              another one: NFS3ERR_NOENT
 *	RENAME          LOOKUP from   the object: repeat; else
 *	                LOOKUP to     the object: done; else NFS3ERR_NOENT
 *	LINK            LOOKUP name   the object, and it has one more name:
 *	                              done; else repeat
 *	SETATTR, guard  GETATTR       ctime is the guard's: repeat
 *	                              as asked for: done; else repeat
 *
 * Whatever a check cannot find out has the change repeated: then the server
 * decides. Not so a RENAME whose old name leads to another object: it would
 * move that one, so it is NFS3ERR_NOENT, too.
 */
#include "svc/postcheck.h"

#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "cache/known.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/owncall.h"
#include "svc/svc.h"

struct postcheck {
	struct svc_rqst *rqst;
	struct owncall call;
	unsigned char encoded[512];
	bool second; /* RENAME: the new name is looked up … */
	bool taken;  /* … and the old one leads to another object */
};

/* Where a name leads. */
enum leads {
	LEADS_UNKNOWN, /* an error */
	LEADS_NOWHERE,
	LEADS_TO_OBJECT,
	LEADS_ELSEWHERE,
};

/* ---- before the first sending ------------------------------------------ */

/* What the name leads to by what is known; NULL: absent, or not known. */
static const struct node *named_node(
    const struct caches *c, const diropargs3 *where)
{
	struct node *dir = attrcache_find(c->attr, &where->dir);
	struct named to;

	if (!dir)
		return NULL;
	to = known_name(c, dir, &where->name);
	return to.bound.generation == attrcache_generation(c->attr, dir)
		   ? to.child
		   : NULL;
}

static struct drc_object node_object(const struct node *node)
{
	struct drc_object object = {0};
	nfs3_fh fh;

	if (!node)
		return object;
	fh = node_fh(node);
	object.key = fh_key(&fh);
	return object;
}

/* Known only with the number of its names, which tells whether one was added:
 * the name may have been there before. */
static struct drc_object linked_object(
    const struct caches *c, const LINK3args *args)
{
	const struct node *node = attrcache_find(c->attr, &args->file);
	struct drc_object object = {0};
	fattr3 a;

	if (!node || !(node->flags & NODE_ATTRS) || named_node(c, &args->link))
		return object;
	attrcache_fattr(c->attr, node, &a);
	object = node_object(node);
	object.nlink = a.nlink;
	return object;
}

struct drc_object postcheck_object(const struct caches *c,
    const struct nfs_proc *proc, const union nfs_args *args)
{
	if (proc->prog != NFS_PROGRAM)
		return (struct drc_object){0};
	switch (proc->proc) {
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		return node_object(named_node(c, &args->dirop));
	case NFSPROC3_RENAME:
		return node_object(named_node(c, &args->rename.from));
	case NFSPROC3_LINK:
		return linked_object(c, &args->link);
	default:
		return (struct drc_object){0};
	}
}

bool postcheck_ambiguous(const struct nfs_proc *proc,
    const union nfs_args *args, const union nfs_res *res)
{
	if (proc->prog != NFS_PROGRAM)
		return false;
	switch (proc->proc) {
	case NFSPROC3_CREATE:
		/* The server knows a repeat by the verifier. */
		return res->status == NFS3ERR_EXIST &&
		       args->create.how.mode != EXCLUSIVE;
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
	case NFSPROC3_LINK:
		return res->status == NFS3ERR_EXIST;
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
	case NFSPROC3_RENAME:
		return res->status == NFS3ERR_NOENT;
	case NFSPROC3_SETATTR:
		return res->status == NFS3ERR_NOT_SYNC;
	default:
		return false;
	}
}

/* ---- the end ---------------------------------------------------------- */

static void check_repeat(struct postcheck *pc)
{
	struct svc_rqst *rqst = pc->rqst;

	rqst->check = NULL;
	free(pc);
	svc_repeat(rqst);
}

static void check_answer(struct postcheck *pc, const union nfs_res *res)
{
	struct svc_rqst *rqst = pc->rqst;

	if (res->status == NFS3_OK)
		metrics_add(
		    svc_metrics(rqst->svc), METRICS_POSTCHECK_REPAIRED, 1);
	else
		svc_note_left(rqst, res->status);
	rqst->check = NULL;
	free(pc);
	svc_settle(rqst, res);
}

/* Done; `attr` is of the directory that the last LOOKUP was in, or of the
 * object. Attributes from before the change are never invented. */
static void check_done(struct postcheck *pc, const post_op_attr *attr)
{
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	switch (pc->rqst->proc->proc) {
	case NFSPROC3_RENAME:
		res.rename.todir_wcc.after = *attr;
		break;
	case NFSPROC3_LINK:
		res.link.linkdir_wcc.after = *attr;
		break;
	default:
		res.wccstat.wcc.after = *attr;
		break;
	}
	check_answer(pc, &res);
}

static void check_gone(struct postcheck *pc)
{
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	res.status = NFS3ERR_NOENT;
	check_answer(pc, &res);
}

static void check_unknown(struct postcheck *pc)
{
	if (pc->taken)
		check_gone(pc);
	else
		check_repeat(pc);
}

/* ---- calls ------------------------------------------------------------ */

static void check_on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up);

static bool check_call(struct postcheck *pc, uint32_t proc)
{
	pc->call.proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
	pc->call.on_reply = check_on_reply;
	return owncall_send(&pc->call, svc_fetch(pc->rqst->svc),
	    &pc->rqst->call.cred, NULL, pc->encoded, sizeof(pc->encoded));
}

static bool check_lookup(struct postcheck *pc, const diropargs3 *where)
{
	pc->call.args.dirop = *where;
	return check_call(pc, NFSPROC3_LOOKUP);
}

static bool check_first(struct postcheck *pc)
{
	const union nfs_args *args = &pc->rqst->args;

	switch (pc->rqst->proc->proc) {
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		return check_lookup(pc, &args->dirop);
	case NFSPROC3_RENAME:
		return check_lookup(pc, &args->rename.from);
	case NFSPROC3_LINK:
		return check_lookup(pc, &args->link.link);
	default:
		pc->call.args.object = args->setattr.object;
		return check_call(pc, NFSPROC3_GETATTR);
	}
}

/* Whether something can be found out about the change at all. */
static bool can_check(const struct svc_rqst *rqst)
{
	if (rqst->proc->prog != NFS_PROGRAM)
		return false;
	if (rqst->proc->proc == NFSPROC3_SETATTR)
		return rqst->args.setattr.guard.check;
	return rqst->object.key != 0;
}

bool postcheck_start(struct svc_rqst *rqst)
{
	struct postcheck *pc = can_check(rqst) ? calloc(1, sizeof(*pc)) : NULL;

	if (!pc)
		return false;
	pc->rqst = rqst;
	if (!check_first(pc)) {
		free(pc);
		return false;
	}
	rqst->check = pc;
	return true;
}

/* ---- answers ---------------------------------------------------------- */

static enum leads where_it_leads(
    const struct postcheck *pc, const LOOKUP3res *res)
{
	const LOOKUP3resok *r = &res->LOOKUP3res_u.resok;

	if (res->status == NFS3ERR_NOENT)
		return LEADS_NOWHERE;
	if (res->status != NFS3_OK)
		return LEADS_UNKNOWN;
	return fh_key(&r->object) == pc->rqst->object.key ? LEADS_TO_OBJECT
							  : LEADS_ELSEWHERE;
}

/* The name leads to the file, which has one more than before. */
static bool was_linked(const struct postcheck *pc, const LOOKUP3res *res)
{
	const post_op_attr *attr = &res->LOOKUP3res_u.resok.obj_attributes;

	return where_it_leads(pc, res) == LEADS_TO_OBJECT &&
	       attr->attributes_follow &&
	       attr->post_op_attr_u.attributes.nlink > pc->rqst->object.nlink;
}

static void on_link(struct postcheck *pc, const LOOKUP3res *res)
{
	if (was_linked(pc, res))
		check_done(pc, &res->LOOKUP3res_u.resok.dir_attributes);
	else
		check_repeat(pc);
}

static void on_old_name(struct postcheck *pc, enum leads leads)
{
	pc->second = true;
	pc->taken = leads == LEADS_ELSEWHERE;
	if (leads == LEADS_TO_OBJECT || leads == LEADS_UNKNOWN ||
	    !check_lookup(pc, &pc->rqst->args.rename.to))
		check_unknown(pc);
}

static void on_lookup(struct postcheck *pc, const LOOKUP3res *res)
{
	enum leads leads = where_it_leads(pc, res);
	uint32_t proc = pc->rqst->proc->proc;
	const post_op_attr *dir = res->status == NFS3_OK
				      ? &res->LOOKUP3res_u.resok.dir_attributes
				      : &res->LOOKUP3res_u.dir_attributes;

	if (proc == NFSPROC3_RENAME && !pc->second) {
		on_old_name(pc, leads);
	} else if (proc == NFSPROC3_LINK) {
		on_link(pc, res);
	} else if (leads == LEADS_UNKNOWN) {
		check_unknown(pc);
	} else if (proc == NFSPROC3_RENAME) {
		if (leads == LEADS_TO_OBJECT)
			check_done(pc, dir);
		else
			check_gone(pc);
	} else if (leads == LEADS_NOWHERE) {
		check_done(pc, dir);
	} else if (leads == LEADS_ELSEWHERE) {
		check_gone(pc);
	} else {
		check_repeat(pc);
	}
}

static bool same_time(const set_time *asked, const nfstime3 *is)
{
	return asked->set_it != SET_TO_CLIENT_TIME ||
	       (asked->set_time_u.time.seconds == is->seconds &&
		   asked->set_time_u.time.nseconds == is->nseconds);
}

/* Times of the server's clock do not show. */
static bool asks_what_shows(const sattr3 *a)
{
	return a->mode.set_it || a->uid.set_it || a->gid.set_it ||
	       a->size.set_it || a->atime.set_it == SET_TO_CLIENT_TIME ||
	       a->mtime.set_it == SET_TO_CLIENT_TIME;
}

static bool attributes_as_asked(const sattr3 *a, const fattr3 *is)
{
	return asks_what_shows(a) &&
	       (!a->mode.set_it || a->mode.set_uint32_u.value == is->mode) &&
	       (!a->uid.set_it || a->uid.set_uint32_u.value == is->uid) &&
	       (!a->gid.set_it || a->gid.set_uint32_u.value == is->gid) &&
	       (!a->size.set_it || a->size.set_size3_u.size == is->size) &&
	       same_time(&a->atime, &is->atime) &&
	       same_time(&a->mtime, &is->mtime);
}

static void on_getattr(struct postcheck *pc, const GETATTR3res *res)
{
	const SETATTR3args *asked = &pc->rqst->args.setattr;
	const nfstime3 *guard = &asked->guard.sattrguard3_u.obj_ctime;
	post_op_attr attr = {.attributes_follow = TRUE};
	const fattr3 *a = &res->GETATTR3res_u.resok.obj_attributes;

	if (res->status != NFS3_OK ||
	    (a->ctime.seconds == guard->seconds &&
		a->ctime.nseconds == guard->nseconds) ||
	    !attributes_as_asked(&asked->new_attributes, a)) {
		check_repeat(pc);
		return;
	}
	attr.post_op_attr_u.attributes = *a;
	check_done(pc, &attr);
}

static void check_on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up)
{
	struct postcheck *pc =
	    (void *)((char *)c - offsetof(struct postcheck, call));

	(void)up;
	if (kind != REPLY_RESULTS)
		check_unknown(pc);
	else if (c->proc->proc == NFSPROC3_LOOKUP)
		on_lookup(pc, &res->lookup);
	else
		on_getattr(pc, &res->getattr);
}
