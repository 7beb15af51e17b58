/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The procedures that the proxy carries: names, codecs, and what may be done
 * with each. One row a procedure; everything else is driven by the rows.
 */
#ifndef FOREFETCH_NFS_PROC_H
#define FOREFETCH_NFS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsproto/mount3.h"
#include "nfsproto/nfs3.h"
#include "nfsproto/nfsacl3.h"

/* The longest encoded arguments or results without a payload or a list, in
 * bytes. */
enum { NFS_RES_SMALL_MAX = 5120 };

/* Decoded arguments of any procedure; which member holds them, xdr_args of the
 * procedure's row says. */
union nfs_args {
	nfs3_fh object;   /* GETATTR, READLINK, FSSTAT, FSINFO, PATHCONF */
	diropargs3 dirop; /* LOOKUP, REMOVE, RMDIR */
	SETATTR3args setattr;
	ACCESS3args access;
	READ3args read;
	WRITE3args write;
	CREATE3args create;
	MKDIR3args mkdir;
	SYMLINK3args symlink;
	MKNOD3args mknod;
	RENAME3args rename;
	LINK3args link;
	READDIR3args readdir;
	READDIRPLUS3args readdirplus;
	COMMIT3args commit;
	MNT3args mnt;
	GETACL3args getacl;
	SETACL3args setacl;
};

/* Decoded results of any procedure, as xdr_res of its row says. */
union nfs_res {
	nfsstat3 status; /* the first word of every NFS and NFSACL result */
	GETATTR3res getattr;
	wccstat3 wccstat; /* SETATTR, REMOVE, RMDIR */
	LOOKUP3res lookup;
	ACCESS3res access;
	READLINK3res readlink;
	READ3res read;
	WRITE3res write;
	newobj3res newobj; /* CREATE, MKDIR, SYMLINK, MKNOD */
	RENAME3res rename;
	LINK3res link;
	READDIR3res readdir;
	READDIRPLUS3res readdirplus;
	FSSTAT3res fsstat;
	FSINFO3res fsinfo;
	PATHCONF3res pathconf;
	COMMIT3res commit;
	MNT3res mnt;
	DUMP3res dump;
	EXPORT3res export_list;
	GETACL3res getacl;
	SETACL3res setacl;
};

enum nfs_proc_flags {
	/* Done twice it may answer differently. */
	NFS_PROC_CHANGE = 1,
	/* A copy must not be done late: all changes, and WRITE, which might
	 * undo a newer one. It goes through the duplicate request cache. */
	NFS_PROC_DRC = 4,
	/* Results begin with a status word (all but NULL, DUMP, UMNT, …). */
	NFS_PROC_STATUS = 2,
};

/* A row of the table: a procedure by its numbers, and how its arguments and
 * results are encoded. */
struct nfs_proc {
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	unsigned flags;
	const char *name;
	xdrproc_t xdr_args;
	xdrproc_t xdr_res;
};

/* Returns the row of a procedure, in constant time; NULL where the proxy
 * carries no such thing. */
const struct nfs_proc *nfs_proc_find(
    uint32_t prog, uint32_t vers, uint32_t proc);

/*
 * Decode `len` bytes of arguments or results; false where they are malformed.
 * The body starts on a four-byte boundary, and all views in the outcome point
 * into it. Bytes behind what is decoded are let through, as knfsd does (its own
 * SETACL sends some).
 */
bool nfs_args_decode(const struct nfs_proc *p, const void *body, size_t len,
    union nfs_args *args);
bool nfs_res_decode(
    const struct nfs_proc *p, const void *body, size_t len, union nfs_res *res);

/*
 * Whether decoded results keep what the arguments asked: READ not longer
 * than asked and its two lengths equal, WRITE not more than was sent, the
 * handle of LOOKUP and MNT not empty. The server is a peer like any other.
 */
bool nfs_res_check(const struct nfs_proc *p, const union nfs_args *args,
    const union nfs_res *res);

/*
 * Encode into `buf`; the number of bytes, or 0 where they do not fit. The
 * payload of READ and WRITE is left to the caller (xdr_view.h).
 */
size_t nfs_args_encode(const struct nfs_proc *p, const union nfs_args *args,
    void *buf, size_t size);
size_t nfs_res_encode(
    const struct nfs_proc *p, const union nfs_res *res, void *buf, size_t size);

/*
 * Results that carry `status` and nothing else; for procedures with
 * NFS_PROC_STATUS. This is the one place where a wire error is made.
 */
size_t nfs_res_encode_error(
    const struct nfs_proc *p, nfsstat3 status, void *buf, size_t size);

#endif
