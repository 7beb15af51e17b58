/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls as a client may send them: header, AUTH_SYS, arguments. What decodes
 * must encode again, into no more bytes than it came in, and to a fixed point.
 *
 * The arguments are decoded for the header's procedure and for the one that
 * the xid picks, so that one corpus serves all rows of the table.
 */
#include "fuzz_proc.h"
#include "nfsproto/rpc_msg.h"

/* The payload that the encoder leaves to its caller. */
static size_t put_payload(
    const struct nfs_proc *p, const union nfs_args *args, unsigned char *buf)
{
	if (p->prog != NFS_PROGRAM || p->proc != NFSPROC3_WRITE)
		return 0;
	return fuzz_put(&args->write.data, buf);
}

static void try_args(const struct nfs_proc *p, const void *body, size_t len)
{
	union nfs_args args, again;
	unsigned char *one, *two;
	size_t n, m;

	if (!nfs_args_decode(p, body, len, &args))
		return;
	one = fuzz_copy(body, len);
	n = nfs_args_encode(p, &args, one, len);
	MUST(n <= len);
	if (n > 0) {
		two = fuzz_copy(one, n);
		MUST(nfs_args_encode(p, &args, two, n) == n);
		MUST(memcmp(one, two, n) == 0);
		MUST(nfs_args_encode(p, &args, two, n - 1) == 0);
		free(two);
	}
	m = n + put_payload(p, &args, one + n);
	MUST(m <= len);
	MUST(nfs_args_decode(p, one, m, &again));
	two = fuzz_copy(one, m);
	MUST(nfs_args_encode(p, &again, two, n) == n);
	MUST(memcmp(one, two, m) == 0);
	free(one);
	free(two);
}

static void try_auth(const struct rpc_cred *cred)
{
	struct rpc_auth_sys auth, again;
	unsigned char *body, *out;
	struct xdr_view v;

	body = fuzz_copy(cred->body.data, cred->body.len);
	v = (struct xdr_view){cred->body.len, (const char *)body};
	if (rpc_auth_sys_decode(&v, &auth)) {
		fuzz_must_lie_in(&auth.machine, body, v.len);
		MUST(auth.ngids <= RPC_GIDS_MAX);
		out = fuzz_copy(body, v.len);
		MUST(rpc_auth_sys_encode(&auth, out, v.len) == v.len);
		v.data = (const char *)out;
		MUST(rpc_auth_sys_decode(&v, &again));
		MUST(again.uid == auth.uid && again.gid == auth.gid);
		MUST(again.ngids == auth.ngids);
		MUST(!memcmp(again.gids, auth.gids, 4 * auth.ngids));
		free(out);
	}
	free(body);
}

static void try_header(const struct rpc_call *call)
{
	unsigned char buf[RPC_CALL_HEADER_MAX];
	struct rpc_call again;
	size_t n = rpc_call_encode(call, buf, sizeof(buf));

	MUST(n > 0);
	MUST(rpc_call_decode(buf, n, &again) == RPC_CALL_OK);
	MUST(again.xid == call->xid && again.prog == call->prog);
	MUST(again.vers == call->vers && again.proc == call->proc);
	MUST(again.cred.flavor == call->cred.flavor);
	MUST(again.cred.body.len == call->cred.body.len);
	MUST(again.body.len == 0);
}

static void try_body(const struct rpc_call *call)
{
	const struct nfs_proc *p;
	unsigned char *body = fuzz_copy(call->body.data, call->body.len);

	p = nfs_proc_find(call->prog, call->vers, call->proc);
	if (p)
		try_args(p, body, call->body.len);
	try_args(fuzz_pick_proc(call->xid), body, call->body.len);
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *rec = fuzz_copy(data, size);
	struct rpc_call call;

	if (rpc_call_decode(rec, size, &call) == RPC_CALL_OK) {
		fuzz_must_lie_in(&call.body, rec, size);
		fuzz_must_lie_in(&call.cred.body, rec, size);
		try_header(&call);
		try_auth(&call.cred);
		try_body(&call);
	}
	free(rec);
	return 0;
}
