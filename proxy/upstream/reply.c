/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies of the server, decoded and checked. */
#include "upstream/reply.h"

enum reply_kind reply_decode(const struct upstream_result *up,
    const struct nfs_proc *proc, const union nfs_args *args, union nfs_res *res)
{
	const struct xdr_view *body;

	if (!up->rec)
		return REPLY_NONE;
	if (!up->rpc->accepted || up->rpc->status != SUCCESS)
		return REPLY_RPC_ERROR;
	body = &up->rpc->body;
	if (!nfs_res_decode(proc, body->data, body->len, res) ||
	    !nfs_res_check(proc, args, res))
		return REPLY_MALFORMED;
	return REPLY_RESULTS;
}
