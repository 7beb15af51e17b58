/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A check is a few calls, one after the other, each with a question to its
 * results; the first "no" ends it with the error that there was.
 *
 *	CREATE, MKDIR, MKNOD   LOOKUP name: of the kind asked for?
 *	SYMLINK                LOOKUP name, READLINK: the same text?
 *	LINK                   LOOKUP name, GETATTR file: the same file?
 *	REMOVE, RMDIR          LOOKUP name: absent?
 *	RENAME                 LOOKUP from: absent? LOOKUP to: there?
 *	SETATTR                GETATTR: as asked for?
 */
#include "postcheck.h"

#include <stdlib.h>
#include <string.h>

#include "fetch.h"
#include "metrics.h"
#include "svc.h"

struct postcheck {
	struct svc_rqst *rqst;
	nfsstat3 error; /* what the repeated call was answered */
	struct fetch_waiter waiter;
	const struct nfs_proc *proc; /* of the call in flight */
	union nfs_args args;
	unsigned char encoded[512];
	/* Answers of the first call, for the second. */
	unsigned char fh_bytes[NFS3_FHSIZE_MAX];
	nfs3_fh fh;
	post_op_attr obj;
	post_op_attr dir;
	bool second;
};

static void check_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up);

static const struct fetch_ops check_ops = {.on_reply = check_on_reply};

bool postcheck_wanted(const struct nfs_proc *proc, const union nfs_args *args,
    const union nfs_res *res)
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

static void check_end(struct postcheck *pc, const union nfs_res *res)
{
	struct svc_rqst *rqst = pc->rqst;

	metrics_add(svc_metrics(rqst->svc),
	    res ? METRICS_POSTCHECK_REPAIRED : METRICS_POSTCHECK_LEFT, 1);
	rqst->check = NULL;
	if (res)
		svc_reply_result(rqst, res);
	else
		svc_reply_status(rqst, pc->error);
	free(pc);
}

static void check_good(struct postcheck *pc)
{
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	switch (pc->rqst->proc->proc) {
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		res.wccstat.wcc.after = pc->dir;
		break;
	case NFSPROC3_SETATTR:
		res.wccstat.wcc.after = pc->obj;
		break;
	case NFSPROC3_RENAME:
		res.rename.todir_wcc.after = pc->dir;
		break;
	case NFSPROC3_LINK:
		res.link.file_attributes = pc->obj;
		res.link.linkdir_wcc.after = pc->dir;
		break;
	default:
		res.newobj.newobj3res_u.resok.obj.handle_follows = TRUE;
		res.newobj.newobj3res_u.resok.obj.post_op_fh3_u.handle = pc->fh;
		res.newobj.newobj3res_u.resok.obj_attributes = pc->obj;
		res.newobj.newobj3res_u.resok.dir_wcc.after = pc->dir;
		break;
	}
	check_end(pc, &res);
}

/* ---- calls ------------------------------------------------------------ */

static void check_call(struct postcheck *pc, uint32_t proc)
{
	struct upstream_request req = {.cred = &pc->rqst->call.cred};
	size_t len;

	pc->proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
	len = nfs_args_encode(
	    pc->proc, &pc->args, pc->encoded, sizeof(pc->encoded));
	req.proc = pc->proc;
	req.args.data = (const char *)pc->encoded;
	req.args.len = (uint32_t)len;
	pc->waiter.ops = &check_ops;
	if (len == 0 ||
	    fetch_start(svc_fetch(pc->rqst->svc), &req, NULL, &pc->waiter) < 0)
		check_end(pc, NULL);
}

static void check_lookup(struct postcheck *pc, const diropargs3 *where)
{
	pc->args.dirop = *where;
	check_call(pc, NFSPROC3_LOOKUP);
}

static const diropargs3 *check_name(const struct svc_rqst *rqst)
{
	switch (rqst->proc->proc) {
	case NFSPROC3_CREATE:
		return &rqst->args.create.where;
	case NFSPROC3_MKDIR:
		return &rqst->args.mkdir.where;
	case NFSPROC3_SYMLINK:
		return &rqst->args.symlink.where;
	case NFSPROC3_MKNOD:
		return &rqst->args.mknod.where;
	case NFSPROC3_LINK:
		return &rqst->args.link.link;
	case NFSPROC3_RENAME:
		return &rqst->args.rename.from;
	default:
		return &rqst->args.dirop;
	}
}

void postcheck_start(struct svc_rqst *rqst, const union nfs_res *res)
{
	struct postcheck *pc = calloc(1, sizeof(*pc));

	if (!pc) {
		svc_reply_result(rqst, res);
		return;
	}
	pc->rqst = rqst;
	pc->error = res->status;
	rqst->check = pc;
	if (rqst->proc->proc == NFSPROC3_SETATTR) {
		pc->args.object = rqst->args.setattr.object;
		check_call(pc, NFSPROC3_GETATTR);
	} else {
		check_lookup(pc, check_name(rqst));
	}
}

/* ---- answers ---------------------------------------------------------- */

static bool same_time(const set_time *asked, const nfstime3 *is)
{
	return asked->set_it != SET_TO_CLIENT_TIME ||
	       (asked->set_time_u.time.seconds == is->seconds &&
		   asked->set_time_u.time.nseconds == is->nseconds);
}

static bool attributes_as_asked(const sattr3 *a, const fattr3 *is)
{
	return (!a->mode.set_it || a->mode.set_uint32_u.value == is->mode) &&
	       (!a->uid.set_it || a->uid.set_uint32_u.value == is->uid) &&
	       (!a->gid.set_it || a->gid.set_uint32_u.value == is->gid) &&
	       (!a->size.set_it || a->size.set_size3_u.size == is->size) &&
	       same_time(&a->atime, &is->atime) &&
	       same_time(&a->mtime, &is->mtime);
}

static ftype3 kind_asked(const struct svc_rqst *rqst)
{
	switch (rqst->proc->proc) {
	case NFSPROC3_MKDIR:
		return NF3DIR;
	case NFSPROC3_SYMLINK:
		return NF3LNK;
	case NFSPROC3_MKNOD:
		return rqst->args.mknod.what.type;
	default:
		return NF3REG;
	}
}

/* A thing just made by the caller: nobody has put anything into it yet.
 * Where the server squashes users it is nobody's, and the error stands. */
static bool just_made(const struct svc_rqst *rqst, const fattr3 *a)
{
	if (rqst->call.cred.flavor == AUTH_SYS && a->uid != rqst->auth.uid)
		return false;
	return a->type == NF3DIR ? a->nlink <= 2
				 : a->type != NF3REG || a->size == 0;
}

/* Keep what a found name's LOOKUP says. */
static void check_keep(struct postcheck *pc, const LOOKUP3resok *r)
{
	memcpy(pc->fh_bytes, r->object.data, r->object.len);
	pc->fh.data = (const char *)pc->fh_bytes;
	pc->fh.len = r->object.len;
	pc->obj = r->obj_attributes;
	pc->dir = r->dir_attributes;
}

static void found(struct postcheck *pc, const LOOKUP3resok *r)
{
	const fattr3 *a = &r->obj_attributes.post_op_attr_u.attributes;
	uint32_t proc = pc->rqst->proc->proc;

	check_keep(pc, r);
	pc->second = true;
	if (proc == NFSPROC3_LINK) {
		pc->args.object = pc->rqst->args.link.file;
		check_call(pc, NFSPROC3_GETATTR);
	} else if (!r->obj_attributes.attributes_follow ||
		   a->type != kind_asked(pc->rqst) || !just_made(pc->rqst, a)) {
		check_end(pc, NULL);
	} else if (proc == NFSPROC3_SYMLINK) {
		pc->args.object = pc->fh;
		check_call(pc, NFSPROC3_READLINK);
	} else {
		check_good(pc);
	}
}

static void on_lookup(struct postcheck *pc, const LOOKUP3res *res)
{
	uint32_t proc = pc->rqst->proc->proc;
	bool removal = proc == NFSPROC3_REMOVE || proc == NFSPROC3_RMDIR;
	bool there = res->status == NFS3_OK;

	if (!there && res->status != NFS3ERR_NOENT) {
		check_end(pc, NULL);
	} else if (proc == NFSPROC3_RENAME && pc->second) {
		if (there)
			pc->dir = res->LOOKUP3res_u.resok.dir_attributes;
		if (there)
			check_good(pc);
		else
			check_end(pc, NULL);
	} else if (proc == NFSPROC3_RENAME && !there) {
		pc->second = true;
		check_lookup(pc, &pc->rqst->args.rename.to);
	} else if (removal && !there) {
		pc->dir = res->LOOKUP3res_u.dir_attributes;
		check_good(pc);
	} else if (there && !removal && proc != NFSPROC3_RENAME) {
		found(pc, &res->LOOKUP3res_u.resok);
	} else {
		check_end(pc, NULL);
	}
}

static void on_getattr(struct postcheck *pc, const GETATTR3res *res)
{
	const fattr3 *a = &res->GETATTR3res_u.resok.obj_attributes;
	const fattr3 *found_attr = &pc->obj.post_op_attr_u.attributes;
	bool good = res->status == NFS3_OK;

	if (pc->rqst->proc->proc == NFSPROC3_LINK)
		good = good && pc->obj.attributes_follow &&
		       a->fileid == found_attr->fileid &&
		       a->fsid == found_attr->fsid;
	else
		good = good && attributes_as_asked(
				   &pc->rqst->args.setattr.new_attributes, a);
	if (!good) {
		check_end(pc, NULL);
		return;
	}
	pc->obj.attributes_follow = TRUE;
	pc->obj.post_op_attr_u.attributes = *a;
	check_good(pc);
}

static void on_readlink(struct postcheck *pc, const READLINK3res *res)
{
	const nfs3_path *is = &res->READLINK3res_u.resok.data;
	const nfs3_path *asked = &pc->rqst->args.symlink.symlink.symlink_data;

	if (res->status == NFS3_OK && is->len == asked->len &&
	    (is->len == 0 || memcmp(is->data, asked->data, is->len) == 0))
		check_good(pc);
	else
		check_end(pc, NULL);
}

static void check_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up)
{
	struct postcheck *pc =
	    (void *)((char *)w - offsetof(struct postcheck, waiter));
	union nfs_res res;

	if (!up->rpc->accepted || up->rpc->status != SUCCESS ||
	    !nfs_res_decode(
		pc->proc, up->rpc->body.data, up->rpc->body.len, &res) ||
	    !nfs_res_check(pc->proc, &pc->args, &res))
		check_end(pc, NULL);
	else if (pc->proc->proc == NFSPROC3_LOOKUP)
		on_lookup(pc, &res.lookup);
	else if (pc->proc->proc == NFSPROC3_GETATTR)
		on_getattr(pc, &res.getattr);
	else
		on_readlink(pc, &res.readlink);
}
