/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fuzzers of calls and of replies share this. */
#ifndef FOREFETCH_FUZZ_PROC_H
#define FOREFETCH_FUZZ_PROC_H

#include "fuzz.h"
#include "nfsproto/nfs_proc.h"
#include "nfsproto/xdr_view.h"

/* A view must lie in the `size` bytes at `base`. */
static inline void fuzz_must_lie_in(
    const struct xdr_view *v, const void *base, size_t size)
{
	const char *rec = base;

	if (v->len > 0)
		MUST(v->data >= rec && v->len <= size &&
		     (size_t)(v->data - rec) <= size - v->len);
}

/* Any procedure of the table. */
static inline const struct nfs_proc *fuzz_pick_proc(uint32_t n)
{
	n %= 31;
	if (n < 22)
		return nfs_proc_find(NFS_PROGRAM, NFS_V3, n);
	if (n < 28)
		return nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, n - 22);
	return nfs_proc_find(NFSACL_PROGRAM, NFSACL_V3, n - 28);
}

/* The payload, which encoders leave to their caller. */
static inline size_t fuzz_put(const struct xdr_view *v, unsigned char *to)
{
	if (v->len > 0)
		memcpy(to, v->data, v->len);
	memset(to + v->len, 0, xdr_pad(v->len));
	return v->len + xdr_pad(v->len);
}

#endif
