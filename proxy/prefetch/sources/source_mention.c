/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in data that comes, wanted.
 *
 *	READ reply ─▶ learn.c ─▶ on_data(): a copy ─▶ a thread: its words
 *	                                                    │
 *	wants ◀─ turn()         ◀─ what they may mean ◀─────┘
 *
 * Only where `prefetch = on`.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/iopool.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "config/config.h"
#include "predictor/mention/mention.h"
#include "prefetch/ground/observe.h"
#include "prefetch/sources/source_private.h"

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
	struct mentions *of;
	struct mention_data about;
	struct tokens words;
	char data[TOKENS_DATA_MAX];
};

struct mentions {
	struct source s;
	struct caches_hook hook;
	struct sources *all;
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
	struct mentions *x = s->of;

	x->nscans--;
	if (!x->closing) {
		mention_scanned(
		    x->m, &s->about, &s->words, x->all->g->now_us * 1000);
		ground_wake(x->all->g, x->all->g->now_us);
	}
	if (x->nspare == SPARE_MAX) {
		free(s);
		return;
	}
	SLIST_INSERT_HEAD(&x->spare, s, link);
	x->nspare++;
}

static struct scan *scan_new(struct mentions *x)
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
static float p_of(const struct sources *all, uint64_t object)
{
	const struct note *n = notes_find(all->notes, object);

	return n && n->p < 1 ? n->p : P_AHEAD;
}

static void on_data(struct caches_hook *h, const struct caches_data *d)
{
	struct mentions *x =
	    (void *)((char *)h - offsetof(struct mentions, hook));
	struct caches *c = x->all->g->caches;
	struct data_version v = caches_data_version(c, d->node);
	struct mention_data about = {.object = node_key(d->node),
	    .version = XXH3_64bits(&v, sizeof(v)),
	    .offset_bytes = d->offset,
	    .len = d->len,
	    .cred = d->cred,
	    .p = 1};
	struct scan *s;

	if (!d->cred || d->offset >= TOKENS_DATA_MAX ||
	    worth_route_is_short(x->all->g) ||
	    caches_policy(c, d->node)->prefetch != CONFIG_PREFETCH_ON)
		return;
	if (about.len > TOKENS_DATA_MAX - d->offset)
		about.len = (uint32_t)(TOKENS_DATA_MAX - d->offset);
	if (d->ahead)
		about.p = p_of(x->all, about.object);
	if (x->nscans == SCANS_MAX ||
	    !mention_may_scan(x->m, &about, x->all->g->now_us * 1000))
		return;
	s = scan_new(x);
	if (!s)
		return;
	s->job = (struct iopool_job){.run = run, .done = done};
	s->of = x;
	s->about = about;
	memcpy(s->data, d->data, about.len);
	iopool_submit(x->all->g->iopool, &s->job);
}

/* ---- listings --------------------------------------------------------- */

static void add_name(void *ctx, const nfs3_name *name, const struct node *child)
{
	struct mentions *x = ctx;
	struct nameindex_name *n = &x->names[x->n];
	struct caches *c = x->all->g->caches;

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

static void listed(struct source *s, struct listed *l)
{
	struct mentions *x = (struct mentions *)s;
	struct caches *c = s->all->g->caches;
	uint32_t cred = credential_id(l->cred);
	size_t total = l->news ? observe_names_count(c, l->dir, cred) : 0;

	if (total == 0 || total > NAMEINDEX_DIR_MAX ||
	    caches_policy(c, l->dir)->prefetch != CONFIG_PREFETCH_ON)
		return;
	x->names = calloc(total, sizeof(*x->names));
	if (!x->names)
		return;
	x->n = 0;
	x->room = total;
	observe_names(c, l->dir, cred, add_name, x);
	mention_listed(
	    x->m, node_key(l->dir), x->names, x->n, s->all->g->now_us * 1000);
	free(x->names);
	x->names = NULL;
}

/* ---- calls ------------------------------------------------------------ */

static void allowed(struct source *s, uint64_t dir)
{
	mention_allowed(((struct mentions *)s)->m, dir);
}

static void passed(struct source *s, struct passed *p)
{
	mention_seen(((struct mentions *)s)->m, &p->obs, credential_id(p->cred),
	    p->now_us * 1000);
}

static bool may_search(void *ctx, uint32_t cred, uint64_t dir)
{
	const struct caches *c = ((const struct ground *)ctx)->caches;
	struct node *node = attrcache_by_key(c->attr, dir);

	return node && grant_search(accesscache_find(c->access, node, cred));
}

static void count(struct mentions *x)
{
	struct metrics *m = x->all->g->metrics;
	struct mention_stats st;

	mention_get_stats(x->m, &st);
	metrics_add(m, METRICS_MENTION_SCANS, st.scanned - x->told.scanned);
	metrics_add(m, METRICS_MENTION_WANTED, st.wanted - x->told.wanted);
	metrics_add(m, METRICS_MENTION_USED, st.used - x->told.used);
	x->told = st;
}

static bool turn(struct source *s, uint64_t now_us)
{
	struct mention_want wants[TURN_WANTS];
	struct mentions *x = (struct mentions *)s;
	struct sources *all = s->all;
	size_t n;

	if (!mention_has_work(x->m))
		return false;
	n = mention_step(x->m, now_us * 1000, wants, TURN_WANTS);
	for (size_t i = 0; i < n; i++) {
		struct credential *cred =
		    credentials_find(all->p.credentials, wants[i].cred);
		struct prediction *pred = &wants[i].pred;

		if (!cred)
			continue;
		pred->source = NOTE_FROM_MENTION;
		notes_predicted(all->notes, pred, credential_uid(cred), now_us);
		if (sources_want(all, cred, pred, now_us))
			mention_accepted(x->m, pred->object);
		else
			mention_refused(x->m, pred->object);
	}
	metrics_add(all->g->metrics, METRICS_PREFETCH_PREDICTED, n);
	count(x);
	return mention_has_work(x->m);
}

/* ---- making it -------------------------------------------------------- */

static struct source *open_mention(struct sources *all)
{
	struct mention_params p = {
	    .memory_bytes = all->g->memory_bytes / NAMES_SHARE,
	    .may_search = may_search,
	    .ctx = all->g};
	struct mentions *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	SLIST_INIT(&x->spare);
	x->all = all;
	x->m = mention_new(&p);
	if (!x->m) {
		free(x);
		return NULL;
	}
	x->hook.on_data = on_data;
	caches_add_hook(all->g->caches, &x->hook);
	return &x->s;
}

/* Waits for scans under way. */
static void close_mention(struct source *of)
{
	struct mentions *x = (struct mentions *)of;
	struct scan *s;

	caches_remove_hook(&x->hook);
	x->closing = true;
	if (x->nscans > 0)
		iopool_drain(x->all->g->iopool);
	while ((s = SLIST_FIRST(&x->spare)) != NULL) {
		SLIST_REMOVE_HEAD(&x->spare, link);
		free(s);
	}
	mention_free(x->m);
	free(x);
}

const struct source_ops source_mention = {.open = open_mention,
    .close = close_mention,
    .passed = passed,
    .listed = listed,
    .allowed = allowed,
    .turn = turn};
