/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that wants send, and what their replies make wanted in turn. */
#include <string.h>

#include "prefetch/steps/turn_private.h"

/* If a directory has changed, nothing is known any more of the names in it, or
 * of those that were absent: its listing brings all that back. */
static void after_confirm(struct pf_flight *fl, struct node *node)
{
	const struct node_ext *x;

	if (fl->fl.call.proc->proc != NFSPROC3_ACCESS || !fl->known ||
	    attrcache_type(fl->pf->p.caches->attr, node) != NF3DIR)
		return;
	x = attrcache_ext(fl->pf->p.caches->attr, node);
	if (!x || x->nchildren == 0 ||
	    attrcache_generation(fl->pf->p.caches->attr, node) ==
		fl->generation)
		return;
	if (listing_worth(fl->pf, 2, x->nchildren * ENTRY_BYTES) &&
	    dir_lists_anew(fl->pf, fl->object, fl->pf->now_us))
		listing_goes_on(
		    fl->pf, fl->fl.cred, fl->object, 0, fl->pf->now_us);
}

/* How far a listing has come. */
struct list_mark {
	uint32_t entries, generation;
	uint64_t cookie;
};

static struct list_mark list_mark(const struct pf_flight *fl)
{
	struct caches *c = fl->pf->p.caches;
	struct node *dir = attrcache_by_key(c->attr, fl->object);
	struct listing *l =
	    dir ? listcache_find(c->lists, dir, fl->fl.cred->id, true) : NULL;

	if (!l)
		return (struct list_mark){0};
	return (struct list_mark){listing_count(l),
	    attrcache_generation(c->attr, dir), listing_last_cookie(l)};
}

/* Whether the page made the listing longer. Of pages that came side by side
 * from a directory that has changed, only one does: else each would want a
 * next. */
static bool brought_entries(
    const struct pf_flight *fl, const struct list_mark *before)
{
	struct list_mark now = list_mark(fl);

	if (before->entries > 0 && now.generation != before->generation)
		return dir_lists_anew(fl->pf, fl->object, fl->pf->now_us);
	return now.entries != before->entries || now.cookie != before->cookie;
}

/* A listing of which so much has come is taken to be twice as long: its size is
 * not known before its end. */
static bool is_worth_more(const struct pf_flight *fl, uint32_t entries)
{
	return fl->calls_spared == 0 ||
	       listing_worth(fl->pf, (double)fl->calls_spared,
		   (uint64_t)entries * ENTRY_BYTES);
}

/* The next page is wanted, or the predictor hears of the whole listing. */
static void read_listing_on(struct pf_flight *fl, struct node *dir, bool longer)
{
	struct prefetch *pf = fl->pf;
	struct listing *l =
	    listcache_find(pf->p.caches->lists, dir, fl->fl.cred->id, true);

	if (!l)
		return;
	if (listing_complete(l))
		prefetch_listed(pf, fl->fl.cred, dir);
	else if (longer && is_worth_more(fl, listing_count(l)) &&
		 !listing_comes(pf, fl->object, pf->now_us))
		listing_goes_on(
		    pf, fl->fl.cred, fl->object, fl->calls_spared, pf->now_us);
}

static void after_reply(struct pf_flight *fl, const struct list_mark *before)
{
	struct node *node =
	    attrcache_by_key(fl->pf->p.caches->attr, fl->object);

	if (!node || !(node->flags & NODE_ATTRS))
		return;
	if (fl->fl.call.proc->proc == NFSPROC3_READDIRPLUS)
		read_listing_on(fl, node, brought_entries(fl, before));
	else
		after_confirm(fl, node);
	if (attrcache_type(fl->pf->p.caches->attr, node) == NF3DIR)
		mention_rights(fl->pf, fl->object);
}

/* Whether the same call will be refused whatever else it names. */
static bool is_of_object(uint32_t proc, nfsstat3 status)
{
	return proc != NFSPROC3_LOOKUP || status == NFS3ERR_ACCES ||
	       status == NFS3ERR_PERM || status == NFS3ERR_NOTDIR;
}

static void count_error(struct pf_flight *fl, nfsstat3 status, uint64_t now_us)
{
	struct prefetch *pf = fl->pf;
	const struct owncall *call = &fl->fl.call;
	struct node *node = attrcache_by_key(pf->p.caches->attr, fl->object);

	metrics_add(pf->p.metrics, METRICS_PREFETCH_ERRORS, 1);
	note_set(pf, fl->object, NOTE_FAILED, now_us);
	if (status == NFS3ERR_JUKEBOX)
		metrics_add(pf->p.metrics, METRICS_PREFETCH_PAUSED, 1);
	else if (node && is_of_object(call->proc->proc, status))
		refused_note(pf, node, call->proc->proc, call->cred_id, now_us);
	if (status == NFS3ERR_STALE || status == NFS3ERR_BADHANDLE)
		predictor_forget(pf->predictor, fl->object);
}

static void flight_learn(struct pf_flight *fl, const union nfs_res *res,
    const struct upstream_result *up, uint64_t now_us)
{
	struct prefetch *pf = fl->pf;
	struct list_mark before = list_mark(fl);

	owncall_learn(&fl->fl.call, pf->p.caches, res, up, now_us, true);
	/* The note is of the directory, and a name in it changes nothing. */
	if (fl->fl.call.proc->proc == NFSPROC3_LOOKUP &&
	    (res->status == NFS3_OK || res->status == NFS3ERR_NOENT))
		return;
	if (res->status != NFS3_OK) {
		count_error(fl, res->status, now_us);
		return;
	}
	note_bytes(pf, fl->object, up->rec->len);
	note_set(pf, fl->object, NOTE_READY, now_us);
	after_reply(fl, &before);
}

static void on_reply(struct flight *f, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up, uint64_t now_us)
{
	struct pf_flight *fl = (struct pf_flight *)f;

	if (kind != REPLY_NONE && fl->bounded)
		waste_ahead(fl->pf->waste, up->rec->len, now_us);
	if (kind == REPLY_RESULTS)
		flight_learn(fl, res, up, now_us);
	else if (kind != REPLY_NONE)
		metrics_add(fl->pf->p.metrics, METRICS_PREFETCH_ERRORS, 1);
}

bool pf_flight_start(const struct want *w, struct node *node, uint32_t proc,
    const union nfs_args *args, uint64_t bytes)
{
	struct prefetch *pf = w->pf;
	struct pf_cred *cred = w->cred;
	struct pf_flight *fl = flight_new(&pf->flights, sizeof(*fl), cred,
	    nfs_proc_find(NFS_PROGRAM, NFS_V3, proc));
	struct fetch_about about;

	if (!fl)
		return false;
	fl->pf = pf;
	fl->fl.asked = want_is_asked(w);
	fl->bounded = want_is_bounded(w);
	fl->calls_spared = w->calls_spared;
	flight_set_args(&fl->fl, args);
	if (proc == NFSPROC3_LOOKUP) {
		memcpy(fl->name, args->dirop.name.data, args->dirop.name.len);
		fl->fl.call.args.dirop.name.data = fl->name;
	}
	fl->known = node->sent_us != 0;
	if (fl->known)
		fl->generation = attrcache_generation(pf->p.caches->attr, node);
	about = fetch_about_call(fl->fl.call.proc, &fl->fl.call.args, cred->id);
	about.reply_bytes = (uint32_t)bytes;
	/* Whoever wants a name of it does not know on which page it is. */
	if (proc == NFSPROC3_READDIRPLUS) {
		about.from = 0;
		about.to = UINT64_MAX;
	}
	fl->object = about.object;
	return flight_send(&fl->fl, &about, bytes, pf->now_us);
}

void pf_flights_init(struct prefetch *pf)
{
	pf->flights = (struct flights){.pf = pf,
	    .calls = METRICS_PREFETCH_CALLS,
	    .bytes = METRICS_PREFETCH_BYTES,
	    .on_reply = on_reply};
}
