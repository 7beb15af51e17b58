/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls ahead: nobody waits for them but whoever watches (fetch.h). */
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "prefetch/prefetch_private.h"

/* How long a server that is busy is left alone. */
enum { PAUSE_US = 5000000 };

/* That a listing is still wanted, of which some pages came. */
#define P_BEGUN 0.9f

static void flight_end(struct pf_flight *fl)
{
	LIST_REMOVE(fl, link);
	fl->pf->nflights--;
	pf_cred_unref(fl->cred);
	free(fl);
}

/* From where it has come to; it waits for its turn as others do. */
static void want_listing(struct pf_flight *fl)
{
	struct prediction pred = {.object = fl->object,
	    .needs = PREDICTOR_NEEDS_LISTING,
	    .p = P_BEGUN,
	    .lead = 1};
	struct want *w = want_add(fl->pf, fl->cred, &pred, fl->pf->now_us);

	if (w)
		w->listed = false;
}

/* A directory that changed has none of its names left, nor what was known
 * to be absent: its listing brings them back. */
static void after_confirm(struct pf_flight *fl, struct node *node)
{
	const struct node_ext *x;

	if (fl->call.proc->proc != NFSPROC3_ACCESS || !fl->known ||
	    attrcache_type(fl->pf->p.caches->attr, node) != NF3DIR)
		return;
	x = attrcache_ext(fl->pf->p.caches->attr, node);
	if (!x || x->generation == fl->generation || x->nchildren == 0)
		return;
	if (listing_worth(fl->pf, 2, x->nchildren * ENTRY_BYTES))
		want_listing(fl);
}

/* How far a listing has come. */
struct list_mark {
	uint32_t entries;
	uint64_t cookie;
};

static struct list_mark list_mark(const struct pf_flight *fl)
{
	struct caches *c = fl->pf->p.caches;
	struct node *dir = attrcache_by_key(c->attr, fl->object);
	struct listing *l =
	    dir ? listcache_find(c->lists, dir, fl->cred->id, true) : NULL;

	if (!l)
		return (struct list_mark){0};
	return (struct list_mark){listing_count(l), listing_last_cookie(l)};
}

/* Pages side by side of a directory that changed must not all go on. */
static bool brought_entries(
    const struct pf_flight *fl, const struct list_mark *before)
{
	struct list_mark now = list_mark(fl);

	return now.entries != before->entries || now.cookie != before->cookie;
}

/* The next page, if this one made the listing longer; behind the last one the
 * predictor hears of it. */
static void read_listing_on(struct pf_flight *fl, struct node *dir, bool longer)
{
	struct prefetch *pf = fl->pf;
	struct listing *l =
	    listcache_find(pf->p.caches->lists, dir, fl->cred->id, true);

	if (!l)
		return;
	if (listing_complete(l))
		prefetch_listed(pf, fl->cred, dir);
	else if (longer)
		want_listing(fl);
}

static void after_reply(struct pf_flight *fl, const struct list_mark *before)
{
	struct node *node =
	    attrcache_by_key(fl->pf->p.caches->attr, fl->object);

	if (!node || !(node->flags & NODE_ATTRS))
		return;
	if (fl->call.proc->proc == NFSPROC3_READDIRPLUS)
		read_listing_on(fl, node, brought_entries(fl, before));
	else
		after_confirm(fl, node);
}

static void count_error(struct pf_flight *fl, nfsstat3 status, uint64_t now_us)
{
	struct prefetch *pf = fl->pf;

	metrics_add(pf->p.metrics, METRICS_PREFETCH_ERRORS, 1);
	note_set(pf, fl->object, NOTE_FAILED, now_us);
	if (status == NFS3ERR_JUKEBOX) {
		metrics_add(pf->p.metrics, METRICS_PREFETCH_PAUSED, 1);
		budget_pause(pf->budget, now_us + PAUSE_US);
	}
	if (status == NFS3ERR_STALE || status == NFS3ERR_BADHANDLE)
		predictor_forget(pf->predictor, fl->object);
}

static void flight_learn(struct pf_flight *fl, const union nfs_res *res,
    const struct upstream_result *up, uint64_t now_us)
{
	struct prefetch *pf = fl->pf;
	struct list_mark before = list_mark(fl);

	owncall_learn(&fl->call, pf->p.caches, res, up, now_us, true);
	/* The note is of the directory, and a name in it changes nothing. */
	if (fl->call.proc->proc == NFSPROC3_LOOKUP &&
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

static void on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up)
{
	struct pf_flight *fl =
	    (void *)((char *)c - offsetof(struct pf_flight, call));
	struct prefetch *pf = fl->pf;
	uint64_t now_us = up->sent_us + up->latency_us;

	if (now_us > pf->now_us)
		pf->now_us = now_us;
	if (kind == REPLY_NONE) {
		budget_lost(pf->budget, fl->bytes);
	} else {
		metrics_add(
		    pf->p.metrics, METRICS_PREFETCH_BYTES, up->rec->len);
		budget_received(pf->budget, fl->bytes, up->rec->len, now_us);
		if (kind == REPLY_RESULTS)
			flight_learn(fl, res, up, now_us);
		else
			metrics_add(pf->p.metrics, METRICS_PREFETCH_ERRORS, 1);
	}
	flight_end(fl);
	prefetch_wake(pf, now_us);
}

/* Views into the flight, where they were into what may go before it. */
static void copy_args(struct pf_flight *fl, const union nfs_args *args)
{
	fl->call.args = *args;
	fl->call.args.object.data = fl->fh;
	if (fl->call.proc->proc != NFSPROC3_LOOKUP)
		return;
	memcpy(fl->name, args->dirop.name.data, args->dirop.name.len);
	fl->call.args.dirop.name.data = fl->name;
}

static bool flight_send(struct pf_flight *fl, const union nfs_args *args)
{
	struct prefetch *pf = fl->pf;
	struct fetch_about about;

	copy_args(fl, args);
	about = fetch_about_call(fl->call.proc, &fl->call.args, fl->cred->id);
	about.reply_bytes = (uint32_t)fl->bytes;
	/* Whoever wants a name of it does not know on which page it is. */
	if (fl->call.proc->proc == NFSPROC3_READDIRPLUS) {
		about.from = 0;
		about.to = UINT64_MAX;
	}
	fl->object = about.object;
	if (!owncall_send(&fl->call, pf->p.fetch, &fl->cred->cred, &about,
		fl->encoded, sizeof(fl->encoded)))
		return false;
	budget_sent(pf->budget, fl->bytes, pf->now_us);
	metrics_add(pf->p.metrics, METRICS_PREFETCH_CALLS, 1);
	return true;
}

bool pf_flight_start(struct prefetch *pf, struct pf_cred *cred,
    struct node *node, uint32_t proc, const union nfs_args *args,
    uint64_t bytes)
{
	struct pf_flight *fl = calloc(1, sizeof(*fl));

	if (!fl)
		return false;
	fl->pf = pf;
	fl->call.proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
	fl->call.cred_id = cred->id;
	fl->call.on_reply = on_reply;
	fl->bytes = bytes;
	fl->cred = pf_cred_ref(cred);
	memcpy(fl->fh, node->fh, node->fh_len);
	fl->known = node->sent_us != 0;
	if (fl->known)
		fl->generation = attrcache_generation(pf->p.caches->attr, node);
	LIST_INSERT_HEAD(&pf->flights, fl, link);
	pf->nflights++;
	if (flight_send(fl, args))
		return true;
	flight_end(fl);
	return false;
}

void pf_flights_free(struct prefetch *pf)
{
	/* The flights are forgotten with fetch. */
	while (!LIST_EMPTY(&pf->flights)) {
		struct pf_flight *fl = LIST_FIRST(&pf->flights);

		(void)fetch_cancel(pf->p.fetch, &fl->call.waiter);
		flight_end(fl);
	}
}
