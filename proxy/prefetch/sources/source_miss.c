/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Misses in directories. In a first run nothing is known but names. Yet whoever
 * enters a directory, or asks for a name in it that is not cached, seldom wants
 * that name only: a listing answers for all names in one round trip, and for
 * those that do not exist as well, as on a search path.
 */
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_private.h"

enum {
	/* Calls in one directory belong together if they come so close. */
	TOGETHER_US = 1000000,
	GROUP_MIN = 3, /* fewer names are asked for one by one */
};

/* How likely more of the directory will be wanted after a first miss in it, and
 * after the second. */
#define P_ENTERED 0.5f
#define P_AGAIN   0.9f

bool dir_loose(struct prefetch *pf, const struct pf_cred *cred,
    struct node *dir, uint64_t now_us)
{
	struct listing *l =
	    listcache_find(pf->p.caches->lists, dir, cred->id, true);
	struct asker who = asker_now(pf->p.caches, cred->id, now_us);
	struct known k;
	struct binding b;

	if (!l)
		return false;
	b = listing_binding(l);
	known_node(&k, &who, dir);
	return !known_holds(&k, &b);
}

/* Whether all its names are known already, though perhaps not fresh. */
static bool names_known(struct prefetch *pf, const struct pf_cred *cred,
    uint64_t key, uint64_t now_us)
{
	struct node *dir = attrcache_by_key(pf->p.caches->attr, key);
	struct listing *l =
	    dir ? listcache_find(pf->p.caches->lists, dir, cred->id, true)
		: NULL;

	return l && listing_complete(l) && !dir_loose(pf, cred, dir, now_us);
}

/* Another directory gives way. */
static struct pf_dir *dir_at(struct prefetch *pf, uint64_t key)
{
	struct pf_dir *d = &pf->dirs[key % DIRS];

	if (d->key != key)
		*d = (struct pf_dir){.key = key};
	return d;
}

/* What was missed or wanted in the directory just before, by anybody. */
static struct pf_dir *recent(struct prefetch *pf, uint64_t key, uint64_t now_us)
{
	struct pf_dir *d = dir_at(pf, key);

	if (now_us - d->us > TOGETHER_US)
		d->misses = d->attr_wants = 0;
	d->us = now_us;
	return d;
}

/* True at most once in a while. */
static bool is_time(uint64_t *last_us, uint64_t now_us)
{
	if (*last_us && now_us - *last_us < TOGETHER_US)
		return false;
	*last_us = now_us;
	return true;
}

bool dir_lists_anew(struct prefetch *pf, uint64_t dir, uint64_t now_us)
{
	return is_time(&dir_at(pf, dir)->anew_us, now_us);
}

bool dir_renews(struct prefetch *pf, uint64_t dir, uint64_t now_us)
{
	return is_time(&dir_at(pf, dir)->renewed_us, now_us);
}

void dir_is_read(
    struct prefetch *pf, uint64_t dir, uint32_t page_bytes, uint64_t now_us)
{
	struct pf_dir *d = dir_at(pf, dir);

	d->read_us = now_us;
	d->read_page = page_bytes;
}

uint32_t dir_read_page(struct prefetch *pf, uint64_t dir, uint64_t now_us)
{
	const struct pf_dir *d = &pf->dirs[dir % DIRS];

	return d->key == dir && d->read_us + TOGETHER_US > now_us ? d->read_page
								  : 0;
}

bool dir_groups(struct prefetch *pf, const struct node *dir, uint64_t now_us)
{
	const struct node_ext *x = attrcache_ext(pf->p.caches->attr, dir);
	struct pf_dir *d = recent(pf, node_key(dir), now_us);

	d->attr_wants++;
	return d->attr_wants >= GROUP_MIN &&
	       listing_worth(
		   pf, d->attr_wants, (x ? x->nchildren : 0) * ENTRY_BYTES);
}

/* A client reads a listing whose first page was not fresh: the others will not
 * be, either. */
static void listing_missed(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	struct prediction pred = {.object = seen->obs.object,
	    .needs = PREDICTOR_NEEDS_LISTING,
	    .p = P_AGAIN,
	    .lead = 1};

	if (names_known(pf, seen->cred, pred.object, now_us))
		(void)want_add(pf, seen->cred, &pred, now_us);
}

/* Whoever has missed so many names will hardly stop just now. */
static float p_again(unsigned misses)
{
	float p = (float)misses / ((float)misses + 0.2f);

	return p > P_AGAIN ? p : P_AGAIN;
}

void dir_missed(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct prediction pred = {.needs = PREDICTOR_NEEDS_LISTING, .lead = 1};
	unsigned misses;
	struct want *w;

	if (o->kind == PREDICTOR_LOOKUP || o->kind == PREDICTOR_ABSENT)
		pred.object = o->parent;
	else if (o->kind == PREDICTOR_ACCESS && o->directory)
		pred.object = o->object;
	else if (o->kind == PREDICTOR_READDIR)
		listing_missed(pf, seen, now_us);
	if (!pred.object)
		return;
	misses = ++recent(pf, pred.object, now_us)->misses;
	if (misses < 2 && names_known(pf, seen->cred, pred.object, now_us))
		return;
	pred.p = misses < 2 ? P_ENTERED : p_again(misses);
	/* It is taken to go on for as long as it has: this miss may be the
	 * last one. */
	pred.calls_spared = (float)misses;
	w = want_add(pf, seen->cred, &pred, now_us);
	/* turn_listing_good() looks at the first entries only. */
	if (w && misses >= 2)
		w->missed = true;
}
