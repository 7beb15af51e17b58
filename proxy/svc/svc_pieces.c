/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A READ in pieces is a `struct svc_split`. The splits that have pieces to send
 * wait in one queue; pump() sends from it while the pipe is not full. A split
 * may outlive its request, since its calls point into it.
 */
#include "svc/svc_pieces.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/uint.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/calls/owncall.h"
#include "svc/svc_rqst.h"

/*
 * For so long READs of a file that changes all the time, or from a server that
 * sends no attributes, are asked whole: their pieces would not fit together.
 */
#define AVOID_US 10000000

enum {
	ARGS_BYTES = 4 + NFS3_FHSIZE_MAX + 8 + 4,
	PIECES_MAX = NFS3_DATA_MAX / SVC_PIECE_MIN,
};

struct svc_piece {
	struct owncall call;
	struct svc_split *split;
	uint32_t count; /* asked for */
	bool done;
	bool eof;
	/* The bytes that came, where they are to be kept. */
	uint32_t len;
	const void *data;
	struct rbuf *hold;
	unsigned char encoded[ARGS_BYTES];
};

TAILQ_HEAD(svc_splits, svc_split);
LIST_HEAD(svc_split_list, svc_split);

/* A READ in pieces. It holds everything that its calls point to, so they may
 * outlive the request. */
struct svc_split {
	LIST_ENTRY(svc_split) link;
	TAILQ_ENTRY(svc_split) turn; /* while `queued` */
	struct svc_pieces *ps;
	/* NULL once it was answered or is gone, and where none waits for the
	 * pieces together. */
	struct svc_rqst *rqst;
	struct fetch_claim claim;
	struct rpc_cred cred;
	READ3args args;
	uint32_t cred_id;
	uint32_t unit;
	unsigned n;
	unsigned sent;
	unsigned end; /* pieces from here on lie behind the end of the file */
	unsigned under_way;
	uint64_t begun_us;
	bool queued; /* pieces are to be sent */
	/* For svc_pieces_rest(): the request's row is tried again when all is
	 * there, instead of an answer. */
	bool rest;
	bool bad;  /* the pieces are not of one version, or one failed */
	bool over; /* no more will be sent */
	bool attr_known;
	fattr3 attr; /* of the piece that came last */
	char fh[NFS3_FHSIZE_MAX];
	char cred_body[RPC_AUTH_BODY_MAX];
	struct svc_piece pieces[];
};

struct svc_pieces {
	struct fetch *fetch;
	struct caches *caches;
	struct metrics *metrics;
	struct linkest *link;
	struct svc_split_list splits;
	struct svc_splits queue;  /* the first one's next piece is next */
	uint64_t under_way_bytes; /* on the wire, of pieces */
	uint64_t avoid_object;    /* 0: any */
	uint64_t avoid_until_us;
};

struct svc_pieces *svc_pieces_new(const struct svc_params *p)
{
	struct svc_pieces *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->fetch = p->fetch;
	ps->caches = p->caches;
	ps->metrics = p->metrics;
	ps->link = p->link;
	TAILQ_INIT(&ps->queue);
	return ps;
}

/* ---- the life of a split ---------------------------------------------- */

static void split_free(struct svc_split *sp)
{
	LIST_REMOVE(sp, link);
	for (unsigned i = 0; i < sp->n; i++)
		rbuf_unref(sp->pieces[i].hold);
	free(sp);
}

void svc_pieces_free(struct svc_pieces *ps)
{
	struct svc_split *sp;

	if (!ps)
		return;
	while ((sp = LIST_FIRST(&ps->splits)) != NULL) {
		for (unsigned i = 0; i < sp->sent; i++)
			(void)fetch_cancel(
			    ps->fetch, &sp->pieces[i].call.waiter);
		if (!sp->over)
			fetch_claim_drop(&sp->claim);
		split_free(sp);
	}
	free(ps);
}

static void split_unqueue(struct svc_split *sp)
{
	if (sp->queued)
		TAILQ_REMOVE(&sp->ps->queue, sp, turn);
	sp->queued = false;
}

/* Sends no more pieces, and tells those who watch. Calls under way run their
 * course, because the link carries their replies in any case. One more is
 * counted meanwhile, lest a watcher that is called from here free the split. */
static void split_end(struct svc_split *sp)
{
	split_unqueue(sp);
	sp->over = true;
	sp->under_way++;
	fetch_claim_end(&sp->claim);
	sp->under_way--;
	if (sp->under_way == 0)
		split_free(sp);
}

static struct svc_rqst *split_detach(struct svc_split *sp)
{
	struct svc_rqst *rqst = sp->rqst;

	sp->rqst = NULL;
	rqst->split = NULL;
	svc_rqst_wait(rqst, SVC_WAIT_NONE);
	return rqst;
}

void svc_pieces_leave(struct svc_rqst *rqst)
{
	struct svc_split *sp = rqst->split;

	if (!sp)
		return;
	(void)split_detach(sp);
	/* It may be called from anywhere; nobody watches the claim, so nobody
	 * is called back in the middle of that. */
	if (!sp->over && TAILQ_EMPTY(&sp->claim.watches))
		split_end(sp);
}

/* ---- answers ---------------------------------------------------------- */

static bool split_complete(const struct svc_split *sp)
{
	for (unsigned i = 0; i < sp->end; i++)
		if (!sp->pieces[i].done)
			return false;
	return true;
}

static void split_reply(struct svc_split *sp)
{
	struct svc_rqst *rqst = split_detach(sp);
	struct rbuf_piece pieces[PIECES_MAX];
	union nfs_res res = {.status = NFS3_OK};
	READ3resok *r = &res.read.READ3res_u.resok;
	struct attrcache *ac = rqst->svc->p.caches->attr;
	struct node *node;

	for (unsigned i = 0; i < sp->end; i++) {
		const struct svc_piece *p = &sp->pieces[i];

		pieces[i] = (struct rbuf_piece){
		    .data = p->data, .len = p->len, .hold = p->hold};
		r->count += p->len;
	}
	r->data.len = r->count;
	r->eof = sp->pieces[sp->end - 1].eof;
	r->file_attributes.attributes_follow = true;
	r->file_attributes.post_op_attr_u.attributes = sp->attr;
	node = attrcache_find(ac, &rqst->args.read.file);
	if (node && attrcache_is_version(ac, node, &sp->attr))
		attrcache_tell(ac, node, rqst->machine, NULL, sp->begun_us, 0);
	svc_reply_pieces(rqst, &res, pieces, sp->end);
}

/* Tries the request again: perhaps the caches know the answer now; else it is
 * asked for as it came. */
static void split_retry(struct svc_split *sp)
{
	struct svc_rqst *rqst = split_detach(sp);

	if (sp->bad) {
		rqst->tried |= SVC_TRIED_PIECES;
		metrics_add(sp->ps->metrics, METRICS_READS_WHOLE, 1);
	}
	svc_rqst_retry(rqst);
}

/* Answers the client, if it is still there, or tries its row again. `p` came
 * last. */
static void split_answer(struct svc_split *sp, const struct svc_piece *p,
    const struct upstream_result *up)
{
	if (!sp->rqst)
		return;
	if (p == sp->pieces && !p->done && up->rec && !sp->rest) {
		/* An error for the first piece would be the answer for all of
		 * them. */
		svc_reply_ops.on_reply(&split_detach(sp)->waiter, up);
	} else if (sp->bad || sp->rest) {
		split_retry(sp);
	} else {
		split_reply(sp);
	}
}

/* ---- replies ---------------------------------------------------------- */

static bool version_equal(const fattr3 *a, const fattr3 *b)
{
	return a->fsid == b->fsid && a->fileid == b->fileid &&
	       a->size == b->size && nfstime_equal(&a->mtime, &b->mtime) &&
	       nfstime_equal(&a->ctime, &b->ctime);
}

static void split_avoid(struct svc_split *sp, uint64_t object)
{
	sp->bad = true;
	sp->ps->avoid_object = object;
	sp->ps->avoid_until_us = clock_now_us() + AVOID_US;
}

/*
 * Whether the bytes in the answer to a call that is sent at `sent_us` are sure
 * to be those of the version that it shows. Shortly after a change the file may
 * change once more within one tick of the server's clock, and pieces of one
 * ctime would be of two moments.
 */
static bool file_firm(
    const struct svc_pieces *ps, const nfs3_fh *fh, uint64_t sent_us)
{
	struct attrcache *ac = ps->caches->attr;
	struct node *node = attrcache_find(ac, fh);

	return node && attrcache_firm(ac, node, sent_us);
}

/* Compares the version that a piece shows with that of the others; called after
 * learn_reply(), which may have found out that the version is not firm. */
static void split_compare(
    struct svc_split *sp, const post_op_attr *attr, uint64_t sent_us)
{
	const fattr3 *a = &attr->post_op_attr_u.attributes;

	if (!attr->attributes_follow)
		split_avoid(sp, 0);
	else if (sp->attr_known && !version_equal(a, &sp->attr))
		split_avoid(sp, sp->claim.about.object);
	else if (!file_firm(sp->ps, &sp->args.file, sent_us))
		sp->bad = true;
	if (!attr->attributes_follow)
		return;
	sp->attr_known = true;
	sp->attr = *a;
}

static void piece_keep(
    struct svc_piece *p, const READ3resok *r, const struct upstream_result *up)
{
	struct svc_split *sp = p->split;
	unsigned next = (unsigned)(p - sp->pieces) + 1;

	p->done = true;
	p->eof = r->eof;
	p->len = r->data.len;
	/* A piece that is shorter than asked ends the answer; the client
	 * will ask for what follows. */
	if ((r->eof || r->count < p->count) && next < sp->end)
		sp->end = next;
	if (sp->sent >= sp->end)
		split_unqueue(sp);
	if (!sp->rqst || sp->rest)
		return;
	split_compare(sp, &r->file_attributes, up->sent_us);
	p->data = r->data.data;
	p->hold = rbuf_ref(up->rec->buf);
}

/* Tells the caches of a piece, and keeps its bytes where they are wanted. `res`
 * is NULL where the reply has no results. */
static void piece_take(struct svc_piece *p, const union nfs_res *res,
    const struct upstream_result *up)
{
	struct svc_split *sp = p->split;

	if (!res) {
		sp->bad = true;
		return;
	}
	owncall_learn(&p->call, sp->ps->caches, res, up, clock_now_us(), false);
	if (res->status != NFS3_OK)
		sp->bad = true;
	else if (!sp->over)
		piece_keep(p, &res->read.READ3res_u.resok, up);
}

static void pump(struct svc_pieces *ps);

static void piece_on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up)
{
	struct svc_piece *p = container_of(c, struct svc_piece, call);
	struct svc_split *sp = p->split;

	(void)kind;
	sp->ps->under_way_bytes -= svc_pieces_wire_bytes(p->count);
	piece_take(p, res, up);
	if (sp->bad)
		split_unqueue(sp);
	/* Send the next pieces first, because what follows may take its
	 * time. */
	pump(sp->ps);
	sp->under_way--;
	if (sp->over) {
		if (sp->under_way == 0)
			split_free(sp);
	} else if (sp->bad || split_complete(sp)) {
		split_answer(sp, p, up);
		split_end(sp);
	}
}

/* ---- sending ---------------------------------------------------------- */

/* Gives the next turn to another file, if one waits; READs of one file go in
 * the order in which they came. */
static void turn_pass(struct svc_pieces *ps, uint64_t object)
{
	struct svc_splits passed = TAILQ_HEAD_INITIALIZER(passed);
	struct svc_split *sp, *next;

	for (sp = TAILQ_FIRST(&ps->queue); sp; sp = next) {
		next = TAILQ_NEXT(sp, turn);
		if (sp->claim.about.object != object)
			continue;
		TAILQ_REMOVE(&ps->queue, sp, turn);
		TAILQ_INSERT_TAIL(&passed, sp, turn);
	}
	TAILQ_CONCAT(&ps->queue, &passed, turn);
}

static bool piece_send(struct svc_piece *p)
{
	struct svc_split *sp = p->split;
	struct fetch_about about;

	p->call = (struct owncall){
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_READ),
	    .cred_id = sp->cred_id,
	    .on_reply = piece_on_reply};
	p->call.args.read = (READ3args){.file = sp->args.file,
	    .offset = sp->args.offset + (uint64_t)(p - sp->pieces) * sp->unit,
	    .count = p->count};
	about = fetch_about_call(p->call.proc, &p->call.args, sp->cred_id);
	return owncall_send(&p->call, sp->ps->fetch, &sp->cred, &about,
	    p->encoded, sizeof(p->encoded));
}

/* Memory ran out: the pieces under way end the split, or it ends now. */
static void split_fail(struct svc_split *sp)
{
	sp->bad = true;
	split_unqueue(sp);
	if (sp->under_way > 0)
		return;
	if (sp->rqst)
		svc_reply_accepted(split_detach(sp), SYSTEM_ERR);
	split_end(sp);
}

static void split_send(struct svc_split *sp)
{
	struct svc_pieces *ps = sp->ps;
	struct svc_piece *p = &sp->pieces[sp->sent];

	turn_pass(ps, sp->claim.about.object);
	if (++sp->sent == sp->end) {
		uint64_t now_us = clock_now_us();

		split_unqueue(sp);
		linkest_held(ps->link, now_us - sp->begun_us, now_us);
	}
	if (!piece_send(p)) {
		split_fail(sp);
		return;
	}
	sp->under_way++;
	ps->under_way_bytes += svc_pieces_wire_bytes(p->count);
	metrics_add(ps->metrics, METRICS_READ_PIECES, sp->n > 1);
}

static void pump(struct svc_pieces *ps)
{
	struct svc_split *sp;

	while ((sp = TAILQ_FIRST(&ps->queue)) != NULL &&
	       ps->under_way_bytes < svc_pieces_window(ps->link, sp->unit))
		split_send(sp);
}

bool svc_pieces_waiting(const struct svc_pieces *ps)
{
	return !TAILQ_EMPTY(&ps->queue);
}

/* ---- requests --------------------------------------------------------- */

static bool avoided(struct svc_pieces *ps, const nfs3_fh *fh, uint64_t now_us)
{
	return now_us < ps->avoid_until_us &&
	       (ps->avoid_object == 0 || ps->avoid_object == fh_key(fh));
}

static void split_copy(
    struct svc_split *sp, const struct svc_rqst *rqst, const READ3args *args)
{
	const struct rpc_cred *cred = &rqst->call.cred;

	memcpy(sp->fh, args->file.data, args->file.len);
	if (cred->body.len > 0)
		memcpy(sp->cred_body, cred->body.data, cred->body.len);
	sp->args = *args;
	sp->args.file.data = sp->fh;
	sp->cred = *cred;
	sp->cred.body.data = sp->cred_body;
	sp->cred_id = rqst->cred_id;
}

static struct svc_split *split_new(
    struct svc_rqst *rqst, const READ3args *args, uint32_t unit)
{
	unsigned n = (args->count + unit - 1) / unit;
	struct svc_split *sp =
	    calloc(1, sizeof(*sp) + n * sizeof(sp->pieces[0]));

	assert(n <= PIECES_MAX);
	if (!sp)
		return NULL;
	sp->ps = rqst->svc->pieces;
	sp->unit = unit;
	sp->n = n;
	sp->end = n;
	split_copy(sp, rqst, args);
	for (unsigned i = 0; i < n; i++) {
		sp->pieces[i].split = sp;
		sp->pieces[i].count = unit;
	}
	sp->pieces[n - 1].count = args->count - (n - 1) * unit;
	return sp;
}

/* Queues pieces of `unit` bytes, for which no request waits yet. NULL where
 * `unit` is 0, where the pieces would not be sure to be of one version, or
 * without memory. */
static struct svc_split *split_begin(
    struct svc_rqst *rqst, const READ3args *args, uint32_t unit)
{
	struct svc_pieces *ps = rqst->svc->pieces;
	union nfs_args all = {.read = *args};
	struct fetch_about about;
	struct svc_split *sp;

	if (unit == 0 || (rqst->tried & SVC_TRIED_PIECES) ||
	    avoided(ps, &args->file, rqst->now_us) ||
	    !file_firm(ps, &args->file, rqst->now_us))
		return NULL;
	sp = split_new(rqst, args, unit);
	if (!sp)
		return NULL;
	sp->begun_us = clock_now_us();
	about = fetch_about_call(rqst->proc, &all, rqst->cred_id);
	fetch_claim(ps->fetch, &sp->claim, &about);
	LIST_INSERT_HEAD(&ps->splits, sp, link);
	TAILQ_INSERT_TAIL(&ps->queue, sp, turn);
	sp->queued = true;
	metrics_add(ps->metrics, METRICS_READS_SPLIT, sp->n > 1);
	return sp;
}

static uint32_t unit_of(const struct svc_rqst *rqst, const READ3args *args)
{
	return svc_pieces_unit(rqst->svc->pieces->link, args->count);
}

static bool split_start(struct svc_rqst *rqst, const READ3args *args, bool rest)
{
	struct svc_split *sp = split_begin(rqst, args, unit_of(rqst, args));

	if (!sp)
		return false;
	sp->rest = rest;
	sp->rqst = rqst;
	rqst->split = sp;
	svc_rqst_wait(rqst, SVC_WAIT_PIECES);
	pump(sp->ps);
	return true;
}

bool svc_pieces_forward(struct svc_rqst *rqst)
{
	return rqst->proc->prog == NFS_PROGRAM &&
	       rqst->proc->proc == NFSPROC3_READ &&
	       split_start(rqst, &rqst->args.read, false);
}

bool svc_pieces_rest(struct svc_rqst *rqst, const READ3args *args)
{
	return split_start(rqst, args, true);
}

bool svc_pieces_behind(struct svc_rqst *rqst, const READ3args *args)
{
	struct svc_split *sp = unit_of(rqst, args) > 0
				   ? NULL
				   : split_begin(rqst, args, args->count);

	if (sp)
		pump(sp->ps);
	return sp;
}
