/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn.h"
#include "config/config.h"
#include "svc/exports.h"
#include "svc/postcheck.h"
#include "svc/svc_pieces.h"
#include "svc/svc_rqst.h"
#include "upstream/reply.h"

/* What a reply without payload or list may take. */
enum { REPLY_BYTES = 512 };

struct svc *svc_new(const struct svc_params *p)
{
	struct svc *svc = calloc(1, sizeof(*svc));

	if (!svc)
		return NULL;
	svc->p = *p;
	svc->exports = exports_new(p->fetch, p->caches, p->config);
	svc->pieces = svc_pieces_new(p);
	if (!svc->exports || !svc->pieces) {
		svc_free(svc);
		return NULL;
	}
	return svc;
}

/* Out of its client's list, or of the orphans'. */
static void rqst_unlink(struct svc_rqst *rqst)
{
	LIST_REMOVE(rqst, link);
	if (rqst->orphan)
		rqst->svc->norphans--;
	rqst->orphan = false;
}

void svc_rqst_wait(struct svc_rqst *rqst)
{
	if (rqst->waiting)
		return;
	rqst->waiting = true;
	rqst->waited = true;
	LIST_INSERT_HEAD(&rqst->svc->waiting, rqst, wait_link);
}

void svc_rqst_arrived(struct svc_rqst *rqst)
{
	if (rqst->waiting)
		LIST_REMOVE(rqst, wait_link);
	rqst->waiting = false;
}

static void rqst_free(struct svc_rqst *rqst)
{
	rqst_unlink(rqst);
	svc_rqst_arrived(rqst);
	if (rqst->disk.request)
		datacache_cancel(rqst->svc->p.caches->data, &rqst->disk);
	fetch_unwatch(&rqst->watch);
	svc_pieces_leave(rqst);
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
	svc_pieces_free(svc->pieces);
	exports_free(svc->exports);
	free(svc);
}

void svc_set_config(struct svc *svc, const struct config_server *config)
{
	svc->p.config = config;
	exports_set_config(svc->exports, config);
}

const struct config_server *svc_config(const struct svc *svc)
{
	return svc->p.config;
}

struct caches *svc_caches(const struct svc *svc)
{
	return svc->p.caches;
}

struct asker svc_asker(const struct svc_rqst *rqst)
{
	return (struct asker){.caches = rqst->svc->p.caches,
	    .cred = rqst->cred_id,
	    .offline = rqst->svc->offline,
	    .received_us = rqst->received_us,
	    .now_us = rqst->now_us};
}

bool svc_offline(const struct svc *svc)
{
	return svc->offline;
}

void svc_served(struct svc *svc, uint64_t sent_us, uint64_t now_us)
{
	if (svc->offline && now_us - sent_us > svc->served_age_us)
		svc->served_age_us = now_us - sent_us;
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
void svc_rqst_end(struct svc_rqst *rqst)
{
	struct svc_client *client = rqst->client;

	if (client)
		client_detach(rqst);
	rqst_free(rqst);
	if (client)
		client->ops->done(client);
}

struct drc *svc_rqst_cache(const struct svc_rqst *rqst)
{
	const struct svc_params *p = &rqst->svc->p;

	return rqst->proc->flags & NFS_PROC_CHANGE ? p->drc : p->write_drc;
}

void svc_rqst_forget(struct svc_rqst *rqst)
{
	if (rqst->drc)
		drc_drop(svc_rqst_cache(rqst), rqst->drc);
	rqst->drc = NULL;
}

void svc_rqst_learn(const struct svc_rqst *rqst, struct learn *l)
{
	*l = (struct learn){.caches = rqst->svc->p.caches,
	    .proc = rqst->proc,
	    .args = &rqst->args,
	    .cred = rqst->cred_id,
	    .now_us = clock_now_us()};
}

/* What the change is about; of one that was sent before a restart, how. */
static void rqst_note_object(
    struct svc_rqst *rqst, struct upstream_sent *former)
{
	if (rqst->drc)
		drc_get_sent(rqst->drc, former);
	if (rqst->drc && former->xid != 0) {
		rqst->object = drc_object(rqst->drc);
		return;
	}
	rqst->object =
	    postcheck_object(rqst->svc->p.caches, rqst->proc, &rqst->args);
	if (rqst->drc && rqst->object.key != 0)
		drc_set_object(rqst->drc, &rqst->object);
}

/*
 * What waits for the server while it is away, where all else would hang its
 * user: changes, and COMMIT. A client that is told that COMMIT failed drops
 * what it has written, instead of writing it again (RFC 1813 section 4.8).
 */
static bool waits_for_server(const struct svc_rqst *rqst)
{
	return (rqst->proc->flags & NFS_PROC_DRC) ||
	       (rqst->proc->prog == NFS_PROGRAM &&
		   rqst->proc->proc == NFSPROC3_COMMIT);
}

static void rqst_send(
    struct svc_rqst *rqst, struct xdr_view args, struct rbuf *hold)
{
	struct upstream_sent former = {0};
	struct upstream_request req = {.proc = rqst->proc,
	    .cred = &rqst->call.cred,
	    .args = args,
	    .hold = hold};
	struct fetch_about about;

	if (rqst->svc->offline && !waits_for_server(rqst)) {
		svc_reply_status(rqst, NFS3ERR_IO);
		return;
	}

	if (rqst->proc->flags & NFS_PROC_CHANGE)
		rqst_note_object(rqst, &former);
	if (former.xid != 0)
		req.former = &former;
	if (svc_join(rqst))
		return;
	rqst->missed = true;
	if (svc_pieces_forward(rqst))
		return;
	rqst->waiter.ops = &svc_reply_ops;
	svc_rqst_wait(rqst);
	about = fetch_about_call(rqst->proc, &rqst->args, rqst->cred_id);
	if (fetch_start(rqst->svc->p.fetch, &req, &about, &rqst->waiter) < 0)
		svc_reply_accepted(rqst, SYSTEM_ERR);
}

/* ---- confirming ------------------------------------------------------- */

/* What was asked on the way to an answer; all begin with the handle. */
static void learn_asked(struct svc_rqst *rqst, uint32_t proc,
    const union nfs_args *args, const struct upstream_result *up)
{
	struct learn l;
	union nfs_res res;

	svc_rqst_learn(rqst, &l);
	l.proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
	if (reply_decode(up, l.proc, args, &res) != REPLY_RESULTS)
		return;
	l.args = args;
	l.res = &res;
	l.body = &up->rpc->body;
	l.hold = up->rec->buf;
	l.sent_us = up->sent_us;
	learn_reply(&l);
}

void svc_rqst_retry(struct svc_rqst *rqst)
{
	rqst->now_us = clock_now_us();
	if (rqst->client)
		rqst->row->call(rqst);
	else
		svc_rqst_end(rqst);
}

static void ask(struct svc_rqst *rqst, uint32_t proc,
    const union nfs_args *args, const struct fetch_ops *ops)
{
	unsigned char *to = rqst->small + SVC_SMALL_BYTES;
	struct upstream_request req = {
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc),
	    .cred = &rqst->call.cred,
	    .args = {.data = (const char *)to}};
	struct fetch_about about =
	    fetch_about_call(req.proc, args, rqst->cred_id);

	req.args.len =
	    (uint32_t)nfs_args_encode(req.proc, args, to, SVC_SMALL_BYTES);
	rqst->waiter.ops = ops;
	svc_rqst_wait(rqst);
	if (fetch_start(rqst->svc->p.fetch, &req, &about, &rqst->waiter) < 0)
		svc_reply_accepted(rqst, SYSTEM_ERR);
}

static void confirm_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up)
{
	struct svc_rqst *rqst = svc_waiter_rqst(w);
	/* The handle stands first in the request's arguments, too. */
	union nfs_args args = {
	    .access = {.object = rqst->args.object, .access = ACCESS_ALL}};

	svc_rqst_arrived(rqst);
	learn_asked(rqst, NFSPROC3_ACCESS, &args, up);
	svc_rqst_retry(rqst);
}

static const struct fetch_ops confirm_ops = {.on_reply = confirm_on_reply};

void svc_confirm(struct svc_rqst *rqst, const nfs3_fh *fh)
{
	union nfs_args args = {.access = {.object = *fh, .access = ACCESS_ALL}};

	if (svc_join_confirm(rqst, fh))
		return;
	rqst->confirmed = true;
	ask(rqst, NFSPROC3_ACCESS, &args, &confirm_ops);
}

/* The end of a READ behind `rqst->have` bytes. */
static union nfs_args rest_of(const struct svc_rqst *rqst)
{
	union nfs_args args = {.read = rqst->args.read};

	args.read.offset += rqst->have;
	args.read.count -= rqst->have;
	if (args.read.count > NFS3_DATA_MAX)
		args.read.count = NFS3_DATA_MAX;
	return args;
}

static void rest_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up)
{
	struct svc_rqst *rqst = svc_waiter_rqst(w);
	union nfs_args args = rest_of(rqst);

	svc_rqst_arrived(rqst);
	learn_asked(rqst, NFSPROC3_READ, &args, up);
	svc_rqst_retry(rqst);
}

static const struct fetch_ops rest_ops = {.on_reply = rest_on_reply};

void svc_read_rest(struct svc_rqst *rqst, uint32_t have)
{
	union nfs_args args;

	rqst->have = have;
	if (svc_join_rest(rqst))
		return;
	rqst->filled = true;
	rqst->missed = true;
	args = rest_of(rqst);
	if (svc_pieces_rest(rqst, &args.read))
		return;
	ask(rqst, NFSPROC3_READ, &args, &rest_ops);
}

static void disk_on_ready(struct datacache_waiter *w)
{
	struct svc_rqst *rqst =
	    (void *)((char *)w - offsetof(struct svc_rqst, disk));

	if (w->late)
		metrics_add(rqst->svc->p.metrics, METRICS_DATA_LATE, 1);
	rqst->now_us = clock_now_us();
	rqst->waited = true;
	rqst->row->call(rqst);
}

void svc_wait_disk(struct svc_rqst *rqst)
{
	rqst->disk.on_ready = disk_on_ready;
}

/* ---- without the server ----------------------------------------------- */

/* Try again with what is cached; false where it has to wait. */
static bool rqst_retry_offline(struct svc_rqst *rqst)
{
	if (waits_for_server(rqst) || rqst->check)
		return false;
	if (rqst->watch.list)
		fetch_unwatch(&rqst->watch);
	else if (rqst->split)
		svc_pieces_leave(rqst);
	else if (!rqst->waiter.flight ||
		 !fetch_cancel(rqst->svc->p.fetch, &rqst->waiter))
		return false;
	svc_rqst_arrived(rqst);
	rqst->now_us = clock_now_us();
	rqst->row->call(rqst);
	return true;
}

static bool retry_some(struct svc *svc)
{
	struct svc_rqst *rqst;

	LIST_FOREACH (rqst, &svc->waiting, wait_link)
		if (rqst_retry_offline(rqst))
			return true;
	return false;
}

uint64_t svc_waiting_us(const struct svc *svc)
{
	const struct svc_rqst *rqst;
	uint64_t us = 0;

	/* What is held waits for its client. */
	LIST_FOREACH (rqst, &svc->waiting, wait_link)
		if (!rqst->held_us && (us == 0 || rqst->received_us < us))
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
	/* Each answer changes the list; who keeps what others wait for can be
	 * answered after them. */
	while (offline && retry_some(svc))
		continue;
}

/* ---- requests --------------------------------------------------------- */

void svc_forward(struct svc_rqst *rqst)
{
	rqst_send(rqst, rqst->call.body, rqst->hold);
}

void svc_forward_args(struct svc_rqst *rqst, const union nfs_args *args)
{
	/* Behind the copy of the record, which the arguments point into. */
	unsigned char *to = rqst->small + SVC_SMALL_BYTES;
	size_t len = nfs_args_encode(rqst->proc, args, to, SVC_SMALL_BYTES);

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
	struct svc_rqst *rqst = malloc(sizeof(*rqst) + 2 * SVC_SMALL_BYTES);

	if (!rqst)
		return NULL;
	memset(rqst, 0, sizeof(*rqst));
	rqst->svc = svc;
	rqst->charge_bytes = rec->len;
	rqst->received_us = rec->received_us;
	rqst->now_us = rec->received_us;
	if (rec->len <= SVC_SMALL_BYTES)
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
		svc_reply_auth_error(rqst, AUTH_BADCRED);
		return false;
	}
	call_refused(rqst, METRICS_CALLS_BAD_AUTH, "only AUTH_SYS is carried");
	svc_reply_auth_error(rqst, AUTH_REJECTEDCRED);
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

/* ---- changes in doubt --------------------------------------------------- */

/* Nobody wants it any more, so what somebody else did meanwhile counts; but
 * its client may come back. */
static void rqst_hold(struct svc_rqst *rqst)
{
	rqst->held_us = clock_now_us();
}

static void rqst_claimed(struct svc_rqst *rqst)
{
	rqst->held_us = 0;
	if (!postcheck_start(rqst))
		fetch_resume(&rqst->waiter);
}

bool svc_rqst_in_doubt(struct svc_rqst *rqst)
{
	if (!(rqst->proc->flags & NFS_PROC_CHANGE))
		return false;
	if (rqst->client)
		return postcheck_start(rqst);
	rqst_hold(rqst);
	return true;
}

void svc_repeat(struct svc_rqst *rqst)
{
	if (rqst->client)
		fetch_resume(&rqst->waiter);
	else
		rqst_hold(rqst);
}

void svc_settle(struct svc_rqst *rqst, const union nfs_res *res)
{
	fetch_release(&rqst->waiter);
	svc_rqst_arrived(rqst);
	svc_rqst_unknown(rqst, rqst->received_us);
	svc_reply_result(rqst, res);
}

void svc_expire(struct svc *svc, uint64_t now_us)
{
	struct svc_rqst *rqst, *next;

	for (rqst = LIST_FIRST(&svc->orphans); rqst; rqst = next) {
		next = LIST_NEXT(rqst, link);
		if (!rqst->held_us || now_us - rqst->held_us < DRC_KEEP_US)
			continue;
		metrics_add(
		    svc->p.metrics, METRICS_CHANGES_DROPPED_DOUBTFUL, 1);
		fetch_release(&rqst->waiter);
		svc_rqst_unknown(rqst, rqst->received_us);
		svc_rqst_forget(rqst);
		svc_rqst_end(rqst);
	}
}

/* ---- calls that come ---------------------------------------------------- */

/* A copy of a call that is not answered yet: the first one's reply will do,
 * but it must find its way to the connection that the client has now. */
static void rqst_is_copy(struct svc_rqst *rqst, struct svc_rqst *first)
{
	struct metrics *m = rqst->svc->p.metrics;
	struct svc_client *old = first ? first->client : NULL;

	if (first && old != rqst->client) {
		if (old)
			client_detach(first);
		rqst_unlink(first);
		client_attach(rqst->client, first);
		metrics_add(m, METRICS_DRC_REATTACHED, 1);
		if (old)
			old->ops->done(old);
		if (first->held_us)
			rqst_claimed(first);
	} else {
		metrics_add(m, METRICS_DRC_IN_PROGRESS_DROPPED, 1);
	}
	svc_rqst_end(rqst);
}

/* False where the duplicate request cache took care of the call. */
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
		if (!first || !first->abandoned) {
			rqst_is_copy(rqst, first);
			return false;
		}
		/* Whether the first one is answered is not sure any more. */
		first->drc = NULL;
		rqst->drc = e;
		drc_set_owner(drc, e, rqst);
		return true;
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
		svc_reply_mismatch(rqst);
		break;
	case RPC_CALL_BAD_CRED:
		call_refused(rqst, METRICS_CALLS_BAD_AUTH,
		    "credential or verifier too long");
		svc_reply_auth_error(rqst, AUTH_BADCRED);
		break;
	case RPC_CALL_NOT_A_CALL:
		metrics_add(svc->p.metrics, METRICS_RECORDS_BAD, 1);
		client_detach(rqst);
		rqst_free(rqst);
		client->ops->reject(client, "a record that is no RPC call");
		break;
	}
}

/* A WRITE that was sent: all that counts is when it is over. Its payload may
 * be large, so it goes now; the handle is what the caches must know. */
static void write_abandon(struct svc_rqst *rqst)
{
	nfs3_fh *fh = &rqst->args.write.file;

	memmove(rqst->small, fh->data, fh->len);
	fh->data = (const char *)rqst->small;
	rqst->args.write.data.data = NULL;
	rbuf_unref(rqst->hold);
	rqst->hold = NULL;
	rqst->abandoned = true;
	fetch_abandon(&rqst->waiter);
}

/* The request's client is gone: forget it, or let it run its course. */
static void rqst_orphan(struct svc_rqst *rqst)
{
	struct svc *svc = rqst->svc;

	client_detach(rqst);
	rqst_unlink(rqst);
	LIST_INSERT_HEAD(&svc->orphans, rqst, link);
	rqst->orphan = true;
	svc->norphans++;
	if (rqst->disk.request || rqst->watch.list || rqst->split) {
		rqst_free(rqst);
		return;
	}
	if (!rqst->waiter.flight)
		return;
	if (!fetch_cancel(svc->p.fetch, &rqst->waiter)) {
		if (rqst->proc->prog == NFS_PROGRAM &&
		    rqst->proc->proc == NFSPROC3_WRITE)
			write_abandon(rqst);
		return;
	}
	if (rqst->drc && (rqst->proc->flags & NFS_PROC_CHANGE))
		metrics_add(svc->p.metrics, METRICS_CHANGES_DROPPED_UNSENT, 1);
	svc_rqst_forget(rqst);
	rqst_free(rqst);
}

void svc_client_gone(struct svc *svc, struct svc_client *client)
{
	(void)svc;
	while (!LIST_EMPTY(&client->rqsts))
		rqst_orphan(LIST_FIRST(&client->rqsts));
}
