/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of procedures and the codecs that it drives. Whoever handles calls
 * finds a row here by the numbers of a call's header (rpc_msg.h), and decodes
 * and encodes by it, without a case for each procedure. */
#include "nfsproto/nfs_proc.h"

#include <string.h>

/* NULL, DUMP and their like: no arguments, or no results. */
static bool_t xdr_nothing(XDR *xdrs, void *unused)
{
	(void)xdrs;
	(void)unused;
	return TRUE;
}

#define CHANGE (NFS_PROC_CHANGE | NFS_PROC_DRC)
#define PROC(prog, vers, num, flags, name, args, res)                          \
	{                                                                      \
		prog, vers, num, flags, name, (xdrproc_t)(args),               \
		    (xdrproc_t)(res)                                           \
	}
#define NFS3(num, flags, name, args, res)                                      \
	PROC(NFS_PROGRAM, NFS_V3, num, (flags) | NFS_PROC_STATUS, name, args,  \
	    res)

static const struct nfs_proc nfs3_procs[] = {
    PROC(NFS_PROGRAM, NFS_V3, 0, 0, "NULL", xdr_nothing, xdr_nothing),
    NFS3(1, 0, "GETATTR", xdr_nfs3_fh, xdr_GETATTR3res),
    NFS3(2, CHANGE, "SETATTR", xdr_SETATTR3args, xdr_wccstat3),
    NFS3(3, 0, "LOOKUP", xdr_diropargs3, xdr_LOOKUP3res),
    NFS3(4, 0, "ACCESS", xdr_ACCESS3args, xdr_ACCESS3res),
    NFS3(5, 0, "READLINK", xdr_nfs3_fh, xdr_READLINK3res),
    NFS3(6, 0, "READ", xdr_READ3args, xdr_READ3res),
    NFS3(7, NFS_PROC_DRC, "WRITE", xdr_WRITE3args, xdr_WRITE3res),
    NFS3(8, CHANGE, "CREATE", xdr_CREATE3args, xdr_newobj3res),
    NFS3(9, CHANGE, "MKDIR", xdr_MKDIR3args, xdr_newobj3res),
    NFS3(10, CHANGE, "SYMLINK", xdr_SYMLINK3args, xdr_newobj3res),
    NFS3(11, CHANGE, "MKNOD", xdr_MKNOD3args, xdr_newobj3res),
    NFS3(12, CHANGE, "REMOVE", xdr_diropargs3, xdr_wccstat3),
    NFS3(13, CHANGE, "RMDIR", xdr_diropargs3, xdr_wccstat3),
    NFS3(14, CHANGE, "RENAME", xdr_RENAME3args, xdr_RENAME3res),
    NFS3(15, CHANGE, "LINK", xdr_LINK3args, xdr_LINK3res),
    NFS3(16, 0, "READDIR", xdr_READDIR3args, xdr_READDIR3res),
    NFS3(17, 0, "READDIRPLUS", xdr_READDIRPLUS3args, xdr_READDIRPLUS3res),
    NFS3(18, 0, "FSSTAT", xdr_nfs3_fh, xdr_FSSTAT3res),
    NFS3(19, 0, "FSINFO", xdr_nfs3_fh, xdr_FSINFO3res),
    NFS3(20, 0, "PATHCONF", xdr_nfs3_fh, xdr_PATHCONF3res),
    NFS3(21, 0, "COMMIT", xdr_COMMIT3args, xdr_COMMIT3res),
};

#define MNT(num, flags, name, args, res)                                       \
	PROC(MOUNT_PROGRAM, MOUNT_V3, num, flags, name, args, res)

static const struct nfs_proc mount3_procs[] = {
    MNT(0, 0, "NULL", xdr_nothing, xdr_nothing),
    MNT(1, NFS_PROC_STATUS, "MNT", xdr_MNT3args, xdr_MNT3res),
    MNT(2, 0, "DUMP", xdr_nothing, xdr_DUMP3res),
    MNT(3, 0, "UMNT", xdr_MNT3args, xdr_nothing),
    MNT(4, 0, "UMNTALL", xdr_nothing, xdr_nothing),
    MNT(5, 0, "EXPORT", xdr_nothing, xdr_EXPORT3res),
};

#define ACL(num, flags, name, args, res)                                       \
	PROC(NFSACL_PROGRAM, NFSACL_V3, num, flags, name, args, res)

static const struct nfs_proc nfsacl3_procs[] = {
    ACL(0, 0, "NULL", xdr_nothing, xdr_nothing),
    ACL(1, NFS_PROC_STATUS, "GETACL", xdr_GETACL3args, xdr_GETACL3res),
    ACL(2, NFS_PROC_STATUS | CHANGE, "SETACL", xdr_SETACL3args, xdr_SETACL3res),
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	uint32_t prog;
	uint32_t vers;
	const struct nfs_proc *procs;
	size_t count;
} programs[] = {
    {NFS_PROGRAM, NFS_V3, nfs3_procs, COUNT(nfs3_procs)},
    {MOUNT_PROGRAM, MOUNT_V3, mount3_procs, COUNT(mount3_procs)},
    {NFSACL_PROGRAM, NFSACL_V3, nfsacl3_procs, COUNT(nfsacl3_procs)},
};

const struct nfs_proc *nfs_proc_find(
    uint32_t prog, uint32_t vers, uint32_t proc)
{
	for (size_t i = 0; i < COUNT(programs); i++)
		if (programs[i].prog == prog && programs[i].vers == vers)
			return proc < programs[i].count
				   ? &programs[i].procs[proc]
				   : NULL;
	return NULL;
}

static bool decode(xdrproc_t fn, const void *body, size_t len, void *to)
{
	XDR xdrs;

	if (len > UINT32_MAX)
		return false;
	/* xdrmem_create() takes a plain pointer but only reads on DECODE. */
	xdrmem_create(
	    &xdrs, (char *)(uintptr_t)body, (unsigned)len, XDR_DECODE);
	return fn(&xdrs, to);
}

bool nfs_args_decode(const struct nfs_proc *p, const void *body, size_t len,
    union nfs_args *args)
{
	memset(args, 0, sizeof(*args));
	return decode(p->xdr_args, body, len, args);
}

bool nfs_res_decode(
    const struct nfs_proc *p, const void *body, size_t len, union nfs_res *res)
{
	memset(res, 0, sizeof(*res));
	return decode(p->xdr_res, body, len, res);
}

/* The promises that a codec cannot see, because they tie results to arguments.
 */
static bool check_nfs3(
    uint32_t proc, const union nfs_args *args, const union nfs_res *res)
{
	const READ3resok *rd = &res->read.READ3res_u.resok;
	const WRITE3resok *wr = &res->write.WRITE3res_u.resok;

	switch (proc) {
	case NFSPROC3_READ:
		return rd->data.len == rd->count &&
		       rd->count <= args->read.count;
	case NFSPROC3_WRITE:
		return wr->count <= args->write.count &&
		       wr->committed <= FILE_SYNC;
	case NFSPROC3_LOOKUP:
		return res->lookup.LOOKUP3res_u.resok.object.len > 0;
	default:
		return true;
	}
}

bool nfs_res_check(const struct nfs_proc *p, const union nfs_args *args,
    const union nfs_res *res)
{
	if (!(p->flags & NFS_PROC_STATUS) || res->status != NFS3_OK)
		return true;
	if (p->prog == NFS_PROGRAM)
		return check_nfs3(p->proc, args, res);
	if (p->prog == MOUNT_PROGRAM)
		return res->mnt.MNT3res_u.resok.fhandle.len > 0;
	return true;
}

static size_t encode(xdrproc_t fn, const void *from, void *buf, size_t size)
{
	XDR xdrs;

	xdrmem_create(&xdrs, buf, (unsigned)size, XDR_ENCODE);
	/* An encoder only reads, but XDR's signature serves both ways. */
	if (!fn(&xdrs, (void *)(uintptr_t)from))
		return 0;
	return xdr_getpos(&xdrs);
}

size_t nfs_args_encode(const struct nfs_proc *p, const union nfs_args *args,
    void *buf, size_t size)
{
	return encode(p->xdr_args, args, buf, size);
}

size_t nfs_res_encode(
    const struct nfs_proc *p, const union nfs_res *res, void *buf, size_t size)
{
	return encode(p->xdr_res, res, buf, size);
}

size_t nfs_res_encode_error(
    const struct nfs_proc *p, nfsstat3 status, void *buf, size_t size)
{
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	res.status = status;
	return encode(p->xdr_res, &res, buf, size);
}
