/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service as the daemon and its clients' connections see it, and what
 * becomes of a record: decoded, refused for what is wrong with it, compared
 * with the calls that the duplicate request cache knows, and handed to its
 * procedure's row.
 *
 * conn.c calls svc_receive() for each record and svc_client_gone() when a
 * connection closes. A record may be refused for its RPC header, its program,
 * version or procedure, its credential, or its arguments, in this order; no
 * cache is asked before all of these are right.
 */
#include "svc/svc.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/clock.h"
#include "cache/caches.h"
#include "config/config.h"
#include "svc/doubt.h"
#include "svc/exports.h"
#include "svc/svc_pieces.h"
#include "svc/svc_rqst.h"

/* An upper bound of a reply without payload or list. */
enum { REPLY_BYTES = 512 };

enum {
	/* A client that was asked to wait longer than this may have given up:
	 * soft mounts do, and so do users. */
	CHANGE_LATE_US = 2000000,
	/* The most orphans while changes are still taken from their clients to
	 * be held: with some more, clients.c admits no connection, and clients
	 * could not come back. */
	HELD_MAX = 2048,
};

struct svc *svc_new(const struct svc_params *p)
{
	struct svc *svc = calloc(1, sizeof(*svc));

	if (!svc)
		return NULL;
	svc->p = *p;
	svc->exports = exports_new(p->fetch, p->caches, p->config);
	svc->pieces = svc_pieces_new(p);
	svc->waits = waits_new();
	svc->order = svc_order_new();
	if (!svc->exports || !svc->pieces || !svc->order) {
		svc_free(svc);
		return NULL;
	}
	return svc;
}

void svc_free(struct svc *svc)
{
	if (!svc)
		return;
	while (!LIST_EMPTY(&svc->orphans)) {
		struct svc_rqst *rqst = LIST_FIRST(&svc->orphans);

		/* The server may have done a change that is under way, or waits
		 * here for its client. The caches are saved after this, and
		 * must not keep the state from before it. */
		svc_rqst_unknown(rqst, rqst->received_us);
		svc_rqst_drop(rqst);
	}
	svc_pieces_free(svc->pieces);
	exports_free(svc->exports);
	waits_free(svc->waits);
	svc_order_free(svc->order);
	free(svc->waited);
	free(svc);
}

void svc_set_config(struct svc *svc, const struct config_server *config)
{
	svc->p.config = config;
	exports_set_config(svc->exports, config);
}

bool svc_export_known(const struct svc *svc, size_t i, const char **over)
{
	return exports_known(svc->exports, i, over);
}

bool svc_offline(const struct svc *svc)
{
	return svc->offline;
}

uint64_t svc_served_age_us(const struct svc *svc)
{
	return svc->served_age_us;
}

bool svc_data_fault(struct svc *svc, const void *data, size_t len)
{
	struct datacache *dc = svc->p.caches->data;

	return dc && datacache_suspect(dc, data, len);
}

unsigned svc_orphans(const struct svc *svc)
{
	return svc->norphans;
}

/* ---- without the server ----------------------------------------------- */

/* Tries one of the requests that wait again, which may now be answered from
 * what is cached, however old. Returns whether there was one. */
static bool retry_some(struct svc *svc)
{
	struct svc_rqst *rqst;

	LIST_FOREACH (rqst, &svc->waiting, wait_link) {
		if (svc_is_patient(rqst) || !svc_rqst_stop(rqst))
			continue;
		svc_rqst_retry(rqst);
		return true;
	}
	return false;
}

uint64_t svc_waiting_us(const struct svc *svc)
{
	const struct svc_rqst *rqst;
	uint64_t us = 0;

	LIST_FOREACH (rqst, &svc->waiting, wait_link)
		if (us == 0 || rqst->received_us < us)
			us = rqst->received_us;
	return us;
}

bool svc_demand_waits(const struct svc *svc)
{
	return svc_pieces_waiting(svc->pieces);
}

void svc_set_offline(struct svc *svc, bool offline)
{
	if (svc->offline == offline)
		return;
	svc->offline = offline;
	svc->served_age_us = 0;
	/* Begin at the head again after each, because an answer changes the
	 * list. A request whose call others wait for cannot be stopped before
	 * these were answered. */
	while (offline && retry_some(svc))
		continue;
}

/* ---- requests --------------------------------------------------------- */

/* Returns an upper bound of the reply's bytes, as far as the arguments tell, so
 * that its client is held to its share of memory before the reply is there
 * (room.h). */
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

static const void *rqst_bytes(
    const struct svc_rqst *rqst, const struct record *rec)
{
	return rqst->hold ? rec->data : rqst->small;
}

/* The procedure was found by nfs_proc_find(), so its number is within the
 * table. */
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

/* Counts and logs a call that is refused. Whoever can connect can send such
 * calls, so the log lines are limited. */
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

/* Finds the procedure and its row; or replies with the error that RFC 5531
 * section 9 has for its absence, and returns false. */
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

/* Decodes the credential, or replies with an error and returns false. AUTH_NONE
 * is carried, too; the server decides what it may do. */
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
		svc_reply_auth_error(rqst, AUTH_BADCRED);
		return false;
	}
	call_refused(rqst, METRICS_CALLS_BAD_AUTH, "only AUTH_SYS is carried");
	svc_reply_auth_error(rqst, AUTH_REJECTEDCRED);
	return false;
}

/* Decodes the arguments, or replies GARBAGE_ARGS and returns false. */
static bool rqst_decode_args(struct svc_rqst *rqst)
{
	if (!nfs_args_decode(rqst->proc, rqst->call.body.data,
		rqst->call.body.len, &rqst->args)) {
		call_refused(rqst, METRICS_CALLS_GARBAGE_ARGS,
		    "arguments that do not decode");
		svc_reply_accepted(rqst, GARBAGE_ARGS);
		return false;
	}
	svc_rqst_charge(rqst, expected_reply(rqst));
	return true;
}

/* Returns a number for the caller: the client's address and who it says it is.
 * The stamp of the credential is left out, because clients may change it in a
 * repeat. */
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

/* ---- calls that come ---------------------------------------------------- */

/* Drops a copy of a call that is not answered yet, since the reply to the
 * `first` one will do. That must find its way to the connection that the client
 * has now: a client whose connection broke repeats its calls over the next one.
 */
static void rqst_is_copy(struct svc_rqst *rqst, struct svc_rqst *first)
{
	struct metrics *m = rqst->svc->p.metrics;
	struct svc_client *old = first ? first->client : NULL;

	if (first)
		first->asked_us = rqst->received_us;
	if (first && old != rqst->client) {
		svc_rqst_move(first, rqst->client);
		metrics_add(m, METRICS_DRC_REATTACHED, 1);
		if (old)
			old->ops->done(old);
		if (first->wait == SVC_WAIT_CLIENT)
			doubt_claim(first);
	} else {
		metrics_add(m, METRICS_DRC_IN_PROGRESS_DROPPED, 1);
	}
	svc_rqst_end(rqst);
}

/* Looks a change or a WRITE up among the calls that came before. False where
 * the duplicate request cache took care of it. Of the arguments only the
 * beginning is hashed, since those of a WRITE are long; its handle and offset
 * are in there. */
static bool rqst_check_drc(struct svc_rqst *rqst)
{
	const struct rpc_call *c = &rqst->call;
	struct drc *drc = svc_rqst_cache(rqst);
	struct drc_key key = {.client = principal_hash(rqst),
	    .args = XXH3_64bits(c->body.data,
		c->body.len < SVC_SMALL_BYTES ? c->body.len : SVC_SMALL_BYTES),
	    .args_len = c->body.len,
	    .xid = c->xid,
	    .prog = c->prog,
	    .vers = c->vers,
	    .proc = c->proc};
	struct svc_rqst *first;
	struct drc_entry *e;
	const void *reply;
	size_t len;

	switch (drc_begin(drc, &key, rqst->received_us, &e)) {
	case DRC_DONE:
		metrics_add(rqst->svc->p.metrics, METRICS_DRC_HITS, 1);
		reply = drc_reply(e, &len);
		svc_reply_bytes(rqst, reply, len, NULL, false);
		return false;
	case DRC_IN_PROGRESS:
		first = drc_owner(drc, e);
		if (!first || first->wait != SVC_WAIT_END) {
			rqst_is_copy(rqst, first);
			return false;
		}
		/* The first one's client is gone, and nobody knows whether
		 * it will be answered: the copy takes its place. */
		first->drc = NULL;
		break;
	default:
		break;
	}
	rqst->drc = e;
	if (e)
		drc_set_owner(drc, e, rqst);
	return true;
}

/* The checks that every call has to pass, then its row. The caches number the
 * credential here, once for each call. */
static void rqst_dispatch(struct svc_rqst *rqst)
{
	if (!rqst_find_proc(rqst) || !rqst_authenticate(rqst) ||
	    !rqst_decode_args(rqst))
		return;
	if ((rqst->proc->flags & NFS_PROC_DRC) && !rqst_check_drc(rqst))
		return;
	rqst->cred_id =
	    caches_cred(rqst->svc->p.caches, &rqst->call.cred, &rqst->auth);
	exports_poll(rqst->svc->exports, &rqst->call.cred, rqst->received_us);
	rqst->row->call(rqst);
}

void svc_receive(
    struct svc *svc, struct svc_client *client, const struct record *rec)
{
	struct svc_rqst *rqst = svc_rqst_new(svc, client, rec);

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
		svc_reply_mismatch(rqst);
		break;
	case RPC_CALL_BAD_CRED:
		call_refused(rqst, METRICS_CALLS_BAD_AUTH,
		    "credential or verifier too long");
		svc_reply_auth_error(rqst, AUTH_BADCRED);
		break;
	case RPC_CALL_NOT_A_CALL:
		metrics_add(svc->p.metrics, METRICS_RECORDS_BAD, 1);
		svc_rqst_drop(rqst);
		client->ops->reject(client, "a record that is not an RPC call");
		break;
	}
}

/* Gives up the payload of a WRITE that was sent, which may be large. Only its
 * end still counts, because the caches must know how long the file may change;
 * for that they need its handle, which moves into the request. */
static void write_abandon(struct svc_rqst *rqst)
{
	nfs3_fh *fh = &rqst->args.write.file;

	memmove(rqst->small, fh->data, fh->len);
	fh->data = (const char *)rqst->small;
	rqst->args.write.data.data = NULL;
	rbuf_unref(rqst->hold);
	rqst->hold = NULL;
	svc_rqst_wait(rqst, SVC_WAIT_END);
	fetch_abandon(&rqst->waiter);
}

/* Takes a request from a client that is gone. One that can be stopped is
 * forgotten; a call that is on its way runs its course, as an orphan. */
static void rqst_orphan(struct svc_rqst *rqst)
{
	svc_write_left(rqst);
	if (svc_rqst_stop(rqst)) {
		if (rqst->drc && (rqst->proc->flags & NFS_PROC_CHANGE))
			metrics_add(rqst->svc->p.metrics,
			    METRICS_CHANGES_DROPPED_UNSENT, 1);
		svc_rqst_forget(rqst);
		svc_rqst_drop(rqst);
		return;
	}
	svc_rqst_move(rqst, NULL);
	if (rqst->wait == SVC_WAIT_REPLY && rqst->proc->prog == NFS_PROGRAM &&
	    rqst->proc->proc == NFSPROC3_WRITE)
		write_abandon(rqst);
}

bool svc_rqst_late(const struct svc_rqst *rqst, uint64_t now_us)
{
	return now_us > rqst->asked_us + CHANGE_LATE_US &&
	       rqst->svc->norphans < HELD_MAX;
}

void svc_rqst_unhand(struct svc_rqst *rqst)
{
	metrics_add(rqst->svc->p.metrics, METRICS_CHANGES_HELD, 1);
	rqst->client->must_ask = true;
	rqst_orphan(rqst);
}

/* Returns for how long a request has waited for a connection to the server, in
 * microseconds; a WRITE may wait so with the GETATTR that confirms its file. */
static uint64_t waited_us(const struct svc_rqst *rqst, uint64_t now_us)
{
	if (rqst->wait == SVC_WAIT_LOOK)
		return doubt_waited_us(rqst, now_us);
	return rqst->wait == SVC_WAIT_REPLY || rqst->wait == SVC_WAIT_ASKED
		   ? fetch_waited_us(&rqst->waiter, now_us)
		   : 0;
}

void svc_hold_changes(struct svc *svc, uint64_t now_us)
{
	struct svc_rqst *rqst, *next;

	/* Whoever watches a change stands before it in the list, so `next` is
	 * still there when its watchers were told. */
	for (rqst = LIST_FIRST(&svc->waiting); rqst; rqst = next) {
		next = LIST_NEXT(rqst, wait_link);
		if (!rqst->client || !(rqst->proc->flags & NFS_PROC_DRC))
			continue;
		if (waited_us(rqst, now_us) > CHANGE_LATE_US &&
		    svc_rqst_late(rqst, now_us))
			svc_rqst_unhand(rqst);
	}
}

void svc_client_gone(struct svc *svc, struct svc_client *client)
{
	while (!LIST_EMPTY(&client->rqsts))
		rqst_orphan(LIST_FIRST(&client->rqsts));
	svc_machine_leave(svc, client, clock_now_us());
}
