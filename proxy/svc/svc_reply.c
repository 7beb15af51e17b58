/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies to clients: with results that the proxy encodes itself, with errors,
 * or with the server's reply as it came, which is passed on by reference.
 * Whatever answers a request ends here: the reply is counted, kept for copies
 * of the call (drc.h), sent, shown to the predictor, and the request freed, in
 * this order.
 *
 * This file also takes the server's reply to a client's own call: it is checked
 * (reply.h), learned (learn.h), edited where a row wants that, and sent on.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "cache/credtab.h"
#include "cache/learn.h"
#include "config/config.h"
#include "link/linkest.h"
#include "prefetch/ground/observe.h"
#include "prefetch/prefetch.h"
#include "svc/doubt.h"
#include "svc/exports.h"
#include "svc/svc_rqst.h"
#include "upstream/reply.h"

/* A reply that fills less than this part of its receive buffer is copied, so
 * that it does not keep the whole buffer until the client takes it. */
enum { BUFFER_SHARE = 16 };

/* ---- replies ---------------------------------------------------------- */

/* Counts a reply. One that went out at once reads the clock only now and then
 * (struct metrics_call). */
static void count_reply(struct svc_rqst *rqst, size_t bytes, bool error)
{
	struct metrics_call mc = {.bytes_in = rqst->call.body.len,
	    .bytes_out = bytes,
	    .error = error,
	    .clock = rqst->tried & SVC_TRIED_WAIT ? NULL : clock_read_us,
	    .since_us = rqst->received_us};

	if (rqst->tried & SVC_TRIED_WAIT) {
		mc.latency_us = clock_now_us() - rqst->received_us;
		svc_waits_end(rqst, mc.latency_us, bytes);
	}
	metrics_add_call(rqst->svc->p.metrics, METRICS_CLIENT, rqst->call.prog,
	    rqst->call.proc, &mc);
}

/* Makes of a request what the predictor sees of a call. */
static struct observe_call observed(const struct svc_rqst *rqst)
{
	return (struct observe_call){.proc = rqst->proc,
	    .args = &rqst->args,
	    .cred = &rqst->call.cred,
	    .cred_id = rqst->cred_id,
	    .uid = svc_rqst_uid(rqst),
	    .actor = rqst->client->address_hash,
	    .received_us = rqst->received_us};
}

/* Shows the call to the predictor after the reply was queued, so that a client
 * never waits for a prediction. */
static void rqst_observe(struct svc_rqst *rqst, size_t bytes)
{
	struct observe_call call;

	if (!rqst->cred_id || !rqst->client)
		return;
	call = observed(rqst);
	call.status = rqst->status;
	call.late = rqst->joins > 0;
	call.missed = rqst->tried & SVC_TRIED_SERVER;
	call.asked = rqst->tried & (SVC_TRIED_SERVER | SVC_TRIED_CONFIRM);
	call.bytes = bytes;
	if (rqst->tried & SVC_TRIED_WAIT)
		call.latency_us = clock_now_us() - rqst->received_us;
	prefetch_observe(rqst->svc->p.prefetch, &call);
}

void svc_rqst_begins(const struct svc_rqst *rqst, bool confirms)
{
	struct observe_call call;

	if (!rqst->cred_id || !rqst->client ||
	    rqst->proc->prog != NFS_PROGRAM ||
	    (rqst->proc->proc != NFSPROC3_GETATTR &&
		rqst->proc->proc != NFSPROC3_ACCESS &&
		rqst->proc->proc != NFSPROC3_READ))
		return;
	call = observed(rqst);
	call.missed = !confirms;
	prefetch_begins(rqst->svc->p.prefetch, &call);
}

void svc_reply_bytes(struct svc_rqst *rqst, const void *data, size_t len,
    struct rbuf *hold, bool error)
{
	uint32_t xid = htonl(rqst->call.xid);
	struct svc_client *client = rqst->client;
	struct rbuf_piece piece = {
	    .data = data, .len = (uint32_t)len, .hold = hold};

	count_reply(rqst, len, error);
	if (error && svc_is_stale(rqst->status))
		svc_machine_stale(rqst->svc, rqst->machine, clock_now_us());
	if (rqst->drc)
		drc_finish(
		    svc_rqst_cache(rqst), rqst->drc, data, len, clock_now_us());
	if (client)
		client->ops->send(client, &xid, sizeof(xid), &piece, 1);
	rqst_observe(rqst, len);
	svc_rqst_end(rqst);
}

void svc_reply_pieces(struct svc_rqst *rqst, const union nfs_res *res,
    const struct rbuf_piece *pieces, unsigned n)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX + NFS_RES_SMALL_MAX];
	struct svc_client *client = rqst->client;
	size_t len = rpc_reply_encode_accepted(
	    rqst->call.xid, SUCCESS, 0, 0, buf, sizeof(buf));
	size_t bytes = 0;

	len += nfs_res_encode(rqst->proc, res, buf + len, sizeof(buf) - len);
	for (unsigned i = 0; i < n; i++)
		bytes += pieces[i].len;
	count_reply(rqst, len - 4 + bytes, false);
	metrics_add(rqst->svc->p.metrics, METRICS_BYTES_RETURNED, bytes);
	if (client)
		client->ops->send(client, buf, len, pieces, n);
	rqst_observe(rqst, len - 4 + bytes);
	svc_rqst_end(rqst);
}

/* Drops the XID of an encoded reply, which svc_reply_bytes() puts in again: the
 * duplicate request cache keeps replies without it. */
static void reply_encoded(
    struct svc_rqst *rqst, const void *buf, size_t len, bool error)
{
	svc_reply_bytes(rqst, (const char *)buf + 4, len - 4, NULL, error);
}

void svc_reply_accepted(struct svc_rqst *rqst, enum accept_stat stat)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX];
	size_t len = rpc_reply_encode_accepted(
	    rqst->call.xid, stat, 3, 3, buf, sizeof(buf));

	svc_rqst_forget(rqst);
	if (stat != SUCCESS)
		rqst->status = NFS3ERR_IO;
	reply_encoded(rqst, buf, len, stat != SUCCESS);
}

void svc_reply_auth_error(struct svc_rqst *rqst, enum auth_stat why)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX];
	size_t len =
	    rpc_reply_encode_auth_error(rqst->call.xid, why, buf, sizeof(buf));

	reply_encoded(rqst, buf, len, true);
}

void svc_reply_mismatch(struct svc_rqst *rqst)
{
	unsigned char buf[RPC_REPLY_HEADER_MAX];
	size_t len =
	    rpc_reply_encode_mismatch(rqst->call.xid, buf, sizeof(buf));

	reply_encoded(rqst, buf, len, true);
}

/* Returns how many bytes a reply takes at most, with its header. */
static size_t result_room(const union nfs_res *res, const struct nfs_proc *proc)
{
	size_t list = 0;

	/* Edited lists are no longer than they came. */
	if (proc->prog == MOUNT_PROGRAM && proc->proc == MOUNTPROC3_EXPORT)
		list = res->export_list.exports.len;
	else if (proc->prog == NFSACL_PROGRAM && res->status == NFS3_OK)
		list = res->getacl.GETACL3res_u.resok.acls.access.len +
		       res->getacl.GETACL3res_u.resok.acls.default_acl.len;
	else if (proc->prog == NFS_PROGRAM && proc->proc == NFSPROC3_READDIR)
		list = res->readdir.READDIR3res_u.resok.reply.len;
	else if (proc->prog == NFS_PROGRAM &&
		 proc->proc == NFSPROC3_READDIRPLUS)
		list = res->readdirplus.READDIRPLUS3res_u.resok.reply.len;
	return RPC_REPLY_HEADER_MAX + NFS_RES_SMALL_MAX + list;
}

void svc_reply_result(struct svc_rqst *rqst, const union nfs_res *res)
{
	unsigned char small[RPC_REPLY_HEADER_MAX + NFS_RES_SMALL_MAX];
	size_t size = result_room(res, rqst->proc);
	unsigned char *buf = size > sizeof(small) ? malloc(size) : small;
	bool error =
	    (rqst->proc->flags & NFS_PROC_STATUS) && res->status != NFS3_OK;
	size_t head, body;

	if (!buf) {
		svc_reply_accepted(rqst, SYSTEM_ERR);
		return;
	}
	if (rqst->proc->flags & NFS_PROC_STATUS)
		rqst->status = res->status;
	head =
	    rpc_reply_encode_accepted(rqst->call.xid, SUCCESS, 0, 0, buf, size);
	body = nfs_res_encode(rqst->proc, res, buf + head, size - head);
	/* Results that nfs_res_encode() cannot carry must not pass for empty
	 * ones. */
	if (body > 0)
		reply_encoded(rqst, buf, head + body, error);
	else
		svc_reply_status(rqst, NFS3ERR_SERVERFAULT);
	if (buf != small)
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
	rqst->status = status;
	head = rpc_reply_encode_accepted(
	    rqst->call.xid, SUCCESS, 0, 0, buf, sizeof(buf));
	reply_encoded(rqst, buf,
	    head + nfs_res_encode_error(
		       rqst->proc, status, buf + head, sizeof(buf) - head),
	    status != NFS3_OK);
}

/* ---- the server's answer ---------------------------------------------- */

/* The server's reply to a client's call is malformed. The client gets an error,
 * and not bytes that may confuse it. */
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
	svc_rqst_forget(rqst);
	svc_reply_status(rqst, NFS3ERR_IO);
}

/* Whether the server's reply is copied, instead of keeping its receive buffer.
 */
static bool relay_copies(const struct record *rec)
{
	return rec->len <= SVC_SMALL_BYTES ||
	       (rec->len < rec->buf->size / BUFFER_SHARE &&
		   rec->len < RBUF_SMALL);
}

/* Passes the server's reply on as it came, with the client's XID; a large one
 * by reference. */
static void rqst_relay(
    struct svc_rqst *rqst, const struct record *rec, bool error)
{
	svc_reply_bytes(rqst, rec->data + 4, rec->len - 4,
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

/* How long the link would take to bring the READ's bytes again. 0: they are to
 * be kept in any case, since the farm's machines may want them, a request of
 * this machine waits for them (svc_join.c), or they must be there without a
 * server. */
static uint64_t again_us(const struct svc_rqst *rqst, const union nfs_res *res)
{
	const struct svc_params *p = &rqst->svc->p;
	uint64_t wire_us;

	if (rqst->proc->prog != NFS_PROGRAM ||
	    rqst->proc->proc != NFSPROC3_READ || res->status != NFS3_OK ||
	    p->farm || rqst->waiter.watched ||
	    p->caches->config->offline == CONFIG_OFFLINE_SERVE)
		return 0;
	wire_us = linkest_wire_us(
	    p->link, linkest_wire_bytes(res->read.READ3res_u.resok.data.len));
	return wire_us ? wire_us + linkest_base_us(p->link) : 0;
}

/* Gives the reply to the caches before the client gets it, so that the client's
 * next call finds what this one changed. */
static void rqst_learn(struct svc_rqst *rqst, const union nfs_res *res,
    const struct upstream_result *up)
{
	struct learn l;
	struct cred_key key;

	/* A change that was repeated in doubt may have been made twice, or
	 * by its first try alone. */
	if (up->doubtful) {
		svc_rqst_unknown(rqst, up->sent_us);
		return;
	}
	svc_rqst_learn(rqst, &l);
	cred_key_make(&key, rqst->call.cred.flavor, &rqst->auth);
	if (rqst->proc->prog == MOUNT_PROGRAM &&
	    rqst->proc->proc == MOUNTPROC3_MNT)
		l.cred_key = &key;
	l.told = rqst->client != NULL;
	l.res = res;
	l.body = &up->rpc->body;
	l.hold = up->rec->buf;
	l.sent_us = up->sent_us;
	l.again_us = again_us(rqst, res);
	learn_reply(&l);
	if (l.cred_key && res->mnt.status == MNT3_OK)
		exports_refresh(rqst->svc->exports, &rqst->call.cred);
}

static void reply_results(
    struct svc_rqst *rqst, union nfs_res *res, const struct upstream_result *up)
{
	bool status = rqst->proc->flags & NFS_PROC_STATUS;

	if (status)
		rqst->status = res->status;
	count_read(rqst, res, up->rec);
	rqst_learn(rqst, res, up);
	if (up->doubtful && doubt_ambiguous(rqst->proc, &rqst->args, res))
		doubt_note_left(rqst, res->status);
	if (rqst->row->edit && (!status || res->status == NFS3_OK) &&
	    rqst->row->edit(rqst, res))
		svc_reply_result(rqst, res);
	else
		rqst_relay(rqst, up->rec, status && res->status != NFS3_OK);
}

/* The server's reply to a client's own call came, or none ever will. */
static void rqst_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up)
{
	struct svc_rqst *rqst = svc_waiter_rqst(w);
	union nfs_res res;
	enum reply_kind kind = reply_decode(up, rqst->proc, &rqst->args, &res);

	svc_rqst_wait(rqst, SVC_WAIT_NONE);
	svc_waits_sent(rqst, up);
	if (kind != REPLY_RESULTS)
		svc_rqst_unknown(rqst, up->sent_us);
	switch (kind) {
	case REPLY_NONE:
		svc_rqst_forget(rqst);
		svc_rqst_end(rqst);
		break;
	case REPLY_RPC_ERROR:
		rqst->status = NFS3ERR_IO;
		svc_rqst_forget(rqst);
		rqst_relay(rqst, up->rec, true);
		break;
	case REPLY_MALFORMED:
		reply_bad(rqst);
		break;
	case REPLY_RESULTS:
		reply_results(rqst, &res, up);
		break;
	}
}

/* Notes how a change goes out before it does, so that a daemon which comes
 * after a kill can repeat it in the same way. */
static void rqst_on_send(
    struct fetch_waiter *w, const struct upstream_sent *sent)
{
	struct svc_rqst *rqst = svc_waiter_rqst(w);

	if (rqst->drc)
		drc_set_sent(rqst->drc, sent);
}

static bool rqst_on_doubt(struct fetch_waiter *w)
{
	return doubt_begin(svc_waiter_rqst(w));
}

const struct fetch_ops svc_reply_ops = {
    .on_send = rqst_on_send,
    .on_distrust = rqst_on_send,
    .on_reply = rqst_on_reply,
    .on_doubt = rqst_on_doubt,
};
