/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First runs: nothing is known but the name space. Whoever enters a
 * directory, or misses a name in it, seldom wants that one name only: its
 * listing answers the others, and the absent ones of a search path, in one
 * round trip.
 */
#include "prefetch_private.h"

/* Misses in one directory belong together for so long. */
enum { TOGETHER_US = 3000000 };

/* That more of it will be wanted: before, and after it was again. */
#define P_ENTERED 0.5f
#define P_AGAIN   0.9f

/* Whether all its names are known already, though perhaps not fresh. */
static bool known(struct prefetch *pf, const struct pf_cred *cred, uint64_t key)
{
	struct node *dir = attrcache_by_key(pf->p.caches->attr, key);
	struct listing *l =
	    dir ? listcache_find(pf->p.caches->lists, dir, cred->id, true)
		: NULL;

	return l && listing_complete(l) &&
	       listing_binding(l).generation ==
		   attrcache_generation(pf->p.caches->attr, dir);
}

static unsigned count(struct prefetch *pf, uint64_t key, uint64_t now_us)
{
	struct pf_dir *d = &pf->dirs[key % DIRS];

	if (d->key != key || now_us - d->us > TOGETHER_US)
		*d = (struct pf_dir){.key = key};
	d->us = now_us;
	return ++d->misses;
}

void dir_missed(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct prediction pred = {.needs = PREDICTOR_NEEDS_LISTING, .lead = 1};
	unsigned misses;

	if (o->kind == PREDICTOR_LOOKUP || o->kind == PREDICTOR_ABSENT)
		pred.object = o->parent;
	else if (o->kind == PREDICTOR_ACCESS && o->directory)
		pred.object = o->object;
	if (!pred.object)
		return;
	misses = count(pf, pred.object, now_us);
	if (misses < 2 && known(pf, seen->cred, pred.object))
		return;
	pred.p = misses < 2 ? P_ENTERED : P_AGAIN;
	(void)want_add(pf, seen->cred, &pred, now_us);
}
