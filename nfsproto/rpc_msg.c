/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RPC headers over libtirpc's XDR primitives: the first bytes of each record,
 * in front of the arguments and results that nfs_proc.c decodes. xdr_callmsg()
 * is not used: it answers FALSE for a wrong RPC version and for a long
 * credential alike, and each has an answer of its own (RFC 5531 section 9).
 */
#include "nfsproto/rpc_msg.h"

#include <string.h>

/* Opens a stream over bytes in memory. A DECODE stream only reads them, though
 * xdrmem_create() takes a plain pointer. */
static void open_memory(XDR *xdrs, const void *buf, size_t size, enum xdr_op op)
{
	unsigned len = size > UINT32_MAX ? UINT32_MAX : (unsigned)size;

	xdrmem_create(xdrs, (char *)(uintptr_t)buf, len, op);
}

/* Reads words, or writes them if the stream encodes: xdr_u_int() does either.
 */
static bool get_words(XDR *xdrs, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!xdr_u_int(xdrs, &words[i]))
			return false;
	return true;
}

static size_t put_words(void *buf, size_t size, uint32_t *words, size_t count)
{
	XDR xdrs;

	open_memory(&xdrs, buf, size, XDR_ENCODE);
	return get_words(&xdrs, words, count) ? xdr_getpos(&xdrs) : 0;
}

/* Reads a credential or verifier: flavor and opaque body. An empty body points
 * at an empty string, so that nobody hands NULL to memcpy(). */
static bool get_auth(XDR *xdrs, struct rpc_cred *cred)
{
	struct xdr_view *body = &cred->body;

	body->data = "";
	if (!xdr_u_int(xdrs, &cred->flavor) || !xdr_u_int(xdrs, &body->len) ||
	    body->len > RPC_AUTH_BODY_MAX)
		return false;
	if (body->len > 0)
		body->data = (const char *)xdr_inline(
		    xdrs, body->len + xdr_pad(body->len));
	return body->len == 0 || body->data;
}

/* A view of the rest of the stream. */
static struct xdr_view rest(XDR *xdrs, const void *rec, size_t len)
{
	uint32_t pos = xdr_getpos(xdrs);

	return (struct xdr_view){
	    .len = (uint32_t)len - pos, .data = (const char *)rec + pos};
}

enum rpc_call_status rpc_call_decode(
    const void *rec, size_t len, struct rpc_call *call)
{
	uint32_t w[3], ids[3];
	struct rpc_cred verf;
	XDR xdrs;

	open_memory(&xdrs, rec, len, XDR_DECODE);
	if (!get_words(&xdrs, w, 3) || w[1] != CALL)
		return RPC_CALL_NOT_A_CALL;
	call->xid = w[0];
	if (w[2] != RPC_MSG_VERSION)
		return RPC_CALL_MISMATCH;
	if (!get_words(&xdrs, ids, 3))
		return RPC_CALL_NOT_A_CALL;
	call->prog = ids[0];
	call->vers = ids[1];
	call->proc = ids[2];
	if (!get_auth(&xdrs, &call->cred) || !get_auth(&xdrs, &verf))
		return RPC_CALL_BAD_CRED;
	call->body = rest(&xdrs, rec, len);
	return RPC_CALL_OK;
}

bool rpc_auth_sys_decode(const struct xdr_view *body, struct rpc_auth_sys *auth)
{
	XDR xdrs;

	open_memory(&xdrs, body->data, body->len, XDR_DECODE);
	if (!xdr_u_int(&xdrs, &auth->stamp) ||
	    !xdr_u_int(&xdrs, &auth->machine.len) ||
	    auth->machine.len > RPC_MACHINE_MAX)
		return false;
	auth->machine.data = (const char *)xdr_inline(
	    &xdrs, auth->machine.len + xdr_pad(auth->machine.len));
	if (!auth->machine.data)
		return false;
	return xdr_u_int(&xdrs, &auth->uid) && xdr_u_int(&xdrs, &auth->gid) &&
	       xdr_u_int(&xdrs, &auth->ngids) && auth->ngids <= RPC_GIDS_MAX &&
	       get_words(&xdrs, auth->gids, auth->ngids) &&
	       xdr_getpos(&xdrs) == body->len;
}

size_t rpc_auth_sys_encode(
    const struct rpc_auth_sys *auth, void *buf, size_t size)
{
	struct rpc_auth_sys a = *auth;
	XDR xdrs;

	open_memory(&xdrs, buf, size, XDR_ENCODE);
	if (a.ngids > RPC_GIDS_MAX || !xdr_u_int(&xdrs, &a.stamp) ||
	    !xdr_nfs3_name(&xdrs, &a.machine) || !xdr_u_int(&xdrs, &a.uid) ||
	    !xdr_u_int(&xdrs, &a.gid) || !xdr_u_int(&xdrs, &a.ngids) ||
	    !get_words(&xdrs, a.gids, a.ngids))
		return 0;
	return xdr_getpos(&xdrs);
}

size_t rpc_call_encode(const struct rpc_call *call, void *buf, size_t size)
{
	uint32_t w[] = {call->xid, CALL, RPC_MSG_VERSION, call->prog,
	    call->vers, call->proc, call->cred.flavor};
	uint32_t none[] = {AUTH_NONE, 0}, len = call->cred.body.len;
	XDR xdrs;

	open_memory(&xdrs, buf, size, XDR_ENCODE);
	if (len > RPC_AUTH_BODY_MAX || !get_words(&xdrs, w, 7) ||
	    !xdr_u_int(&xdrs, &len) ||
	    !xdr_opaque(&xdrs, (char *)(uintptr_t)call->cred.body.data, len) ||
	    !get_words(&xdrs, none, 2))
		return 0;
	return xdr_getpos(&xdrs);
}

static bool get_accepted(XDR *xdrs, struct rpc_reply *reply)
{
	struct rpc_cred verf;
	uint32_t range[2];

	if (!get_auth(xdrs, &verf) || !xdr_u_int(xdrs, &reply->status) ||
	    reply->status > SYSTEM_ERR)
		return false;
	if (reply->status != PROG_MISMATCH)
		return true;
	if (!get_words(xdrs, range, 2))
		return false;
	reply->low = range[0];
	reply->high = range[1];
	return true;
}

/* The versions that an RPC_MISMATCH names are read and dropped: there is no
 * other version to try. */
static bool get_rejected(XDR *xdrs, struct rpc_reply *reply)
{
	uint32_t range[2];

	if (!xdr_u_int(xdrs, &reply->status))
		return false;
	if (reply->status == RPC_MISMATCH)
		return get_words(xdrs, range, 2);
	return reply->status == AUTH_ERROR &&
	       xdr_u_int(xdrs, &reply->auth_status);
}

bool rpc_reply_decode(const void *rec, size_t len, struct rpc_reply *reply)
{
	uint32_t w[3];
	XDR xdrs;

	memset(reply, 0, sizeof(*reply));
	open_memory(&xdrs, rec, len, XDR_DECODE);
	if (!get_words(&xdrs, w, 3) || w[1] != REPLY)
		return false;
	reply->xid = w[0];
	reply->accepted = w[2] == MSG_ACCEPTED;
	if (reply->accepted ? !get_accepted(&xdrs, reply)
			    : w[2] != MSG_DENIED || !get_rejected(&xdrs, reply))
		return false;
	reply->body = rest(&xdrs, rec, len);
	return true;
}

size_t rpc_reply_encode_accepted(uint32_t xid, uint32_t accept_stat,
    uint32_t low, uint32_t high, void *buf, size_t size)
{
	uint32_t w[] = {
	    xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, accept_stat, low, high};

	return put_words(buf, size, w, accept_stat == PROG_MISMATCH ? 8 : 6);
}

size_t rpc_reply_encode_mismatch(uint32_t xid, void *buf, size_t size)
{
	uint32_t w[] = {xid, REPLY, MSG_DENIED, RPC_MISMATCH, RPC_MSG_VERSION,
	    RPC_MSG_VERSION};

	return put_words(buf, size, w, 6);
}

size_t rpc_reply_encode_auth_error(
    uint32_t xid, uint32_t auth_status, void *buf, size_t size)
{
	uint32_t w[] = {xid, REPLY, MSG_DENIED, AUTH_ERROR, auth_status};

	return put_words(buf, size, w, 5);
}
