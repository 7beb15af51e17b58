/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Misses in directories. In a first run nothing is known but names. Yet whoever
 * enters a directory, or asks for a name in it that is not cached, seldom wants
 * that name only: a listing answers for all names in one round trip, and for
 * those that do not exist as well, as on a search path.
 */
#include "cache/known.h"
#include "prefetch/ground/observe.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/source_private.h"

/* How likely more of the directory will be wanted after a first miss in it, and
 * after the second. */
#define P_ENTERED 0.5f
#define P_AGAIN   0.9f

/* Whether all its names are known already, though perhaps not fresh. */
static bool names_known(const struct sources *all,
    const struct credential *cred, uint64_t key, uint64_t now_us)
{
	struct caches *c = all->g->caches;
	struct node *dir = attrcache_by_key(c->attr, key);
	struct listing *l =
	    dir ? listcache_find(c->lists, dir, credential_id(cred), true)
		: NULL;
	struct asker who = asker_now(c, credential_id(cred), now_us);
	struct known k;

	if (!l || !listing_complete(l))
		return false;
	known_node(&k, &who, dir);
	return !observe_listing_is_loose(&k);
}

/* A client reads a listing whose first page was not fresh: the others will not
 * be, either. */
static void listing_missed(struct sources *all, const struct passed *p)
{
	struct prediction pred = {.object = p->obs.object,
	    .needs = PREDICTOR_NEEDS_LISTING,
	    .p = P_AGAIN,
	    .lead = 1};

	if (names_known(all, p->cred, pred.object, p->now_us))
		(void)want_add(all->queue, p->cred, &pred, 1, p->now_us);
}

/* Whoever has missed so many names will hardly stop just now. */
static float p_again(unsigned misses)
{
	float p = (float)misses / ((float)misses + 0.2f);

	return p > P_AGAIN ? p : P_AGAIN;
}

static void missed(struct sources *all, const struct passed *p)
{
	const struct predictor_obs *o = &p->obs;
	struct prediction pred = {.needs = PREDICTOR_NEEDS_LISTING, .lead = 1};
	unsigned misses;
	struct want *w;

	if (o->kind == PREDICTOR_LOOKUP || o->kind == PREDICTOR_ABSENT)
		pred.object = o->parent;
	else if (o->kind == PREDICTOR_ACCESS && o->directory)
		pred.object = o->object;
	else if (o->kind == PREDICTOR_READDIR)
		listing_missed(all, p);
	if (!pred.object ||
	    (o->kind == PREDICTOR_LOOKUP &&
		source_pages_looked_up(all, p->cred, o->parent, p->now_us)))
		return;
	misses = dirs_missed(all->dirs, pred.object, p->now_us);
	if (misses < 2 && names_known(all, p->cred, pred.object, p->now_us))
		return;
	pred.p = misses < 2 ? P_ENTERED : p_again(misses);
	/* It is taken to go on for as long as it has: this miss may be the
	 * last one. */
	pred.calls_spared = (float)misses;
	w = want_add(all->queue, p->cred, &pred, 1, p->now_us);
	/* Only the first entries tell whether a listing is good. */
	if (w && misses >= 2)
		want_list_anew(w);
}

static void passed(struct source *s, struct passed *p)
{
	if (p->missed && !p->hinted)
		missed(s->all, p);
}

const struct source_ops source_miss = {.passed = passed};
