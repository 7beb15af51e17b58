/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way to a request's answer: the caches decide (cached.h), and what they
 * lack is asked of the server, as little of it as will do.
 *
 *	a change of its client's is under way: wait for that (svc_order.c)
 *	HIT ─────────▶ reply
 *	CONFIRM ─────▶ ACCESS ──────────┐
 *	REST ────────▶ the end's call ──┼─▶ learn ─▶ the caches decide again
 *	WAIT ────────▶ the disk ────────┘
 *	MISS ────────▶ the call itself ─▶ svc_reply.c
 *
 * Calls that are under way already are joined instead (svc_join.c), and long
 * READs go in pieces (svc_pieces.c).
 *
 * Here confirm(), read_rest() and list_rest() have ask() send a call of ours;
 * its reply goes to asked(), which learns it and asks the caches again. miss()
 * has forward() send the client's own call. Both send by start().
 */
#include <stdlib.h>

#include "cache/caches.h"
#include "base/uint.h"
#include "cache/learn.h"
#include "link/linkest.h"
#include "svc/doubt.h"
#include "svc/svc_pieces.h"
#include "svc/svc_rqst.h"
#include "upstream/reply.h"

/* Attributes are fresh for three seconds, most often: an end that takes longer
 * than this on the link is not asked for by itself. */
enum { LIST_REST_US = 1000000 };

/* ---- from the server -------------------------------------------------- */

/* Notes the object of a change, for the case that its reply gets lost
 * (doubt.h). If the change was sent by a former daemon, that noted the object,
 * and `former` gets how the call went out: its XID, connection and times. */
static void note_object(struct svc_rqst *rqst, struct upstream_sent *former)
{
	if (rqst->drc)
		drc_get_sent(rqst->drc, former);
	if (rqst->drc && former->xid != 0) {
		rqst->object = drc_object(rqst->drc);
		return;
	}
	rqst->object =
	    doubt_object(rqst->svc->p.caches, rqst->proc, &rqst->args);
	if (rqst->drc && rqst->object.key != 0)
		drc_set_object(rqst->drc, &rqst->object);
}

/* Whether a GETACL asks for a directory's default ACL alone. Linux does so
 * before it makes something there, which fails where the GETACL does. */
static bool precedes_create(const struct svc_rqst *rqst)
{
	return rqst->proc->prog == NFSACL_PROGRAM &&
	       rqst->proc->proc == NFSACLPROC3_GETACL &&
	       !(rqst->args.getacl.mask & NFSACL_ACCESS);
}

/*
 * Changes wait for the server while it is away, and so does the question that
 * precedes a create. COMMIT waits, too: a client that is told that COMMIT
 * failed drops what it has written, instead of writing it again as it does
 * after a server's restart (RFC 1813 section 3.3.21). All other calls would
 * hang their users.
 */
bool svc_is_patient(const struct svc_rqst *rqst)
{
	return (rqst->proc->flags & NFS_PROC_DRC) || precedes_create(rqst) ||
	       (rqst->proc->prog == NFS_PROGRAM &&
		   rqst->proc->proc == NFSPROC3_COMMIT);
}

/* Gives the call to fetch; `ops` hear of its reply. Where memory runs out, the
 * client is told SYSTEM_ERR, and the request is over. */
static void start(struct svc_rqst *rqst, const struct upstream_request *req,
    const struct fetch_about *about, enum svc_wait wait,
    const struct fetch_ops *ops)
{
	rqst->waiter.ops = ops;
	svc_rqst_wait(rqst, wait);
	if (fetch_start(rqst->svc->p.fetch, req, about, &rqst->waiter) == 0)
		return;
	svc_rqst_wait(rqst, SVC_WAIT_NONE);
	svc_reply_accepted(rqst, SYSTEM_ERR);
}

/* Sends the client's call, or has it wait for a call under way that brings as
 * much. The order of the steps matters: a change is entered in svc_order.c
 * before it can be sent, and a call that stands behind a change joins no other,
 * since that may have been sent before the change. */
static void forward(
    struct svc_rqst *rqst, struct xdr_view args, struct rbuf *hold)
{
	struct upstream_sent former = {0};
	struct upstream_request req = {.proc = rqst->proc,
	    .cred = &rqst->call.cred,
	    .args = args,
	    .hold = hold};
	struct fetch_about about =
	    fetch_about_call(rqst->proc, &rqst->args, rqst->cred_id);

	if (rqst->svc->offline && !svc_is_patient(rqst)) {
		svc_reply_status(rqst, NFS3ERR_IO);
		return;
	}
	if (rqst->proc->flags & NFS_PROC_CHANGE)
		note_object(rqst, &former);
	if (former.xid != 0)
		req.former = &former;
	req.behind = svc_order_behind(rqst);
	if (rqst->proc->flags & NFS_PROC_CHANGE)
		svc_order_enter(rqst);
	if (!req.behind && (svc_join(rqst) || svc_join_farm(rqst)))
		return;
	rqst->tried |= SVC_TRIED_SERVER;
	if (req.behind || !svc_pieces_forward(rqst))
		start(rqst, &req, &about, SVC_WAIT_REPLY, &svc_reply_ops);
}

void svc_forward(struct svc_rqst *rqst)
{
	forward(rqst, rqst->call.body, rqst->hold);
}

/* Encodes arguments behind the copy of the record, into which the former ones
 * still point. They fit: WRITE, SYMLINK and SETACL, whose arguments may be
 * long, never come here. */
static struct xdr_view encode(struct svc_rqst *rqst,
    const struct nfs_proc *proc, const union nfs_args *args)
{
	unsigned char *to = rqst->small + SVC_SMALL_BYTES;
	size_t len = nfs_args_encode(proc, args, to, SVC_SMALL_BYTES);

	return (struct xdr_view){
	    .len = (uint32_t)len, .data = (const char *)to};
}

void svc_forward_args(struct svc_rqst *rqst, const union nfs_args *args)
{
	forward(rqst, encode(rqst, rqst->proc, args), NULL);
}

/* ---- what is missing to answer from the caches ------------------------- */

/* Sends a call of our own that the request needs. It runs under the client's
 * credential, so that the server grants it no more than it would grant the
 * client. */
static void ask(struct svc_rqst *rqst, uint32_t proc,
    const union nfs_args *args, const struct fetch_ops *ops)
{
	struct upstream_request req = {
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc),
	    .cred = &rqst->call.cred};
	struct fetch_about about =
	    fetch_about_call(req.proc, args, rqst->cred_id);

	/* Calls ahead that would ask for the same page, or for one behind it,
	 * wait for this one. */
	if (proc == NFSPROC3_READDIRPLUS) {
		about.from = 0;
		about.to = UINT64_MAX;
	}
	req.args = encode(rqst, req.proc, args);
	start(rqst, &req, &about, SVC_WAIT_ASKED, ops);
}

/* Learns the reply to such a call and tries the request's row again. An error
 * or a malformed reply teaches nothing; then the row finds in `tried` that this
 * way was gone, and takes another one. */
static void asked(struct fetch_waiter *w, uint32_t proc,
    const union nfs_args *args, const struct upstream_result *up)
{
	struct svc_rqst *rqst = svc_waiter_rqst(w);
	union nfs_res res;
	struct learn l;

	svc_waits_sent(rqst, up);
	svc_rqst_learn(rqst, &l);
	l.proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
	if (reply_decode(up, l.proc, args, &res) == REPLY_RESULTS) {
		l.args = args;
		l.res = &res;
		l.body = &up->rpc->body;
		l.hold = up->rec->buf;
		l.sent_us = up->sent_us;
		learn_reply(&l);
		/* The server would say the same to the client's own call. A
		 * change has to be told by the reply to that alone. */
		if (rqst->client && !(rqst->proc->flags & NFS_PROC_DRC) &&
		    svc_is_stale(res.status)) {
			svc_rqst_wait(rqst, SVC_WAIT_NONE);
			svc_reply_status(rqst, res.status);
			return;
		}
	}
	svc_rqst_retry(rqst);
}

/* Arguments of the ACCESS that confirms an object. It asks for all rights, so
 * that later calls need no other one; the handle stands first in all arguments.
 */
static union nfs_args confirm_args(const struct svc_rqst *rqst)
{
	return (union nfs_args){.access = {
				    .object = rqst->args.object,
				    .access = ACCESS_ALL,
				}};
}

/* A look at a directory where a change might have come behind it (svc_order.c)
 * counts as having come now, behind that change. */
static void confirm_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up)
{
	struct svc_rqst *rqst = svc_waiter_rqst(w);
	union nfs_args args = confirm_args(rqst);

	if (rqst->tried & SVC_TRIED_EARLY)
		rqst->number = ++rqst->svc->received;
	asked(w, NFSPROC3_ACCESS, &args, up);
}

static const struct fetch_ops confirm_ops = {.on_reply = confirm_on_reply};

static void confirm(struct svc_rqst *rqst)
{
	union nfs_args args = confirm_args(rqst);

	if (!(rqst->tried & SVC_TRIED_EARLY) && svc_join_confirm(rqst))
		return;
	svc_rqst_begins(rqst, true);
	rqst->tried |= SVC_TRIED_CONFIRM;
	ask(rqst, NFSPROC3_ACCESS, &args, &confirm_ops);
}

static void attributes_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up)
{
	union nfs_args args = {.object = svc_waiter_rqst(w)->args.object};

	asked(w, NFSPROC3_GETATTR, &args, up);
}

void svc_ask_attributes(struct svc_rqst *rqst)
{
	static const struct fetch_ops ops = {.on_reply = attributes_on_reply};
	union nfs_args args = {.object = rqst->args.object};

	rqst->tried |= SVC_TRIED_CONFIRM;
	ask(rqst, NFSPROC3_GETATTR, &args, &ops);
}

/* Arguments for the end of a READ, behind the `rqst->have` bytes that are
 * there. */
static union nfs_args rest_args(const struct svc_rqst *rqst)
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
	union nfs_args args = rest_args(svc_waiter_rqst(w));

	asked(w, NFSPROC3_READ, &args, up);
}

static const struct fetch_ops rest_ops = {.on_reply = rest_on_reply};

static void read_rest(struct svc_rqst *rqst, uint32_t have)
{
	union nfs_args args;

	rqst->have = have;
	if (svc_join_rest(rqst) || svc_join_farm(rqst))
		return;
	rqst->tried |= SVC_TRIED_REST | SVC_TRIED_SERVER;
	args = rest_args(rqst);
	if (!svc_pieces_rest(rqst, &args.read))
		ask(rqst, NFSPROC3_READ, &args, &rest_ops);
}

static void list_on_reply(
    struct fetch_waiter *w, const struct upstream_result *up)
{
	union nfs_args args = {.readdirplus = {
				   .cookie = svc_waiter_rqst(w)->rest_cookie,
			       }};

	args.readdirplus.dir = svc_waiter_rqst(w)->args.readdirplus.dir;
	asked(w, NFSPROC3_READDIRPLUS, &args, up);
}

/* Asks for the end of a listing, of which some pages came ahead of its client.
 * Where another one comes just now, that may do; but the client does not wait
 * for one short page after the other. */
static void list_rest(struct svc_rqst *rqst, const READDIRPLUS3args *rest)
{
	static const struct fetch_ops ops = {.on_reply = list_on_reply};
	union nfs_args args = {.readdirplus = *rest};

	if (rqst->joins == 0 && svc_join(rqst))
		return;
	rqst->rest_cookie = rest->cookie;
	rqst->tried |= SVC_TRIED_REST | SVC_TRIED_SERVER;
	ask(rqst, NFSPROC3_READDIRPLUS, &args, &ops);
}

/* Whether the end of a listing takes so long on the link that its beginning may
 * be too old by then. */
static bool rest_comes_late(
    const struct svc_rqst *rqst, const struct cached_answer *a)
{
	return rqst->proc->proc != NFSPROC3_READ &&
	       linkest_wire_us(rqst->svc->p.link,
		   linkest_wire_bytes(a->rest.maxcount)) > LIST_REST_US;
}

/* The disk has answered, or hangs (`late`): the caches decide again. */
static void disk_on_ready(struct datacache_waiter *w)
{
	struct svc_rqst *rqst = container_of(w, struct svc_rqst, disk);

	if (w->late)
		metrics_add(rqst->svc->p.metrics, METRICS_DATA_LATE, 1);
	svc_rqst_retry(rqst);
}

/* ---- from the caches -------------------------------------------------- */

void svc_served(struct svc *svc, uint64_t sent_us, uint64_t now_us)
{
	if (!svc->offline)
		return;
	if (now_us - sent_us > svc->served_age_us)
		svc->served_age_us = now_us - sent_us;
}

/* Replies from the caches. A confirmation that this request itself asked for
 * spares no round trip, so it is not counted as one. */
static void hit(struct svc_rqst *rqst, struct cached_answer *a)
{
	const struct svc_proc *row = rqst->row;
	struct metrics *m = rqst->svc->p.metrics;

	metrics_add(
	    m, a->res.status == NFS3_OK ? row->hits : METRICS_NEGATIVE_HITS, 1);
	if (!(rqst->tried & SVC_TRIED_CONFIRM))
		metrics_add(m, METRICS_ROUND_TRIPS_SAVED, 1);
	svc_served(rqst->svc, a->sent_us, rqst->now_us);
	if (row->edit && a->res.status == NFS3_OK)
		(void)row->edit(rqst, &a->res);
	svc_order_edit(rqst, &a->res);
	if (a->npieces > 0)
		svc_reply_pieces(rqst, &a->res, a->pieces, a->npieces);
	else
		svc_reply_result(rqst, &a->res);
	free(a->list);
}

/* Counts a miss once, however often the caches are asked for one request. */
static void count_miss(const struct svc_rqst *rqst)
{
	if (rqst->joins == 0 &&
	    !(rqst->tried & (SVC_TRIED_CONFIRM | SVC_TRIED_FARM)))
		metrics_add(rqst->svc->p.metrics, rqst->row->misses, 1);
}

/* Asks the server for the client's call. The predictor hears of that once,
 * before anything is sent. */
static void miss(struct svc_rqst *rqst)
{
	count_miss(rqst);
	if (rqst->joins == 0 && !(rqst->tried & SVC_TRIED_FARM))
		svc_rqst_begins(rqst, false);
	if (rqst->row->forward)
		rqst->row->forward(rqst);
	else
		svc_forward(rqst);
}

/* Whether the caches must not answer the request yet, because of a change of
 * its client that is under way, or may be about to come. Then it waits already,
 * or the server is asked. */
static bool stands_behind(struct svc_rqst *rqst)
{
	enum svc_order_verdict verdict = svc_order_look(rqst);

	if (verdict == SVC_ORDER_ASK)
		miss(rqst);
	if (verdict != SVC_ORDER_FREE)
		return true;
	if (!svc_order_is_early(rqst))
		return false;
	rqst->tried |= SVC_TRIED_EARLY;
	confirm(rqst);
	return true;
}

static void ask_rest(struct svc_rqst *rqst, const struct cached_answer *a)
{
	count_miss(rqst);
	if (rqst->proc->proc == NFSPROC3_READ)
		read_rest(rqst, a->have);
	else
		list_rest(rqst, &a->rest);
}

void svc_answer(struct svc_rqst *rqst)
{
	struct cached_call call = {.who = svc_asker(rqst),
	    .proc = rqst->proc,
	    .args = &rqst->args,
	    .confirmed = rqst->tried & SVC_TRIED_CONFIRM,
	    .rest_asked = (rqst->tried & SVC_TRIED_REST) || rqst->svc->offline,
	    .disk = &rqst->disk,
	    .hides = svc_order_hides,
	    .hides_ctx = rqst};
	enum cached_verdict verdict;
	struct cached_answer a;

	if (stands_behind(rqst))
		return;
	rqst->disk.on_ready = disk_on_ready;
	verdict = rqst->row->cached(&call, &a);
	if (verdict == CACHED_REST && rest_comes_late(rqst, &a))
		verdict = CACHED_MISS;
	if (verdict != CACHED_HIT)
		svc_waits_why(rqst, verdict);
	switch (verdict) {
	case CACHED_HIT:
		hit(rqst, &a);
		break;
	case CACHED_CONFIRM:
		confirm(rqst);
		break;
	case CACHED_REST:
		ask_rest(rqst, &a);
		break;
	case CACHED_WAIT:
		svc_rqst_wait(rqst, SVC_WAIT_DISK);
		break;
	case CACHED_MISS:
		miss(rqst);
		break;
	}
}
