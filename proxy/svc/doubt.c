/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes in doubt: held while nobody wants them, or looked into before they
 * are repeated. A look is one or two calls. Each tells which object a name
 * leads to, and that is compared with the object that the change was about when
 * it was first sent:
 *
 *	REMOVE, RMDIR   LOOKUP name   the object: repeat
 *	                              absent: done
 *	                              another one: NFS3ERR_NOENT
 *	RENAME          LOOKUP from   the object: repeat; else
 *	                LOOKUP to     the object: done; else NFS3ERR_NOENT
 *	LINK            LOOKUP name   the object, and it has one more name:
 *	                              done; else repeat
 *	SETATTR         GETATTR       ctime is the guard's, or as it was: repeat
 *	                              as asked for: done
 *	                              no guard, and what it would change was
 *	                              changed: NFS3ERR_IO; else repeat
 *
 * An error that the server would answer to the change as well has it repeated:
 * then the server decides. Not so a RENAME whose old name leads to another
 * object: it would move that one, so it is NFS3ERR_NOENT, too. Any other error
 * says nothing, and the daemon looks again, after pauses that grow. If nothing
 * can be found out for as long as the reply cache keeps replies, the client is
 * told NFS3ERR_IO.
 */
#include "svc/doubt.h"

#include <stdlib.h>
#include <string.h>

#include "base/uint.h"
#include "base/clock.h"
#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/calls/owncall.h"
#include "svc/svc_rqst.h"

enum {
	PAUSE_US = 1000000, /* after the first look that failed */
	PAUSE_MAX_US = 16000000,
};

struct look {
	struct svc_rqst *rqst;
	struct owncall call;
	unsigned char encoded[512];
	bool second;       /* RENAME: the new name is looked up */
	bool taken;        /* RENAME: the old name leads to another object */
	uint64_t begun_us; /* when the first look began */
	uint64_t again_us; /* when to look again; 0: a look is under way */
	uint64_t pause_us;
};

static bool look_start(struct svc_rqst *rqst);
static void look_tick(struct svc_rqst *rqst, uint64_t now_us);

/* The place to which a name leads, as a LOOKUP tells. */
enum leads {
	LEADS_UNKNOWN, /* the server does not say */
	LEADS_NOWHERE,
	LEADS_TO_OBJECT,
	LEADS_ELSEWHERE,
};

/* ---- the end of a repeat ------------------------------------------------ */

bool doubt_ambiguous(const struct nfs_proc *proc, const union nfs_args *args,
    const union nfs_res *res)
{
	if (proc->prog != NFS_PROGRAM)
		return false;
	switch (proc->proc) {
	case NFSPROC3_CREATE:
		/* For an exclusive create, the server knows a repeat by the
		 * verifier. */
		return res->status == NFS3ERR_EXIST &&
		       args->create.how.mode != EXCLUSIVE;
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
	case NFSPROC3_LINK:
		return res->status == NFS3ERR_EXIST;
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
	case NFSPROC3_RENAME:
		return res->status == NFS3ERR_NOENT;
	case NFSPROC3_SETATTR:
		return res->status == NFS3ERR_NOT_SYNC;
	default:
		return false;
	}
}

/* ---- held, or looked into ---------------------------------------------- */

/* Holds a change that no client waits for, because what others did meanwhile
 * must stay. Its client may come back and ask again. */
static void hold(struct svc_rqst *rqst)
{
	rqst->held_us = clock_now_us();
	svc_rqst_wait(rqst, SVC_WAIT_CLIENT);
}

static void repeat(struct svc_rqst *rqst)
{
	svc_rqst_wait(rqst, SVC_WAIT_REPLY);
	fetch_resume(&rqst->waiter);
}

/* Answers a change instead of repeating it, since the look alone shows its
 * effect. The caches forget what it touched: the look told them nothing of the
 * rest. */
static void settle(struct svc_rqst *rqst, const union nfs_res *res)
{
	fetch_release(&rqst->waiter);
	svc_rqst_wait(rqst, SVC_WAIT_NONE);
	svc_rqst_unknown(rqst, rqst->received_us);
	svc_reply_result(rqst, res);
}

bool doubt_begin(struct svc_rqst *rqst)
{
	if (!(rqst->proc->flags & NFS_PROC_CHANGE))
		return false;
	if (rqst->client && !svc_rqst_late(rqst, clock_now_us()))
		return look_start(rqst);
	if (rqst->client)
		svc_rqst_unhand(rqst);
	hold(rqst);
	return true;
}

uint64_t doubt_waited_us(const struct svc_rqst *rqst, uint64_t now_us)
{
	/* Between two looks nothing is asked. */
	return rqst->look ? fetch_waited_us(&rqst->look->call.waiter, now_us)
			  : 0;
}

void doubt_claim(struct svc_rqst *rqst)
{
	if (!look_start(rqst))
		repeat(rqst);
}

void svc_expire(struct svc *svc, uint64_t now_us)
{
	struct svc_rqst *rqst, *next;

	svc_order_expire(svc, now_us);
	for (rqst = LIST_FIRST(&svc->orphans); rqst; rqst = next) {
		next = LIST_NEXT(rqst, link);
		if (rqst->wait != SVC_WAIT_CLIENT ||
		    now_us - rqst->held_us < DRC_KEEP_US)
			continue;
		metrics_add(
		    svc->p.metrics, METRICS_CHANGES_DROPPED_DOUBTFUL, 1);
		fetch_release(&rqst->waiter);
		svc_rqst_unknown(rqst, rqst->received_us);
		svc_rqst_forget(rqst);
		svc_rqst_end(rqst);
	}
	/* Looks come second, since some of them end in holding a change, from
	 * now on. */
	for (rqst = LIST_FIRST(&svc->waiting); rqst; rqst = next) {
		next = LIST_NEXT(rqst, wait_link);
		if (rqst->wait == SVC_WAIT_LOOK)
			look_tick(rqst, now_us);
	}
}

void doubt_note_left(const struct svc_rqst *rqst, nfsstat3 status)
{
	struct svc *svc = rqst->svc;
	unsigned suppressed;

	metrics_add(svc->p.metrics, METRICS_POSTCHECK_LEFT, 1);
	if (log_limit_ok(&svc->doubt, clock_now_us(), &suppressed))
		log_warn(
		    "svc server=%s procedure=%s status=%d suppressed=%u: the "
		    "server was away; it cannot be told whether the first try "
		    "made the change that the repeat failed to make",
		    svc->p.config->name, rqst->proc->name, (int)status,
		    suppressed);
}

/* ---- the end of a look ------------------------------------------------- */

static void look_repeat(struct look *lk)
{
	struct svc_rqst *rqst = lk->rqst;

	rqst->look = NULL;
	free(lk);
	if (rqst->client)
		repeat(rqst);
	else
		hold(rqst);
}

static void look_answer(struct look *lk, const union nfs_res *res)
{
	struct svc_rqst *rqst = lk->rqst;

	if (res->status == NFS3_OK)
		metrics_add(
		    rqst->svc->p.metrics, METRICS_POSTCHECK_REPAIRED, 1);
	else
		doubt_note_left(rqst, res->status);
	rqst->look = NULL;
	free(lk);
	settle(rqst, res);
}

/*
 * Answers that the change was made. `attr` is of the directory that the last
 * LOOKUP was in, or of the object; attributes from before the change are not
 * known, and left out.
 */
static void look_done(struct look *lk, const post_op_attr *attr)
{
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	switch (lk->rqst->proc->proc) {
	case NFSPROC3_RENAME:
		res.rename.todir_wcc.after = *attr;
		break;
	case NFSPROC3_LINK:
		res.link.linkdir_wcc.after = *attr;
		break;
	default:
		res.wccstat.wcc.after = *attr;
		break;
	}
	look_answer(lk, &res);
}

static void look_gone(struct look *lk)
{
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	res.status = NFS3ERR_NOENT;
	look_answer(lk, &res);
}

/* The server would answer the change by an error as well, so that may decide;
 * but a RENAME of a name that leads to another object now must not be repeated.
 */
static void look_unknown(struct look *lk)
{
	if (lk->taken)
		look_gone(lk);
	else
		look_repeat(lk);
}

/* Nobody can tell what became of the change. Its client gets an error: an error
 * that is untrue is better than a success that is. */
static void look_give_up(struct look *lk)
{
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	res.status = NFS3ERR_IO;
	look_answer(lk, &res);
}

/* The look says nothing, so another one is due; look_tick() sees to that. */
static void look_failed(struct look *lk)
{
	uint64_t now_us = clock_now_us();

	if (lk->rqst->client && now_us - lk->begun_us >= DRC_KEEP_US) {
		look_give_up(lk);
		return;
	}
	lk->pause_us = lk->pause_us ? 2 * lk->pause_us : PAUSE_US;
	if (lk->pause_us > PAUSE_MAX_US)
		lk->pause_us = PAUSE_MAX_US;
	lk->again_us = now_us + lk->pause_us;
}

/* ---- calls ------------------------------------------------------------ */

static void look_on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up);

/* Sends a call of the look under the change's own credential, which may see
 * what the change may. */
static bool look_call(struct look *lk, uint32_t proc)
{
	lk->call.proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
	lk->call.on_reply = look_on_reply;
	return owncall_send(&lk->call, lk->rqst->svc->p.fetch,
	    &lk->rqst->call.cred, NULL, lk->encoded, sizeof(lk->encoded));
}

static bool look_lookup(struct look *lk, const diropargs3 *where)
{
	lk->call.args.dirop = *where;
	return look_call(lk, NFSPROC3_LOOKUP);
}

static bool look_first(struct look *lk)
{
	const union nfs_args *args = &lk->rqst->args;

	switch (lk->rqst->proc->proc) {
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		return look_lookup(lk, &args->dirop);
	case NFSPROC3_RENAME:
		return look_lookup(lk, &args->rename.from);
	case NFSPROC3_LINK:
		return look_lookup(lk, &args->link.link);
	default:
		lk->call.args.object = args->setattr.object;
		return look_call(lk, NFSPROC3_GETATTR);
	}
}

/* Whether a look can find out anything about the change: its object was known
 * when it was first sent, or its guard names a version. */
static bool can_look(const struct svc_rqst *rqst)
{
	if (rqst->proc->prog != NFS_PROGRAM)
		return false;
	return rqst->object.key != 0 || (rqst->proc->proc == NFSPROC3_SETATTR &&
					    rqst->args.setattr.guard.check);
}

static void look_begin(struct look *lk)
{
	lk->second = lk->taken = false;
	lk->again_us = 0;
	if (!look_first(lk))
		look_failed(lk);
}

static void look_new(struct svc_rqst *rqst)
{
	struct look *lk = calloc(1, sizeof(*lk));

	rqst->look = lk;
	if (!lk)
		return; /* look_tick() tries again */
	lk->rqst = rqst;
	lk->begun_us = clock_now_us();
	look_begin(lk);
}

static bool look_start(struct svc_rqst *rqst)
{
	if (!can_look(rqst))
		return false;
	svc_rqst_wait(rqst, SVC_WAIT_LOOK);
	look_new(rqst);
	return true;
}

/* Looks again where that is due. While the client is away nobody looks: the
 * outcome would be old when it comes back. */
static void look_tick(struct svc_rqst *rqst, uint64_t now_us)
{
	struct look *lk = rqst->look;

	if (lk && (lk->again_us == 0 || now_us < lk->again_us))
		return;
	if (!rqst->client) {
		rqst->look = NULL;
		free(lk);
		hold(rqst);
	} else if (lk) {
		look_begin(lk);
	} else {
		look_new(rqst);
	}
}

/* ---- answers ---------------------------------------------------------- */

static enum leads where_it_leads(const struct look *lk, const LOOKUP3res *res)
{
	const LOOKUP3resok *r = &res->LOOKUP3res_u.resok;

	if (res->status == NFS3ERR_NOENT)
		return LEADS_NOWHERE;
	if (res->status != NFS3_OK)
		return LEADS_UNKNOWN;
	return fh_key(&r->object) == lk->rqst->object.key ? LEADS_TO_OBJECT
							  : LEADS_ELSEWHERE;
}

/* Whether the name leads to the file, which has one name more than before. */
static bool was_linked(const struct look *lk, const LOOKUP3res *res)
{
	const post_op_attr *attr = &res->LOOKUP3res_u.resok.obj_attributes;

	return where_it_leads(lk, res) == LEADS_TO_OBJECT &&
	       attr->attributes_follow &&
	       attr->post_op_attr_u.attributes.nlink > lk->rqst->object.nlink;
}

static void on_link(struct look *lk, const LOOKUP3res *res)
{
	if (was_linked(lk, res))
		look_done(lk, &res->LOOKUP3res_u.resok.dir_attributes);
	else
		look_repeat(lk);
}

static void on_old_name(struct look *lk, enum leads leads)
{
	lk->second = true;
	lk->taken = leads == LEADS_ELSEWHERE;
	if (leads == LEADS_TO_OBJECT || leads == LEADS_UNKNOWN)
		look_unknown(lk);
	else if (!look_lookup(lk, &lk->rqst->args.rename.to))
		look_failed(lk);
}

static void on_lookup(struct look *lk, const LOOKUP3res *res)
{
	enum leads leads = where_it_leads(lk, res);
	uint32_t proc = lk->rqst->proc->proc;
	const post_op_attr *dir = res->status == NFS3_OK
				      ? &res->LOOKUP3res_u.resok.dir_attributes
				      : &res->LOOKUP3res_u.dir_attributes;

	if (proc == NFSPROC3_RENAME && !lk->second) {
		on_old_name(lk, leads);
	} else if (proc == NFSPROC3_LINK) {
		on_link(lk, res);
	} else if (leads == LEADS_UNKNOWN) {
		look_unknown(lk);
	} else if (proc == NFSPROC3_RENAME) {
		if (leads == LEADS_TO_OBJECT)
			look_done(lk, dir);
		else
			look_gone(lk);
	} else if (leads == LEADS_NOWHERE) {
		look_done(lk, dir);
	} else if (leads == LEADS_ELSEWHERE) {
		look_gone(lk);
	} else {
		look_repeat(lk);
	}
}

static void on_getattr(struct look *lk, const GETATTR3res *res)
{
	post_op_attr attr = {.attributes_follow = TRUE};
	const fattr3 *a = &res->GETATTR3res_u.resok.obj_attributes;
	enum doubt_set found = DOUBT_SET_NOT_DONE;

	if (res->status == NFS3_OK)
		found = doubt_set_found(
		    &lk->rqst->args.setattr, &lk->rqst->object, a);
	attr.post_op_attr_u.attributes = *a;
	if (found == DOUBT_SET_DONE)
		look_done(lk, &attr);
	else if (found == DOUBT_SET_NOT_DONE)
		look_repeat(lk);
	else
		look_give_up(lk);
}

/* Whether an error is not about what was looked for. All other errors the
 * server would answer to the change, too. */
static bool says_nothing(nfsstat3 status)
{
	switch (status) {
	case NFS3_OK:
	case NFS3ERR_PERM:
	case NFS3ERR_NOENT:
	case NFS3ERR_ACCES:
	case NFS3ERR_NOTDIR:
	case NFS3ERR_INVAL:
	case NFS3ERR_NAMETOOLONG:
	case NFS3ERR_STALE:
	case NFS3ERR_BADHANDLE:
		return false;
	default:
		return true;
	}
}

static void look_on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up)
{
	struct look *lk = container_of(c, struct look, call);

	(void)up;
	if (kind != REPLY_RESULTS || says_nothing(res->status))
		look_failed(lk);
	else if (c->proc->proc == NFSPROC3_LOOKUP)
		on_lookup(lk, &res->lookup);
	else
		on_getattr(lk, &res->getattr);
}
