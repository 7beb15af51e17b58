/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "svc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "clock.h"
#include "config.h"
#include "log.h"
#include "metrics.h"
#include "postcheck.h"

enum {
	/* A record up to this size is copied, so that it does not keep a
	 * large buffer; also the room for edited arguments. */
	SMALL_BYTES = 1024,
	/* What a reply without payload or list may take. */
	REPLY_BYTES = 512,
	/* A reply that is a smaller share of its buffer than one in so many
	 * is copied: a client that does not read would keep the buffer. */
	BUFFER_SHARE = 16,
};

struct svc {
	struct svc_params p;
	struct svc_rqsts orphans; /* their clients are gone */
	struct log_limit bad_call;
	struct log_limit bad_reply;
};

struct svc *svc_new(const struct svc_params *p)
{
	struct svc *svc = calloc(1, sizeof(*svc));

	if (svc)
		svc->p = *p;
	return svc;
}

static void rqst_free(struct svc_rqst *rqst)
{
	LIST_REMOVE(rqst, link);
	rbuf_unref(rqst->hold);
	free(rqst->check);
	free(rqst);
}

void svc_free(struct svc *svc)
{
	if (!svc)
		return;
	while (!LIST_EMPTY(&svc->orphans))
		rqst_free(LIST_FIRST(&svc->orphans));
	free(svc);
}

void svc_set_config(struct svc *svc, const struct config_server *config)
{
	svc->p.config = config;
}

const struct config_server *svc_config(const struct svc *svc)
{
	return svc->p.config;
}

struct fetch *svc_fetch(const struct svc *svc)
{
	return svc->p.fetch;
}

struct metrics *svc_metrics(const struct svc *svc)
{
	return svc->p.metrics;
}

static void client_attach(struct svc_client *client, struct svc_rqst *rqst)
{
	rqst->client = client;
	LIST_INSERT_HEAD(&client->rqsts, rqst, link);
	client->calls++;
	client->bytes += rqst->charge_bytes;
}

static void client_detach(struct svc_rqst *rqst)
{
	assert(rqst->client);
	rqst->client->calls--;
	rqst->client->bytes -= rqst->charge_bytes;
	rqst->client = NULL;
}

/* The request is over, answered or not. */
static void rqst_end(struct svc_rqst *rqst)
{
	struct svc_client *client = rqst->client;

	if (client)
		client_detach(rqst);
	rqst_free(rqst);
	if (client)
		client->ops->done(client);
}

/* ---- replies ---------------------------------------------------------- */

static void count_reply(struct svc_rqst *rqst, size_t bytes, bool error)
{
	struct metrics_call mc = {.bytes_in = rqst->call.body.len,
	    .bytes_out = bytes,
	    .latency_us = clock_now_us() - rqst->received_us,
	    .error = error};

	metrics_add_call(rqst->svc->p.metrics, METRICS_CLIENT, rqst->call.prog,
	    rqst->call.proc, &mc);
}

/*
 * Send a reply whose bytes behind the XID are `data`, and keep it for copies
 * of the call. `hold` as in xprt_queue(). Ends the request.
 */
static void rqst_reply(struct svc_rqst *rqst, const void *data, size_t len,
    struct rbuf *hold, bool error)
{
	uint32_t xid = htonl(rqst->call.xid);
	struct svc_client *client = rqst->client;

	count_reply(rqst, len, error);
	if (rqst->drc)
		drc_finish(rqst->svc->p.drc, rqst->drc, data, len);
	if (client)
		client->ops->send(client, &xid, sizeof(xid), data, len, hold);
	rqst_end(rqst);
}

/* An answer that says nothing about the call's effect: it may be repeated. */
static void rqst_forget_drc(struct svc_rqst *rqst)
{
	if (rqst->drc)
		drc_drop(rqst->svc->p.drc, rqst->drc);
	rqst->drc = NULL;
}

/* Replies are encoded with their XID, which rqst_reply() puts in again. */
static void rqst_reply_encoded(
    struct svc_rqst *rqst, const void *buf, size_t len, bool error)
{
	rqst_reply(rqst, (const char *)buf + 4, len - 4, NULL, error);
}

void svc_reply_accepted(struct svc_rqst *rqst, enum accept_stat stat)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX];
	size_t len = rpc_reply_encode_accepted(
	    rqst->call.xid, stat, 3, 3, buf, sizeof(buf));

	rqst_forget_drc(rqst);
	rqst_reply_encoded(rqst, buf, len, stat != SUCCESS);
}

static void reply_auth_error(struct svc_rqst *rqst, enum auth_stat why)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX];
	size_t len =
	    rpc_reply_encode_auth_error(rqst->call.xid, why, buf, sizeof(buf));

	rqst_reply_encoded(rqst, buf, len, true);
}

static void reply_mismatch(struct svc_rqst *rqst)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX];
	size_t len =
	    rpc_reply_encode_mismatch(rqst->call.xid, buf, sizeof(buf));

	rqst_reply_encoded(rqst, buf, len, true);
}

/* Room for a reply's header and its results. */
static size_t result_room(const union nfs_res *res, const struct nfs_proc *proc)
{
	/* Edited lists are no longer than they came. */
	if (proc->prog == MOUNT_PROGRAM && proc->proc == MOUNTPROC3_EXPORT)
		return RPC_REPLY_HEADER_MAX + res->export_list.exports.len;
	return RPC_REPLY_HEADER_MAX + NFS_RES_SMALL_MAX;
}

void svc_reply_result(struct svc_rqst *rqst, const union nfs_res *res)
{
	size_t size = result_room(res, rqst->proc);
	unsigned char *buf = malloc(size);
	bool error =
	    (rqst->proc->flags & NFS_PROC_STATUS) && res->status != NFS3_OK;
	size_t head, body;

	if (!buf) {
		svc_reply_accepted(rqst, SYSTEM_ERR);
		return;
	}
	head =
	    rpc_reply_encode_accepted(rqst->call.xid, SUCCESS, 0, 0, buf, size);
	body = nfs_res_encode(rqst->proc, res, buf + head, size - head);
	rqst_reply_encoded(rqst, buf, head + body, error);
	free(buf);
}

void svc_reply_status(struct svc_rqst *rqst, nfsstat3 status)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX + NFS_RES_SMALL_MAX];
	size_t head;

	if (!(rqst->proc->flags & NFS_PROC_STATUS)) {
		svc_reply_accepted(
		    rqst, status == NFS3_OK ? SUCCESS : SYSTEM_ERR);
		return;
	}
	head = rpc_reply_encode_accepted(
	    rqst->call.xid, SUCCESS, 0, 0, buf, sizeof(buf));
	rqst_reply_encoded(rqst, buf,
	    head + nfs_res_encode_error(
		       rqst->proc, status, buf + head, sizeof(buf) - head),
	    status != NFS3_OK);
}

/* ---- the server's answer ---------------------------------------------- */

static void reply_bad(struct svc_rqst *rqst)
{
	struct svc *svc = rqst->svc;
	unsigned suppressed;

	metrics_add(svc->p.metrics, METRICS_UPSTREAM_BAD_REPLIES, 1);
	if (log_limit_ok(&svc->bad_reply, clock_now_us(), &suppressed))
		log_warn("svc server=%s procedure=%s suppressed=%u: the "
			 "server's reply is malformed; answered with an I/O "
			 "error",
		    svc->p.config->name, rqst->proc->name, suppressed);
	rqst_forget_drc(rqst);
	svc_reply_status(rqst, NFS3ERR_IO);
}

static bool relay_copies(const struct record *rec)
{
	return rec->len <= SMALL_BYTES ||
	       rec->len < rec->buf->size / BUFFER_SHARE;
}

/* Pass the reply on as it came, large ones by reference. */
static void rqst_relay(
    struct svc_rqst *rqst, const struct record *rec, bool error)
{
	rqst_reply(rqst, rec->data + 4, rec->len - 4,
	    relay_copies(rec) ? NULL : rec->buf, error);
}

static void count_read(
    struct svc_rqst *rqst, const union nfs_res *res, const struct record *rec)
{
	struct metrics *m = rqst->svc->p.metrics;
	uint32_t len = res->read.READ3res_u.resok.data.len;

	if (rqst->proc->prog != NFS_PROGRAM ||
	    rqst->proc->proc != NFSPROC3_READ || res->status != NFS3_OK)
		return;
	metrics_add(m, METRICS_BYTES_RETURNED, len);
	if (relay_copies(rec))
		metrics_add(m, METRICS_BYTES_COPIED, len);
}

static void rqst_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up)
{
	struct svc_rqst *rqst =
	    (void *)((char *)w - offsetof(struct svc_rqst, waiter));
	union nfs_res res;
	bool status = rqst->proc->flags & NFS_PROC_STATUS;

	if (!up->rpc->accepted || up->rpc->status != SUCCESS) {
		rqst_forget_drc(rqst);
		rqst_relay(rqst, up->rec, true);
		return;
	}
	if (!nfs_res_decode(
		rqst->proc, up->rpc->body.data, up->rpc->body.len, &res) ||
	    !nfs_res_check(rqst->proc, &rqst->args, &res)) {
		reply_bad(rqst);
		return;
	}
	count_read(rqst, &res, up->rec);
	if (up->doubtful && postcheck_wanted(rqst->proc, &rqst->args, &res))
		postcheck_start(rqst, &res);
	else if (rqst->row->edit && (!status || res.status == NFS3_OK) &&
		 rqst->row->edit(rqst, &res))
		svc_reply_result(rqst, &res);
	else
		rqst_relay(rqst, up->rec, status && res.status != NFS3_OK);
}

static void rqst_on_send(
    struct fetch_waiter *w, const struct upstream_sent *sent)
{
	struct svc_rqst *rqst =
	    (void *)((char *)w - offsetof(struct svc_rqst, waiter));

	if (rqst->drc)
		drc_set_sent(rqst->drc, sent);
}

static const struct fetch_ops rqst_ops = {
    .on_send = rqst_on_send,
    .on_reply = rqst_on_reply,
};

/* ---- the client's call ------------------------------------------------ */

static void rqst_send(
    struct svc_rqst *rqst, struct xdr_view args, struct rbuf *hold)
{
	struct upstream_sent former = {0};
	struct upstream_request req = {.proc = rqst->proc,
	    .cred = &rqst->call.cred,
	    .args = args,
	    .hold = hold};

	if (rqst->drc)
		drc_get_sent(rqst->drc, &former);
	if (former.xid != 0)
		req.former = &former;
	rqst->waiter.ops = &rqst_ops;
	if (fetch_start(rqst->svc->p.fetch, &req, &rqst->waiter) < 0)
		svc_reply_accepted(rqst, SYSTEM_ERR);
}

void svc_forward(struct svc_rqst *rqst)
{
	rqst_send(rqst, rqst->call.body, rqst->hold);
}

void svc_forward_edited(struct svc_rqst *rqst)
{
	/* Behind the copy of the record, which the arguments point into. */
	unsigned char *to = rqst->small + SMALL_BYTES;
	size_t len = nfs_args_encode(rqst->proc, &rqst->args, to, SMALL_BYTES);

	rqst_send(rqst,
	    (struct xdr_view){.len = (uint32_t)len, .data = (const char *)to},
	    NULL);
}

/* Bytes that the reply may bring, as far as the arguments tell. */
static size_t expected_reply(const struct svc_rqst *rqst)
{
	uint32_t bytes = 0;

	if (rqst->proc->prog != NFS_PROGRAM)
		return REPLY_BYTES;
	if (rqst->proc->proc == NFSPROC3_READ)
		bytes = rqst->args.read.count;
	else if (rqst->proc->proc == NFSPROC3_READDIR)
		bytes = rqst->args.readdir.count;
	else if (rqst->proc->proc == NFSPROC3_READDIRPLUS)
		bytes = rqst->args.readdirplus.maxcount;
	return REPLY_BYTES + (bytes < NFS3_DATA_MAX ? bytes : NFS3_DATA_MAX);
}

static struct svc_rqst *rqst_new(
    struct svc *svc, struct svc_client *client, const struct record *rec)
{
	/* Twice: the record, and arguments edited from it. */
	struct svc_rqst *rqst = malloc(sizeof(*rqst) + 2 * SMALL_BYTES);

	if (!rqst)
		return NULL;
	memset(rqst, 0, sizeof(*rqst));
	rqst->svc = svc;
	rqst->charge_bytes = rec->len;
	rqst->received_us = clock_now_us();
	if (rec->len <= SMALL_BYTES)
		memcpy(rqst->small, rec->data, rec->len);
	else
		rqst->hold = rbuf_ref(rec->buf);
	client_attach(client, rqst);
	return rqst;
}

static const void *rqst_bytes(
    const struct svc_rqst *rqst, const struct record *rec)
{
	return rqst->hold ? rec->data : rqst->small;
}

static const struct svc_proc *find_row(const struct nfs_proc *proc)
{
	switch (proc->prog) {
	case NFS_PROGRAM:
		return &nfs3_rows[proc->proc];
	case MOUNT_PROGRAM:
		return &mount3_rows[proc->proc];
	default:
		return &nfsacl3_rows[proc->proc];
	}
}

static void call_refused(
    struct svc_rqst *rqst, enum metrics_counter counter, const char *why)
{
	struct svc *svc = rqst->svc;
	unsigned suppressed;

	metrics_add(svc->p.metrics, counter, 1);
	if (log_limit_ok(&svc->bad_call, rqst->received_us, &suppressed))
		log_warn("svc server=%s client=%s program=%u version=%u "
			 "procedure=%u suppressed=%u: %s",
		    svc->p.config->name, rqst->client->name, rqst->call.prog,
		    rqst->call.vers, rqst->call.proc, suppressed, why);
}

/* The procedure's rows, or the error that RFC 5531 has for its absence. */
static bool rqst_find_proc(struct svc_rqst *rqst)
{
	const struct rpc_call *c = &rqst->call;
	bool known = c->prog == NFS_PROGRAM || c->prog == MOUNT_PROGRAM ||
		     c->prog == NFSACL_PROGRAM;

	rqst->proc = nfs_proc_find(c->prog, c->vers, c->proc);
	if (rqst->proc) {
		rqst->row = find_row(rqst->proc);
		return true;
	}
	if (!known) {
		call_refused(
		    rqst, METRICS_CALLS_PROG_UNAVAIL, "no such program");
		svc_reply_accepted(rqst, PROG_UNAVAIL);
	} else if (c->vers != 3) {
		call_refused(rqst, METRICS_CALLS_PROG_MISMATCH,
		    "only version 3 is carried");
		svc_reply_accepted(rqst, PROG_MISMATCH);
	} else {
		call_refused(
		    rqst, METRICS_CALLS_PROC_UNAVAIL, "no such procedure");
		svc_reply_accepted(rqst, PROC_UNAVAIL);
	}
	return false;
}

static bool rqst_authenticate(struct svc_rqst *rqst)
{
	const struct rpc_cred *cred = &rqst->call.cred;

	if (cred->flavor == AUTH_NONE)
		return true;
	if (cred->flavor == AUTH_SYS) {
		if (rpc_auth_sys_decode(&cred->body, &rqst->auth))
			return true;
		call_refused(rqst, METRICS_CALLS_BAD_AUTH,
		    "malformed AUTH_SYS credential");
		reply_auth_error(rqst, AUTH_BADCRED);
		return false;
	}
	call_refused(rqst, METRICS_CALLS_BAD_AUTH, "only AUTH_SYS is carried");
	reply_auth_error(rqst, AUTH_REJECTEDCRED);
	return false;
}

static bool rqst_decode_args(struct svc_rqst *rqst)
{
	size_t expected;

	if (!nfs_args_decode(rqst->proc, rqst->call.body.data,
		rqst->call.body.len, &rqst->args)) {
		call_refused(rqst, METRICS_CALLS_GARBAGE_ARGS,
		    "arguments that do not decode");
		svc_reply_accepted(rqst, GARBAGE_ARGS);
		return false;
	}
	expected = expected_reply(rqst);
	rqst->charge_bytes += expected;
	rqst->client->bytes += expected;
	return true;
}

/* Who calls. The stamp is left out: clients may change it in a repeat. */
static uint64_t principal_hash(const struct svc_rqst *rqst)
{
	const struct rpc_auth_sys *a = &rqst->auth;
	uint64_t h = rqst->client->address_hash;
	uint32_t ids[3] = {rqst->call.cred.flavor, a->uid, a->gid};

	h = XXH3_64bits_withSeed(ids, sizeof(ids), h);
	if (a->machine.len > 0)
		h = XXH3_64bits_withSeed(a->machine.data, a->machine.len, h);
	return h;
}

/* A copy of a call that is not answered yet: the first one's reply will do,
 * but it must find its way to the connection that the client has now. */
static void rqst_is_copy(struct svc_rqst *rqst, struct svc_rqst *first)
{
	struct metrics *m = rqst->svc->p.metrics;

	if (first && !first->client) {
		LIST_REMOVE(first, link);
		client_attach(rqst->client, first);
		metrics_add(m, METRICS_DRC_REATTACHED, 1);
	} else {
		metrics_add(m, METRICS_DRC_IN_PROGRESS_DROPPED, 1);
	}
	rqst_end(rqst);
}

/* False where the duplicate request cache took care of the call. */
static bool rqst_check_drc(struct svc_rqst *rqst)
{
	const struct rpc_call *c = &rqst->call;
	struct drc *drc = rqst->svc->p.drc;
	struct drc_key key = {.client = principal_hash(rqst),
	    .args = XXH3_64bits(c->body.data, c->body.len),
	    .args_len = c->body.len,
	    .xid = c->xid,
	    .prog = c->prog,
	    .vers = c->vers,
	    .proc = c->proc};
	struct drc_entry *e;
	const void *reply;
	size_t len;

	switch (drc_begin(drc, &key, &e)) {
	case DRC_DONE:
		metrics_add(rqst->svc->p.metrics, METRICS_DRC_HITS, 1);
		reply = drc_reply(e, &len);
		rqst_reply(rqst, reply, len, NULL, false);
		return false;
	case DRC_IN_PROGRESS:
		rqst_is_copy(rqst, drc_owner(drc, e));
		return false;
	default:
		rqst->drc = e;
		if (e)
			drc_set_owner(drc, e, rqst);
		return true;
	}
}

static void rqst_dispatch(struct svc_rqst *rqst)
{
	if (!rqst_find_proc(rqst) || !rqst_authenticate(rqst) ||
	    !rqst_decode_args(rqst))
		return;
	if ((rqst->proc->flags & NFS_PROC_CHANGE) && !rqst_check_drc(rqst))
		return;
	rqst->row->call(rqst);
}

void svc_receive(
    struct svc *svc, struct svc_client *client, const struct record *rec)
{
	struct svc_rqst *rqst = rqst_new(svc, client, rec);

	if (!rqst) {
		client->ops->reject(client, "out of memory");
		return;
	}
	switch (rpc_call_decode(rqst_bytes(rqst, rec), rec->len, &rqst->call)) {
	case RPC_CALL_OK:
		rqst_dispatch(rqst);
		break;
	case RPC_CALL_MISMATCH:
		call_refused(rqst, METRICS_CALLS_BAD_RPCVERS,
		    "only RPC version 2 is spoken");
		reply_mismatch(rqst);
		break;
	case RPC_CALL_BAD_CRED:
		call_refused(rqst, METRICS_CALLS_BAD_AUTH,
		    "credential or verifier too long");
		reply_auth_error(rqst, AUTH_BADCRED);
		break;
	case RPC_CALL_NOT_A_CALL:
		metrics_add(svc->p.metrics, METRICS_RECORDS_BAD, 1);
		client_detach(rqst);
		rqst_free(rqst);
		client->ops->reject(client, "a record that is no RPC call");
		break;
	}
}

/* The request's client is gone: forget it, or let it run its course. */
static void rqst_orphan(struct svc_rqst *rqst)
{
	struct svc *svc = rqst->svc;

	client_detach(rqst);
	LIST_REMOVE(rqst, link);
	LIST_INSERT_HEAD(&svc->orphans, rqst, link);
	if (!rqst->waiter.flight || !fetch_cancel(svc->p.fetch, &rqst->waiter))
		return;
	if (rqst->drc) {
		drc_drop(svc->p.drc, rqst->drc);
		metrics_add(svc->p.metrics, METRICS_CHANGES_DROPPED_UNSENT, 1);
	}
	rqst_free(rqst);
}

void svc_client_gone(struct svc *svc, struct svc_client *client)
{
	(void)svc;
	while (!LIST_EMPTY(&client->rqsts))
		rqst_orphan(LIST_FIRST(&client->rqsts));
}
