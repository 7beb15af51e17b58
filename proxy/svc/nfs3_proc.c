/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of NFSv3 (RFC 1813 section 3) and NFSACL: for each procedure which
 * function begins it (struct svc_proc), and the short functions that are needed
 * for that. svc.c finds the row by the procedure's number. */
#include "svc/svc_rqst.h"

static uint32_t clamp(uint32_t value, uint32_t max)
{
	return value < max ? value : max;
}

/* NULL is answered here: a client asks by it whether the proxy lives, and the
 * server may be away. */
static void proc_null(struct svc_rqst *rqst)
{
	svc_reply_accepted(rqst, SUCCESS);
}

/* Asks the server for all bits, so that its reply covers whatever is asked
 * later; edit_access() leaves the client the bits that it asked for. */
static void forward_access(struct svc_rqst *rqst)
{
	union nfs_args all = rqst->args;

	all.access.access |= ACCESS_ALL;
	svc_forward_args(rqst, &all);
}

static bool edit_access(struct svc_rqst *rqst, union nfs_res *res)
{
	res->access.ACCESS3res_u.resok.access &= rqst->args.access.access;
	return true;
}

/*
 * A client may ask for more than a record carries: it gets as much as fits,
 * whether the caches answer or the server. Arguments that were cut go to the
 * server encoded anew, and so do those that are as large as may be.
 */
static void call_read(struct svc_rqst *rqst)
{
	READ3args *a = &rqst->args.read;

	a->count = clamp(a->count, NFS3_DATA_MAX);
	svc_answer(rqst);
}

static void forward_read(struct svc_rqst *rqst)
{
	if (rqst->args.read.count < NFS3_DATA_MAX)
		svc_forward(rqst);
	else
		svc_forward_args(rqst, &rqst->args);
}

static void call_readdir(struct svc_rqst *rqst)
{
	READDIR3args *a = &rqst->args.readdir;

	a->count = clamp(a->count, NFS3_DIR_MAX);
	svc_answer(rqst);
}

static void forward_readdir(struct svc_rqst *rqst)
{
	if (rqst->args.readdir.count < NFS3_DIR_MAX)
		svc_forward(rqst);
	else
		svc_forward_args(rqst, &rqst->args);
}

static void call_readdirplus(struct svc_rqst *rqst)
{
	READDIRPLUS3args *a = &rqst->args.readdirplus;

	a->dircount = clamp(a->dircount, NFS3_DIR_MAX);
	a->maxcount = clamp(a->maxcount, NFS3_DIR_MAX);
	svc_answer(rqst);
}

static void forward_readdirplus(struct svc_rqst *rqst)
{
	const READDIRPLUS3args *a = &rqst->args.readdirplus;

	if (a->dircount < NFS3_DIR_MAX && a->maxcount < NFS3_DIR_MAX)
		svc_forward(rqst);
	else
		svc_forward_args(rqst, &rqst->args);
}

/* Offers no sizes that the proxy does not carry: its records are bounded,
 * whatever the server could do. False where nothing had to be changed. */
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
    [NFSPROC3_NULL] = {.call = proc_null},
    [NFSPROC3_GETATTR] = {.call = svc_answer,
	.cached = cached_getattr,
	.hits = METRICS_ATTR_HITS,
	.misses = METRICS_ATTR_MISSES},
    [NFSPROC3_SETATTR] = {.call = svc_forward},
    [NFSPROC3_LOOKUP] = {.call = svc_answer,
	.cached = cached_lookup,
	.hits = METRICS_NAME_HITS,
	.misses = METRICS_NAME_MISSES},
    [NFSPROC3_ACCESS] = {.call = svc_answer,
	.cached = cached_access,
	.hits = METRICS_ACCESS_HITS,
	.misses = METRICS_ACCESS_MISSES,
	.forward = forward_access,
	.edit = edit_access},
    [NFSPROC3_READLINK] = {.call = svc_answer,
	.cached = cached_whole,
	.hits = METRICS_ANSWER_HITS,
	.misses = METRICS_ANSWER_MISSES},
    [NFSPROC3_READ] = {.call = call_read,
	.cached = cached_read,
	.hits = METRICS_DATA_HITS,
	.misses = METRICS_DATA_MISSES,
	.forward = forward_read},
    [NFSPROC3_WRITE] = {.call = svc_write},
    [NFSPROC3_CREATE] = {.call = svc_create_file},
    [NFSPROC3_MKDIR] = {.call = svc_forward},
    [NFSPROC3_SYMLINK] = {.call = svc_forward},
    [NFSPROC3_MKNOD] = {.call = svc_forward},
    [NFSPROC3_REMOVE] = {.call = svc_forward},
    [NFSPROC3_RMDIR] = {.call = svc_forward},
    [NFSPROC3_RENAME] = {.call = svc_forward},
    [NFSPROC3_LINK] = {.call = svc_forward},
    [NFSPROC3_READDIR] = {.call = call_readdir,
	.cached = cached_readdir,
	.hits = METRICS_LIST_HITS,
	.misses = METRICS_LIST_MISSES,
	.forward = forward_readdir},
    [NFSPROC3_READDIRPLUS] = {.call = call_readdirplus,
	.cached = cached_readdirplus,
	.hits = METRICS_LIST_HITS,
	.misses = METRICS_LIST_MISSES,
	.forward = forward_readdirplus},
    [NFSPROC3_FSSTAT] = {.call = svc_answer,
	.cached = cached_whole,
	.hits = METRICS_ANSWER_HITS,
	.misses = METRICS_ANSWER_MISSES},
    [NFSPROC3_FSINFO] = {.call = svc_answer,
	.cached = cached_whole,
	.hits = METRICS_ANSWER_HITS,
	.misses = METRICS_ANSWER_MISSES,
	.edit = edit_fsinfo},
    [NFSPROC3_PATHCONF] = {.call = svc_answer,
	.cached = cached_whole,
	.hits = METRICS_ANSWER_HITS,
	.misses = METRICS_ANSWER_MISSES},
    [NFSPROC3_COMMIT] = {.call = svc_forward},
};

const struct svc_proc nfsacl3_rows[] = {
    /* NULL of NFSACL goes to the server: a client asks by it whether there are
     * ACLs. */
    [NFSACLPROC3_NULL] = {.call = svc_forward},
    [NFSACLPROC3_GETACL] = {.call = svc_answer,
	.cached = cached_whole,
	.hits = METRICS_ANSWER_HITS,
	.misses = METRICS_ANSWER_MISSES},
    [NFSACLPROC3_SETACL] = {.call = svc_forward},
};
