/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls of wants under way, and what their replies make wanted in turn. */
#include <string.h>

#include "base/metrics.h"
#include "link/waste.h"
#include "prefetch/calls/refused.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/worth.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

/* A call that a want sent. */
struct want_flight {
	struct flight fl;
	struct steps *s;
	uint64_t object;
	uint32_t generation;      /* of the object, before the call */
	bool known;               /* something was known of it then */
	bool bounded;             /* waste.h counts it */
	float calls_spared;       /* READDIRPLUS: the want's */
	char name[NFS3_NAME_MAX]; /* LOOKUP */
};

static struct caches *caches_of(const struct want_flight *fl)
{
	return fl->s->g->caches;
}

/* Whether the directory is listed again for a change, after a while. */
static bool lists_anew(const struct want_flight *fl)
{
	return dirs_list_anew(
	    sources_dirs(fl->s->sources), fl->object, fl->s->g->now_us);
}

/* If a directory has changed, nothing is known any more of the names in it, or
 * of those that were absent: its listing brings all that back. */
static void after_confirm(struct want_flight *fl, struct node *node)
{
	const struct node_ext *x;

	if (fl->fl.call.proc->proc != NFSPROC3_ACCESS || !fl->known ||
	    attrcache_type(caches_of(fl)->attr, node) != NF3DIR)
		return;
	x = attrcache_ext(caches_of(fl)->attr, node);
	if (!x || x->nchildren == 0 ||
	    attrcache_generation(caches_of(fl)->attr, node) == fl->generation)
		return;
	if (worth_listing(fl->s->g, 2, x->nchildren * ENTRY_BYTES) &&
	    lists_anew(fl))
		sources_list_on(fl->s->sources, fl->fl.cred, fl->object, 0);
}

/* How far a listing has come. */
struct list_mark {
	uint32_t entries, generation;
	uint64_t cookie;
};

static struct list_mark list_mark(const struct want_flight *fl)
{
	struct caches *c = caches_of(fl);
	struct node *dir = attrcache_by_key(c->attr, fl->object);
	struct listing *l = dir ? listcache_find(c->lists, dir,
				      credential_id(fl->fl.cred), true)
				: NULL;

	if (!l)
		return (struct list_mark){0};
	return (struct list_mark){listing_count(l),
	    attrcache_generation(c->attr, dir), listing_last_cookie(l)};
}

/* Whether the page made the listing longer. Of pages that came side by side
 * from a directory that has changed, only one does: else each would want a
 * next. */
static bool brought_entries(
    const struct want_flight *fl, const struct list_mark *before)
{
	struct list_mark now = list_mark(fl);

	if (before->entries > 0 && now.generation != before->generation)
		return lists_anew(fl);
	return now.entries != before->entries || now.cookie != before->cookie;
}

/* A listing of which so much has come is taken to be twice as long: its size is
 * not known before its end. */
static bool is_worth_more(const struct want_flight *fl, uint32_t entries)
{
	return fl->calls_spared == 0 ||
	       worth_listing(fl->s->g, (double)fl->calls_spared,
		   (uint64_t)entries * ENTRY_BYTES);
}

/* The next page is wanted, or the predictor hears of the whole listing. */
static void read_listing_on(
    struct want_flight *fl, struct node *dir, bool longer)
{
	struct sources *sources = fl->s->sources;
	struct listing *l = listcache_find(
	    caches_of(fl)->lists, dir, credential_id(fl->fl.cred), true);

	if (!l)
		return;
	if (listing_complete(l))
		sources_listed(sources, fl->fl.cred, dir);
	else if (longer && is_worth_more(fl, listing_count(l)) &&
		 !sources_listing_comes(sources, fl->object))
		sources_list_on(
		    sources, fl->fl.cred, fl->object, fl->calls_spared);
}

static void after_reply(struct want_flight *fl, const struct list_mark *before)
{
	struct node *node = attrcache_by_key(caches_of(fl)->attr, fl->object);

	if (!node || !(node->flags & NODE_ATTRS))
		return;
	if (fl->fl.call.proc->proc == NFSPROC3_READDIRPLUS)
		read_listing_on(fl, node, brought_entries(fl, before));
	else
		after_confirm(fl, node);
	if (attrcache_type(caches_of(fl)->attr, node) == NF3DIR)
		sources_allowed(fl->s->sources, fl->object);
}

/* Whether the same call will be refused whatever else it names. */
static bool is_of_object(uint32_t proc, nfsstat3 status)
{
	return proc != NFSPROC3_LOOKUP || status == NFS3ERR_ACCES ||
	       status == NFS3ERR_PERM || status == NFS3ERR_NOTDIR;
}

static void count_error(
    struct want_flight *fl, nfsstat3 status, uint64_t now_us)
{
	struct steps *s = fl->s;
	const struct owncall *call = &fl->fl.call;
	struct refused_call refused = {
	    .node = attrcache_by_key(caches_of(fl)->attr, fl->object),
	    .proc = call->proc->proc,
	    .cred = call->cred_id};

	metrics_add(s->g->metrics, METRICS_PREFETCH_ERRORS, 1);
	notes_set(s->notes, fl->object, NOTE_FAILED, now_us);
	if (status == NFS3ERR_JUKEBOX)
		metrics_add(s->g->metrics, METRICS_PREFETCH_PAUSED, 1);
	else if (refused.node && is_of_object(refused.proc, status))
		refused_add(s->refused, caches_of(fl), &refused, now_us);
	if (status == NFS3ERR_STALE || status == NFS3ERR_BADHANDLE)
		predictor_forget(s->g->predictor, fl->object);
}

static void flight_learn(struct want_flight *fl, const union nfs_res *res,
    const struct upstream_result *up, uint64_t now_us)
{
	struct steps *s = fl->s;
	struct list_mark before = list_mark(fl);

	owncall_learn(&fl->fl.call, caches_of(fl), res, up, now_us, true);
	/* The note is of the directory, and a name in it changes nothing. */
	if (fl->fl.call.proc->proc == NFSPROC3_LOOKUP &&
	    (res->status == NFS3_OK || res->status == NFS3ERR_NOENT))
		return;
	if (res->status != NFS3_OK) {
		count_error(fl, res->status, now_us);
		return;
	}
	notes_came(s->notes, fl->object, up->rec->len);
	notes_set(s->notes, fl->object, NOTE_READY, now_us);
	after_reply(fl, &before);
}

static void on_reply(struct flight *f, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up, uint64_t now_us)
{
	struct want_flight *fl = (struct want_flight *)f;

	if (kind != REPLY_NONE && fl->bounded)
		waste_ahead(fl->s->g->waste, up->rec->len, now_us);
	if (kind == REPLY_RESULTS)
		flight_learn(fl, res, up, now_us);
	else if (kind != REPLY_NONE)
		metrics_add(fl->s->g->metrics, METRICS_PREFETCH_ERRORS, 1);
}

bool turn_send(struct turn *t, struct fetch_about *about)
{
	const struct turn_call *call = &t->call;
	const struct wish *wish = t->wish;
	struct steps *s = t->s;
	struct want_flight *fl = flight_new(&s->flights, sizeof(*fl),
	    wish->cred, nfs_proc_find(NFS_PROGRAM, NFS_V3, call->proc));

	if (!fl)
		return false;
	fl->s = s;
	fl->fl.asked = wish_is_asked(wish);
	fl->bounded = wish_is_bounded(wish);
	if (node_key(call->node) == wish->object)
		fl->calls_spared = wish->calls_spared;
	flight_set_args(&fl->fl, &call->args);
	if (call->proc == NFSPROC3_LOOKUP) {
		const nfs3_name *name = &call->args.dirop.name;

		memcpy(fl->name, name->data, name->len);
		fl->fl.call.args.dirop.name.data = fl->name;
	}
	fl->known = call->node->sent_us != 0;
	if (fl->known)
		fl->generation =
		    attrcache_generation(s->g->caches->attr, call->node);
	*about = fetch_about_call(fl->fl.call.proc, &fl->fl.call.args, t->cred);
	about->reply_bytes = (uint32_t)call->bytes;
	/* Whoever wants a name of it does not know on which page it is. */
	if (call->proc == NFSPROC3_READDIRPLUS) {
		about->from = 0;
		about->to = UINT64_MAX;
	}
	fl->object = about->object;
	return flight_send(&fl->fl, about, call->bytes, s->g->now_us);
}

void steps_open_flights(struct steps *s, struct calls *calls)
{
	s->flights = (struct flights){.calls = calls,
	    .sent = METRICS_PREFETCH_CALLS,
	    .bytes = METRICS_PREFETCH_BYTES,
	    .on_reply = on_reply};
}
