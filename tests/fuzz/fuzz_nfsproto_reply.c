/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies as a server may send them. The first byte picks the procedure, the
 * next three are the count and the access mask that were asked; the record
 * follows. Where it is no reply, the whole is taken for results.
 */
#include "fuzz_proc.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/rpc_msg.h"

static void walk_dir(const struct xdr_view *list, bool plus)
{
	struct nfs3_dirent e;
	bool more;
	XDR xdrs;

	nfs3_list_open(&xdrs, list);
	for (;;) {
		MUST(nfs3_dirent_decode(&xdrs, plus, &e, &more));
		if (!more)
			break;
		fuzz_must_lie_in(&e.name, list->data, list->len);
		MUST(e.name.len <= NFS3_NAME_MAX);
		if (plus && e.handle.handle_follows) {
			nfs3_fh *fh = &e.handle.post_op_fh3_u.handle;

			fuzz_must_lie_in(fh, list->data, list->len);
			MUST(fh->len <= NFS3_FHSIZE_MAX);
		}
	}
	MUST(xdr_getpos(&xdrs) == list->len);
	(void)nfs3_dirlist_eof(list);
}

static void walk_mounts(const struct xdr_view *list)
{
	struct mnt3_mount m;
	bool more;
	XDR xdrs;

	nfs3_list_open(&xdrs, list);
	do {
		MUST(mnt3_mount_decode(&xdrs, &m, &more));
		if (more) {
			fuzz_must_lie_in(&m.hostname, list->data, list->len);
			fuzz_must_lie_in(&m.directory, list->data, list->len);
		}
	} while (more);
	MUST(xdr_getpos(&xdrs) == list->len);
}

static void walk_exports(const struct xdr_view *list)
{
	struct mnt3_export e, alone;
	size_t bytes = 0;
	bool more, one;
	XDR xdrs, link;

	nfs3_list_open(&xdrs, list);
	do {
		MUST(mnt3_export_decode(&xdrs, &e, &more));
		if (!more)
			break;
		fuzz_must_lie_in(&e.raw, list->data, list->len);
		fuzz_must_lie_in(&e.dir, e.raw.data, e.raw.len);
		bytes += e.raw.len;
		nfs3_list_open(&link, &e.raw);
		MUST(mnt3_export_decode(&link, &alone, &one) && one);
		MUST(alone.dir.len == e.dir.len);
	} while (more);
	MUST(bytes + 4 == list->len);
	MUST(xdr_getpos(&xdrs) == list->len);
}

static void walk_acl(const struct nfsacl3_acls *a, const void *body, size_t len)
{
	fuzz_must_lie_in(&a->access, body, len);
	fuzz_must_lie_in(&a->default_acl, body, len);
	MUST(a->access.len % NFSACL3_ENTRY_BYTES == 0);
	MUST(a->default_acl.len <= NFSACL3_ENTRIES_MAX * NFSACL3_ENTRY_BYTES);
}

static void walk_nfs3(uint32_t proc, const union nfs_res *res,
    const unsigned char *body, size_t len)
{
	const struct xdr_view *list;

	if (proc == NFSPROC3_READDIR) {
		list = &res->readdir.READDIR3res_u.resok.reply;
		fuzz_must_lie_in(list, body, len);
		walk_dir(list, false);
	} else if (proc == NFSPROC3_READDIRPLUS) {
		list = &res->readdirplus.READDIRPLUS3res_u.resok.reply;
		fuzz_must_lie_in(list, body, len);
		walk_dir(list, true);
	} else if (proc == NFSPROC3_READ) {
		fuzz_must_lie_in(&res->read.READ3res_u.resok.data, body, len);
	}
}

static void walk(const struct nfs_proc *p, const union nfs_res *res,
    const unsigned char *body, size_t len)
{
	if (p->prog == MOUNT_PROGRAM && p->proc == MOUNTPROC3_DUMP)
		walk_mounts(&res->dump.mounts);
	else if (p->prog == MOUNT_PROGRAM && p->proc == MOUNTPROC3_EXPORT)
		walk_exports(&res->export_list.exports);
	else if (!(p->flags & NFS_PROC_STATUS) || res->status != NFS3_OK)
		return;
	else if (p->prog == NFS_PROGRAM)
		walk_nfs3(p->proc, res, body, len);
	else if (p->prog == NFSACL_PROGRAM && p->proc == NFSACLPROC3_GETACL)
		walk_acl(&res->getacl.GETACL3res_u.resok.acls, body, len);
}

/* The payload that the encoder leaves to its caller. */
static size_t put_payload(
    const struct nfs_proc *p, const union nfs_res *res, unsigned char *buf)
{
	if (p->prog != NFS_PROGRAM || p->proc != NFSPROC3_READ ||
	    res->status != NFS3_OK)
		return 0;
	return fuzz_put(&res->read.READ3res_u.resok.data, buf);
}

static void encode_again(const struct nfs_proc *p, const union nfs_res *res,
    const unsigned char *body, size_t len)
{
	unsigned char *one = fuzz_copy(body, len), *two;
	size_t n = nfs_res_encode(p, res, one, len), m;
	union nfs_res again;

	MUST(n <= len);
	MUST(n > 0 || !(p->flags & NFS_PROC_STATUS));
	if (n > 0) {
		two = fuzz_copy(one, n);
		MUST(nfs_res_encode(p, res, two, n) == n);
		MUST(memcmp(one, two, n) == 0);
		MUST(nfs_res_encode(p, res, two, n - 1) == 0);
		free(two);
	}
	m = n + put_payload(p, res, one + n);
	MUST(m <= len);
	MUST(nfs_res_decode(p, one, m, &again));
	two = fuzz_copy(one, m);
	MUST(nfs_res_encode(p, &again, two, n) == n);
	MUST(memcmp(one, two, m) == 0);
	free(one);
	free(two);
}

static void try_error(const struct nfs_proc *p, uint32_t status)
{
	unsigned char buf[NFS_RES_SMALL_MAX];
	union nfs_res res;
	size_t n;

	if (!(p->flags & NFS_PROC_STATUS) || status == NFS3_OK)
		return;
	n = nfs_res_encode_error(p, (nfsstat3)status, buf, sizeof(buf));
	MUST(n >= 4);
	MUST(nfs_res_decode(p, buf, n, &res));
	MUST(res.status == (nfsstat3)status);
}

static void try_results(const struct nfs_proc *p, const uint8_t ask[4],
    const void *data, size_t len)
{
	unsigned char *body = fuzz_copy(data, len);
	uint32_t count =
	    ask[1] | (uint32_t)ask[2] << 8 | (uint32_t)ask[3] << 16;
	union nfs_args args;
	union nfs_res res;

	memset(&args, 0, sizeof(args));
	if (p->proc == NFSPROC3_READ)
		args.read.count = count;
	else if (p->proc == NFSPROC3_WRITE)
		args.write.count = count;
	else if (p->proc == NFSPROC3_ACCESS)
		args.access.access = ask[1];
	if (nfs_res_decode(p, body, len, &res)) {
		walk(p, &res, body, len);
		if (nfs_res_check(p, &args, &res) && p->prog == NFS_PROGRAM &&
		    p->proc == NFSPROC3_READ && res.status == NFS3_OK)
			MUST(res.read.READ3res_u.resok.data.len <=
			     args.read.count);
		encode_again(p, &res, body, len);
	}
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct nfs_proc *p;
	struct rpc_reply reply;
	unsigned char *rec;

	if (size < 4)
		return 0;
	p = fuzz_pick_proc(data[0]);
	size -= 4;
	rec = fuzz_copy(data + 4, size);
	try_error(p, data[1] | (uint32_t)data[2] << 8);
	if (!rpc_reply_decode(rec, size, &reply)) {
		try_results(p, data, rec, size);
	} else if (reply.accepted && reply.status == SUCCESS) {
		fuzz_must_lie_in(&reply.body, rec, size);
		try_results(p, data, reply.body.data, reply.body.len);
	}
	free(rec);
	return 0;
}
