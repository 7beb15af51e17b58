/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The four things that can come of a call to the server. */
#include "unittest.h"
#include "upstream/reply.h"

/* A READ of four bytes, and an answer with so many. */
struct world {
	struct record rec;
	struct rpc_reply rpc;
	struct upstream_result up;
	union nfs_args args;
	union nfs_res res;
	unsigned char body[256];
};

static const struct nfs_proc *read_proc(void)
{
	return nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_READ);
}

static void world_open(struct world *w, uint32_t bytes)
{
	union nfs_res res = {.status = NFS3_OK};
	READ3resok *r = &res.read.READ3res_u.resok;

	*w = (struct world){.rpc = {.accepted = true, .status = SUCCESS}};
	r->count = r->data.len = bytes;
	w->args.read =
	    (READ3args){.file = {.len = 2, .data = "fh"}, .count = 4};
	w->rpc.body.data = (const char *)w->body;
	/* The payload lies behind what is encoded. */
	w->rpc.body.len = (uint32_t)nfs_res_encode(
			      read_proc(), &res, w->body, sizeof(w->body)) +
			  bytes;
	w->up = (struct upstream_result){.rec = &w->rec, .rpc = &w->rpc};
}

static enum reply_kind decode(struct world *w)
{
	return reply_decode(&w->up, read_proc(), &w->args, &w->res);
}

TEST(test_results)
{
	struct world w;

	world_open(&w, 4);
	assert_int_equal(decode(&w), REPLY_RESULTS);
	assert_int_equal(w.res.status, NFS3_OK);
	assert_int_equal(w.res.read.READ3res_u.resok.data.len, 4);
}

/* An error of NFS is a result like others. */
TEST(test_status)
{
	struct world w;

	world_open(&w, 0);
	w.rpc.body.len = (uint32_t)nfs_res_encode_error(
	    read_proc(), NFS3ERR_STALE, w.body, sizeof(w.body));
	assert_int_equal(decode(&w), REPLY_RESULTS);
	assert_int_equal(w.res.status, NFS3ERR_STALE);
}

TEST(test_none)
{
	struct world w;

	world_open(&w, 4);
	w.up.rec = NULL;
	w.up.rpc = NULL;
	assert_int_equal(decode(&w), REPLY_NONE);
}

TEST(test_rpc_error)
{
	struct world w;

	world_open(&w, 4);
	w.rpc.status = PROC_UNAVAIL;
	assert_int_equal(decode(&w), REPLY_RPC_ERROR);
	w.rpc.accepted = false;
	w.rpc.status = SUCCESS;
	assert_int_equal(decode(&w), REPLY_RPC_ERROR);
}

TEST(test_malformed)
{
	struct world w;

	world_open(&w, 4);
	w.rpc.body.len = 7;
	assert_int_equal(decode(&w), REPLY_MALFORMED);
	/* More bytes than were asked for. */
	world_open(&w, 8);
	assert_int_equal(decode(&w), REPLY_MALFORMED);
}
