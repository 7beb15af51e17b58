/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs through directories of whose files a client asks for access control
 * lists, or links; see the header. */
#include "prefetch/steps/answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/uint.h"
#include "cache/known.h"
#include "config/config.h"
#include "link/budget.h"
#include "link/waste.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/calls/flight.h"
#include "prefetch/calls/refused.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/ground.h"
#include "prefetch/ground/hold.h"
#include "prefetch/ground/worth.h"
#include "prefetch/queue/queue.h"
#include "prefetch/queue/want.h"
#include "prefetch/steps/steps.h"

enum {
	RUNS = 16,
	SEEN_BITS = 512,
	RUN_US = 5000000, /* a client that pauses for longer ends its run */
	BEGINS = 2,       /* a run begins when its client asks for so many */
	/* For each file that the client asked for, so many come ahead. */
	GROWTH = 4,
	/* Entries that are looked at for each that the client asked for. */
	LOOKS = 64,
	TURN_LOOKS = 256, /* in one turn of the loop */
	/* Attributes, and a short list or path. */
	ANSWER_BYTES = 88 + 64,
};

/* How likely a client that has asked for so many goes on with the next. */
static double likely(unsigned told)
{
	return (double)told / ((double)told + 0.5);
}

/* Of one credential, through one directory. */
struct answer_run {
	struct want_owner job;
	struct answers *all;
	struct credential *cred; /* NULL: the place is free */
	uint64_t dir;
	uint64_t us;       /* when its client was told an answer, or of names */
	uint32_t masks[2]; /* with which files, directories were asked for */
	/* The objects for which it asked, by hashes of their keys: one that is
	 * asked for again and again says nothing of others. */
	uint64_t seen[SEEN_BITS / 64];
	unsigned told, sent, looks;
	/* The run stands here in the listing that is bound so; in another
	 * listing it begins at the first entry. */
	size_t pos;
	struct binding bound;
};

struct answers {
	struct ground *g;
	struct queue *queue;
	struct refused *refused;
	struct flights flights;
	const struct nfs_proc *getacl, *readlink;
	struct answer_run runs[RUNS];
};

/* ---- calls -------------------------------------------------------------- */

static struct refused_call refused_of(
    const struct fetch_about *about, const struct node *node)
{
	return (struct refused_call){
	    .node = node, .proc = about->proc, .cred = about->cred};
}

static void on_reply(struct flight *fl, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up, uint64_t now_us)
{
	struct answers *as = container_of(fl->of, struct answers, flights);
	struct ground *g = as->g;
	struct fetch_about about =
	    fetch_about_call(fl->call.proc, &fl->call.args, fl->call.cred_id);
	struct refused_call refused;

	if (kind != REPLY_NONE)
		waste_ahead(g->waste, up->rec->len, now_us);
	if (kind == REPLY_RESULTS)
		owncall_learn(&fl->call, g->caches, res, up, now_us, true);
	if (kind == REPLY_NONE || (res && res->status == NFS3_OK))
		return;
	metrics_add(g->metrics, METRICS_PREFETCH_ERRORS, 1);
	refused = refused_of(
	    &about, attrcache_find(g->caches->attr, &fl->call.args.object));
	if (refused.node && (!res || res->status != NFS3ERR_JUKEBOX))
		refused_add(as->refused, g->caches, &refused, now_us);
}

/* The call by which a client would ask about the object. */
struct answer_call {
	const struct nfs_proc *proc; /* NULL: nothing */
	union nfs_args args;
};

static struct answer_call call_of(
    const struct answer_run *r, const struct node *node)
{
	struct answers *as = r->all;
	ftype3 type = attrcache_type(as->g->caches->attr, node);
	uint32_t mask = r->masks[type == NF3DIR];

	if (type == NF3LNK)
		return (struct answer_call){
		    .proc = as->readlink, .args = {.object = node_fh(node)}};
	if (mask == 0)
		return (struct answer_call){.proc = NULL};
	return (struct answer_call){.proc = as->getacl,
	    .args = {.getacl = {.object = node_fh(node), .mask = mask}}};
}

/* Whether the answer is kept, for the object as it is now, or comes already. */
static bool is_there(const struct ground *g, const struct node *node,
    const struct answer_call *q, const struct fetch_about *about)
{
	const struct answer *kept = answercache_find(
	    g->caches->answers, node, q->proc, answer_key(q->proc, &q->args));

	return (kept && kept->bound.generation ==
			    attrcache_generation(g->caches->attr, node)) ||
	       fetch_under_way(g->fetch, about);
}

/* Asks about an object, unless the answer is there. False where nothing may be
 * sent now. */
static bool ask(
    struct answer_run *r, const struct node *node, uint64_t *wait_us)
{
	struct worth_bid bid = {.p = likely(r->told),
	    .bytes = ANSWER_BYTES,
	    .guess = true,
	    .bounded = true};
	struct ground *g = r->all->g;
	struct answer_call q = call_of(r, node);
	struct refused_call refused;
	struct fetch_about about;
	struct flight *fl;

	if (!q.proc)
		return true;
	about = fetch_about_call(q.proc, &q.args, credential_id(r->cred));
	refused = refused_of(&about, node);
	if (is_there(g, node, &q, &about) ||
	    refused_lately(r->all->refused, g->caches, &refused, g->now_us))
		return true;
	if (!hold_lets(g->hold, false, ANSWER_BYTES, g->now_us) ||
	    !worth_now(g, &bid) ||
	    !budget_may(g->budget, ANSWER_BYTES, g->now_us, wait_us))
		return false;
	fl = flight_new(&r->all->flights, sizeof(*fl), r->cred, q.proc);
	if (!fl)
		return false;
	flight_set_args(fl, &q.args);
	r->sent++;
	return flight_send(fl, &about, ANSWER_BYTES, g->now_us);
}

/* ---- turns of the job ---------------------------------------------------- */

/* The listing of the directory as it is now; a run begins anew where that is
 * another one. */
static struct listing *listing_of(struct answer_run *r, struct node *dir)
{
	struct listing *l = listcache_find_current(
	    r->all->g->caches->lists, dir, credential_id(r->cred), true);
	struct binding b;

	if (!l)
		return NULL;
	b = listing_binding(l);
	if (b.generation != r->bound.generation ||
	    b.sent_us != r->bound.sent_us)
		r->pos = 0;
	r->bound = b;
	return l;
}

/* Goes on by one entry; false where nothing may be sent for it now. */
static bool step_entry(struct answer_run *r, struct node *dir,
    const struct list_entry *e, uint64_t *wait_us)
{
	struct node *child =
	    nfs3_name_is_dots(&e->name)
		? NULL
		: known_name(r->all->g->caches, dir, &e->name).child;

	return !child || !(child->flags & NODE_ATTRS) || ask(r, child, wait_us);
}

static enum step on_turn(
    struct want_owner *o, uint64_t now_us, uint64_t *wait_us)
{
	struct answer_run *r = container_of(o, struct answer_run, job);
	struct node *dir = attrcache_by_key(r->all->g->caches->attr, r->dir);
	struct listing *l = dir ? listing_of(r, dir) : NULL;
	struct list_entry e;

	(void)now_us;
	if (!l)
		return STEP_DONE;
	for (unsigned i = 0; i < TURN_LOOKS; i++) {
		size_t next = r->pos;

		if (r->sent >= GROWTH * r->told ||
		    r->looks >= LOOKS * r->told || !listing_next(l, &next, &e))
			return STEP_DONE;
		if (!step_entry(r, dir, &e, wait_us))
			return STEP_BLOCKED;
		r->pos = next;
		r->looks++;
	}
	/* Others have their turns of the loop first. */
	*wait_us = 1;
	return STEP_BLOCKED;
}

/* The run goes on with the next answer that its client is told. */
static void on_end(struct want_owner *o, bool given_up)
{
	(void)o;
	(void)given_up;
}

/* ---- runs ---------------------------------------------------------------- */

static void run_end(struct answer_run *r)
{
	want_disown(&r->job);
	if (r->cred)
		credential_unref(r->cred);
	*r = (struct answer_run){.all = r->all};
}

/* The run of the credential through the directory; NULL: there is none. */
static struct answer_run *run_find(struct answers *as,
    const struct credential *cred, uint64_t dir, uint64_t now_us)
{
	for (unsigned i = 0; i < RUNS; i++) {
		struct answer_run *r = &as->runs[i];

		if (r->cred == cred && r->dir == dir &&
		    now_us - r->us <= RUN_US)
			return r;
	}
	return NULL;
}

/* A new one takes the place of the one that has stood still for longest. */
static struct answer_run *run_new(
    struct answers *as, struct credential *cred, uint64_t dir)
{
	struct answer_run *at = as->runs;

	for (unsigned i = 1; i < RUNS; i++)
		if (as->runs[i].us < at->us)
			at = &as->runs[i];
	run_end(at);
	at->job = (struct want_owner){.on_end = on_end, .on_turn = on_turn};
	at->cred = credential_ref(cred);
	at->dir = dir;
	return at;
}

/* The run in the directory that the credential has used last. */
static struct answer_run *run_latest(
    struct answers *as, const struct credential *cred, uint64_t now_us)
{
	struct answer_run *latest = NULL;

	for (unsigned i = 0; i < RUNS; i++) {
		struct answer_run *r = &as->runs[i];

		if (r->cred == cred && now_us - r->us <= RUN_US &&
		    (!latest || r->us > latest->us))
			latest = r;
	}
	return latest;
}

/* The run that the call is a part of. The predictor knows the directory of the
 * object, unless that is a very large one. A GETACL begins a run, but for one
 * of what a directory gives to new objects, which is asked before one is made.
 * A path may lead over links of one directory, too: so a link only goes on with
 * what its client has listed. */
static struct answer_run *run_of(struct answers *as, struct credential *cred,
    const struct node *node, uint32_t mask, uint64_t now_us)
{
	struct predictor_file file;
	struct answer_run *r;

	predictor_get_file(as->g->predictor, node_key(node), &file);
	if (!file.parent)
		return run_latest(as, cred, now_us);
	r = run_find(as, cred, file.parent, now_us);
	if (!r && (mask & NFSACL_ACCESS))
		r = run_new(as, cred, file.parent);
	return r;
}

/* Counts the object; false where its client has asked for it before. Of many
 * objects, some are taken for others. */
static bool is_new(struct answer_run *r, const struct node *node)
{
	unsigned bit = (unsigned)(node_key(node) % SEEN_BITS);
	uint64_t mask = UINT64_C(1) << bit % 64;

	if (r->seen[bit / 64] & mask)
		return false;
	r->seen[bit / 64] |= mask;
	if (++r->told % (SEEN_BITS / 2) == 0)
		memset(r->seen, 0, sizeof(r->seen));
	return true;
}

void answers_listed(struct answers *as, struct credential *cred,
    const struct node *dir, uint64_t now_us)
{
	struct answer_run *r = run_find(as, cred, node_key(dir), now_us);

	if (!r)
		r = run_new(as, cred, node_key(dir));
	r->us = now_us;
}

void answers_told(struct answers *as, struct credential *cred,
    struct node *node, uint32_t mask, uint64_t now_us)
{
	struct caches *c = as->g->caches;
	struct answer_run *r;

	/* In strict mode the answer would be asked for all the same. */
	if (!(node->flags & NODE_ATTRS) ||
	    caches_policy(c, node)->consistency == CONFIG_CONSISTENCY_STRICT)
		return;
	r = run_of(as, cred, node, mask, now_us);
	if (!r)
		return;
	r->us = now_us;
	if (mask & NFSACL_ACCESS)
		r->masks[attrcache_type(c->attr, node) == NF3DIR] = mask;
	if (is_new(r, node) && r->told >= BEGINS && !r->job.want)
		(void)want_add_job(as->queue, cred, &r->job);
}

void answers_age(struct answers *as, uint64_t now_us)
{
	if (!queue_has_jobs(as->queue))
		return;
	for (unsigned i = 0; i < RUNS; i++)
		if (as->runs[i].job.want && now_us - as->runs[i].us > RUN_US)
			want_disown(&as->runs[i].job);
}

/* ---- making one ---------------------------------------------------------- */

bool answers_has(const struct nfs_proc *proc)
{
	return (proc->prog == NFSACL_PROGRAM &&
		   proc->proc == NFSACLPROC3_GETACL) ||
	       (proc->prog == NFS_PROGRAM && proc->proc == NFSPROC3_READLINK);
}

struct answers *answers_new(const struct steps_params *p)
{
	struct answers *as = calloc(1, sizeof(*as));

	if (!as)
		return NULL;
	as->g = p->ground;
	as->queue = p->queue;
	as->refused = refused_new();
	if (!as->refused) {
		free(as);
		return NULL;
	}
	as->getacl =
	    nfs_proc_find(NFSACL_PROGRAM, NFSACL_V3, NFSACLPROC3_GETACL);
	as->readlink = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_READLINK);
	as->flights = (struct flights){.calls = p->calls,
	    .sent = METRICS_PREFETCH_CALLS,
	    .bytes = METRICS_PREFETCH_BYTES,
	    .on_reply = on_reply};
	for (unsigned i = 0; i < RUNS; i++)
		as->runs[i].all = as;
	return as;
}

void answers_free(struct answers *as)
{
	if (!as)
		return;
	for (unsigned i = 0; i < RUNS; i++)
		run_end(&as->runs[i]);
	flights_free(&as->flights);
	free(as->refused);
	free(as);
}
