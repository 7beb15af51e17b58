/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NFSv3 and NFSACL, one short function a procedure. */
#include "cache/accesscache.h"
#include "nfsproto/nfs_proc.h"
#include "svc/cached.h"
#include "svc/svc.h"

static uint32_t clamp(uint32_t value, uint32_t max)
{
	return value < max ? value : max;
}

/* Answered here: it asks whether the proxy lives. */
static void proc_null(struct svc_rqst *rqst)
{
	svc_reply_accepted(rqst, SUCCESS);
}

static void proc_getattr(struct svc_rqst *rqst)
{
	if (!cached_getattr(rqst))
		svc_forward(rqst);
}

static void proc_lookup(struct svc_rqst *rqst)
{
	if (!cached_lookup(rqst))
		svc_forward(rqst);
}

static void proc_answer(struct svc_rqst *rqst)
{
	if (!cached_answer(rqst))
		svc_forward(rqst);
}

/* The server is asked for all bits, the client told of those it wants. */
static void proc_access(struct svc_rqst *rqst)
{
	union nfs_args all = rqst->args;

	if (cached_access(rqst))
		return;
	all.access.access |= ACCESS_ALL;
	svc_forward_args(rqst, &all);
}

static bool edit_access(struct svc_rqst *rqst, union nfs_res *res)
{
	res->access.ACCESS3res_u.resok.access &= rqst->args.access.access;
	return true;
}

/* A reply larger than the largest record would be thrown away. */
static void proc_read(struct svc_rqst *rqst)
{
	READ3args *a = &rqst->args.read;

	if (cached_read(rqst))
		return;
	if (a->count <= NFS3_DATA_MAX) {
		svc_forward(rqst);
		return;
	}
	a->count = NFS3_DATA_MAX;
	svc_forward_args(rqst, &rqst->args);
}

static void proc_readdir(struct svc_rqst *rqst)
{
	READDIR3args *a = &rqst->args.readdir;

	if (cached_readdir(rqst))
		return;
	if (a->count <= NFS3_DIR_MAX) {
		svc_forward(rqst);
		return;
	}
	a->count = NFS3_DIR_MAX;
	svc_forward_args(rqst, &rqst->args);
}

static void proc_readdirplus(struct svc_rqst *rqst)
{
	READDIRPLUS3args *a = &rqst->args.readdirplus;

	if (cached_readdirplus(rqst))
		return;
	if (a->maxcount <= NFS3_DIR_MAX) {
		svc_forward(rqst);
		return;
	}
	a->maxcount = NFS3_DIR_MAX;
	a->dircount = clamp(a->dircount, NFS3_DIR_MAX);
	svc_forward_args(rqst, &rqst->args);
}

/* Offer no sizes that the proxy does not carry. */
static bool edit_fsinfo(struct svc_rqst *rqst, union nfs_res *res)
{
	FSINFO3resok *r = &res->fsinfo.FSINFO3res_u.resok;

	(void)rqst;
	if (r->rtmax <= NFS3_DATA_MAX && r->wtmax <= NFS3_DATA_MAX &&
	    r->dtpref <= NFS3_DIR_MAX)
		return false;
	r->rtmax = clamp(r->rtmax, NFS3_DATA_MAX);
	r->rtpref = clamp(r->rtpref, NFS3_DATA_MAX);
	r->wtmax = clamp(r->wtmax, NFS3_DATA_MAX);
	r->wtpref = clamp(r->wtpref, NFS3_DATA_MAX);
	r->dtpref = clamp(r->dtpref, NFS3_DIR_MAX);
	return true;
}

const struct svc_proc nfs3_rows[] = {
    [NFSPROC3_NULL] = {proc_null, NULL},
    [NFSPROC3_GETATTR] = {proc_getattr, NULL},
    [NFSPROC3_SETATTR] = {svc_forward, NULL},
    [NFSPROC3_LOOKUP] = {proc_lookup, NULL},
    [NFSPROC3_ACCESS] = {proc_access, edit_access},
    [NFSPROC3_READLINK] = {proc_answer, NULL},
    [NFSPROC3_READ] = {proc_read, NULL},
    [NFSPROC3_WRITE] = {svc_forward, NULL},
    [NFSPROC3_CREATE] = {svc_forward, NULL},
    [NFSPROC3_MKDIR] = {svc_forward, NULL},
    [NFSPROC3_SYMLINK] = {svc_forward, NULL},
    [NFSPROC3_MKNOD] = {svc_forward, NULL},
    [NFSPROC3_REMOVE] = {svc_forward, NULL},
    [NFSPROC3_RMDIR] = {svc_forward, NULL},
    [NFSPROC3_RENAME] = {svc_forward, NULL},
    [NFSPROC3_LINK] = {svc_forward, NULL},
    [NFSPROC3_READDIR] = {proc_readdir, NULL},
    [NFSPROC3_READDIRPLUS] = {proc_readdirplus, NULL},
    [NFSPROC3_FSSTAT] = {proc_answer, NULL},
    [NFSPROC3_FSINFO] = {proc_answer, edit_fsinfo},
    [NFSPROC3_PATHCONF] = {proc_answer, NULL},
    [NFSPROC3_COMMIT] = {svc_forward, NULL},
};

/* NULL goes to the server, too: a client asks by it whether there are ACLs. */
const struct svc_proc nfsacl3_rows[] = {
    [NFSACLPROC3_NULL] = {svc_forward, NULL},
    [NFSACLPROC3_GETACL] = {proc_answer, NULL},
    [NFSACLPROC3_SETACL] = {svc_forward, NULL},
};
