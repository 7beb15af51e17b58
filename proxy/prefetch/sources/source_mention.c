/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in data that comes, wanted.
 *
 *	READ reply ─▶ learn.c ─▶ on_data(): a copy ─▶ a thread: its words
 *	                                                    │
 *	wants ◀─ mention_turn() ◀─ what they may mean ◀─────┘
 *
 * Only where `prefetch = on`.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/metrics.h"
#include "config/config.h"
#include "predictor/mention/mention.h"
#include "prefetch/prefetch_private.h"

/* How likely what comes ahead is read, where nothing is noted: it was looked
 * up, at least. */
#define P_AHEAD 0.7f

enum {
	SCANS_MAX = 48, /* under way; more data is not scanned */
	SPARE_MAX = 4,
	TURN_WANTS = 64,
	/* A part of what is learned may be names. */
	NAMES_SHARE = 4,
};

struct scan {
	struct iopool_job job;
	SLIST_ENTRY(scan) link;
	struct pf_mentions *of;
	struct mention_data about;
	struct tokens words;
	char data[TOKENS_DATA_MAX];
};

struct pf_mentions {
	struct caches_hook hook;
	struct prefetch *pf;
	struct mention *m;
	struct mention_stats told; /* to the metrics */
	SLIST_HEAD(, scan) spare;
	unsigned nspare, nscans;
	bool closing;
	/* The listing under way. */
	struct nameindex_name *names;
	size_t n, room;
};

/* ---- data ------------------------------------------------------------- */

static void run(struct iopool_job *job)
{
	struct scan *s = (struct scan *)job;

	tokens_scan(&s->words, s->data, s->about.len);
}

static void done(struct iopool_job *job)
{
	struct scan *s = (struct scan *)job;
	struct pf_mentions *x = s->of;

	x->nscans--;
	if (!x->closing) {
		mention_scanned(
		    x->m, &s->about, &s->words, x->pf->now_us * 1000);
		prefetch_wake(x->pf, x->pf->now_us);
	}
	if (x->nspare == SPARE_MAX) {
		free(s);
		return;
	}
	SLIST_INSERT_HEAD(&x->spare, s, link);
	x->nspare++;
}

static struct scan *scan_new(struct pf_mentions *x)
{
	struct scan *s = SLIST_FIRST(&x->spare);

	if (x->nscans == SCANS_MAX)
		return NULL;
	if (s) {
		SLIST_REMOVE_HEAD(&x->spare, link);
		x->nspare--;
	} else {
		s = malloc(sizeof(*s));
	}
	if (s)
		x->nscans++;
	return s;
}

/* How likely the file of data that came ahead will be read. */
static float p_of(const struct prefetch *pf, uint64_t object)
{
	const struct note *n = note_find(pf, object);

	return n && n->p < 1 ? n->p : P_AHEAD;
}

static void on_data(struct caches_hook *h, const struct caches_data *d)
{
	struct pf_mentions *x = (struct pf_mentions *)h;
	struct caches *c = x->pf->p.caches;
	struct data_version v = caches_data_version(c, d->node);
	struct mention_data about = {.object = node_key(d->node),
	    .version = XXH3_64bits(&v, sizeof(v)),
	    .offset_bytes = d->offset,
	    .len = d->len,
	    .cred = d->cred,
	    .p = 1};
	struct scan *s;

	if (!d->cred || d->offset >= TOKENS_DATA_MAX || trip_is_short(x->pf) ||
	    caches_policy(c, d->node)->prefetch != CONFIG_PREFETCH_ON)
		return;
	if (about.len > TOKENS_DATA_MAX - d->offset)
		about.len = (uint32_t)(TOKENS_DATA_MAX - d->offset);
	if (d->ahead)
		about.p = p_of(x->pf, about.object);
	if (x->nscans == SCANS_MAX ||
	    !mention_may_scan(x->m, &about, x->pf->now_us * 1000))
		return;
	s = scan_new(x);
	if (!s)
		return;
	s->job = (struct iopool_job){.run = run, .done = done};
	s->of = x;
	s->about = about;
	memcpy(s->data, d->data, about.len);
	iopool_submit(x->pf->p.iopool, &s->job);
}

/* ---- listings --------------------------------------------------------- */

static void add_name(void *ctx, const nfs3_name *name, const struct node *child)
{
	struct pf_mentions *x = ctx;
	struct nameindex_name *n = &x->names[x->n];
	struct caches *c = x->pf->p.caches;

	if (x->n == x->room)
		return;
	*n = (struct nameindex_name){.object = node_key(child),
	    .directory = attrcache_type(c->attr, child) == NF3DIR};
	if (!n->directory)
		n->size_bytes = child->size < UINT32_MAX ? (uint32_t)child->size
							 : UINT32_MAX;
	nameindex_fill(n, name->data, name->len);
	x->n++;
}

void mention_listing(
    struct prefetch *pf, const struct pf_cred *cred, struct node *dir)
{
	struct pf_mentions *x = pf->mentions;
	size_t total = x ? observe_names_count(pf->p.caches, dir, cred->id) : 0;

	if (total == 0 || total > NAMEINDEX_DIR_MAX ||
	    caches_policy(pf->p.caches, dir)->prefetch != CONFIG_PREFETCH_ON)
		return;
	x->names = calloc(total, sizeof(*x->names));
	if (!x->names)
		return;
	x->n = 0;
	x->room = total;
	observe_names(pf->p.caches, dir, cred->id, add_name, x);
	mention_listed(x->m, node_key(dir), x->names, x->n, pf->now_us * 1000);
	free(x->names);
	x->names = NULL;
}

/* ---- calls ------------------------------------------------------------ */

void mention_rights(struct prefetch *pf, uint64_t dir)
{
	if (pf->mentions)
		mention_allowed(pf->mentions->m, dir);
}

void mention_observe(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	mention_seen(
	    pf->mentions->m, &seen->obs, seen->cred->id, now_us * 1000);
}

static bool may_search(void *ctx, uint32_t cred, uint64_t dir)
{
	const struct caches *c = ((const struct prefetch *)ctx)->p.caches;
	struct node *node = attrcache_by_key(c->attr, dir);

	return node && grant_search(accesscache_find(c->access, node, cred));
}

static struct pf_cred *cred_find(struct prefetch *pf, uint32_t id)
{
	struct pf_cred *c;

	TAILQ_FOREACH (c, &pf->creds, link)
		if (c->id == id)
			return c;
	return NULL;
}

static void count(struct pf_mentions *x)
{
	struct metrics *m = x->pf->p.metrics;
	struct mention_stats st;

	mention_get_stats(x->m, &st);
	metrics_add(m, METRICS_MENTION_SCANS, st.scanned - x->told.scanned);
	metrics_add(m, METRICS_MENTION_WANTED, st.wanted - x->told.wanted);
	metrics_add(m, METRICS_MENTION_USED, st.used - x->told.used);
	x->told = st;
}

bool mention_turn(struct prefetch *pf, uint64_t now_us)
{
	struct mention_want wants[TURN_WANTS];
	struct pf_mentions *x = pf->mentions;
	size_t n;

	if (!mention_has_work(x->m))
		return false;
	n = mention_step(x->m, now_us * 1000, wants, TURN_WANTS);
	for (size_t i = 0; i < n; i++) {
		struct pf_cred *cred = cred_find(pf, wants[i].cred);
		struct prediction *pred = &wants[i].pred;

		if (!cred)
			continue;
		pred->source = NOTE_FROM_MENTION;
		note_predicted(pf, pred, cred->uid, now_us);
		if (prefetch_want(pf, cred, pred, now_us))
			mention_accepted(x->m, pred->object);
		else
			mention_refused(x->m, pred->object);
	}
	metrics_add(pf->p.metrics, METRICS_PREFETCH_PREDICTED, n);
	count(x);
	return mention_has_work(x->m);
}

/* ---- making it -------------------------------------------------------- */

struct pf_mentions *mention_open(struct prefetch *pf)
{
	struct mention_params p = {
	    .memory_bytes = pf->p.memory_bytes / NAMES_SHARE,
	    .may_search = may_search,
	    .ctx = pf};
	struct pf_mentions *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	SLIST_INIT(&x->spare);
	x->pf = pf;
	x->m = mention_new(&p);
	if (!x->m) {
		free(x);
		return NULL;
	}
	x->hook.on_data = on_data;
	caches_add_hook(pf->p.caches, &x->hook);
	return x;
}

void mention_close(struct pf_mentions *x)
{
	struct scan *s;

	if (!x)
		return;
	caches_remove_hook(&x->hook);
	x->closing = true;
	if (x->nscans > 0)
		iopool_drain(x->pf->p.iopool);
	while ((s = SLIST_FIRST(&x->spare)) != NULL) {
		SLIST_REMOVE_HEAD(&x->spare, link);
		free(s);
	}
	mention_free(x->m);
	free(x);
}
