/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks: somebody goes through the directories of a tree (find, grep -r, du, a
 * backup), or uses names in one after the other (git, which looks up all that
 * its index has, in many threads). Nothing has to be known of the tree.
 *
 *	a      listed by the client         known to hold: b, e, h
 *	├─ b     listed by the client: a walk
 *	│  ├─ c    wanted, with lead 1
 *	│  └─ d    wanted, with lead 2
 *	├─ e     wanted, with lead 3; its own directories stand behind it as
 *	└─ h     wanted …         soon as its listing has come
 *
 * A walk is recognised by the second directory that is listed, or by the third
 * of one place in which names are looked up. From then on the listings and
 * rights of the directories that come next are wanted, in the order in which a
 * walk that goes down before it goes on would come to them. How many grows with
 * each that was used, and how likely they are is what became of those before.
 * A walk does not rise above where it was seen to go.
 */
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_private.h"
#include "predictor/walk/walknames.h"
#include "predictor/walk/walktree.h"

enum {
	WALKS = 32,          /* that go on at the same time */
	QUIET_US = 30000000, /* a walk that rests for so long is over */
	AGAIN_US = 1000000,  /* calls in a directory that are one visit */
	LISTS_MIN = 2,       /* directories listed … */
	BRANCHES_MIN = 2,    /* … or entered beside another: a walk */
	WINDOW_MIN = 4,
	WINDOW_MAX = 256, /* directories ahead */
	WINDOW_GROWS = 2, /* with each that was used */
	OPEN_MIN = 16,    /* that may be unused yet, beside two windows */
	RECORD_MAX = 512, /* both counts are halved there */
	LOOKS_MAX = 2048, /* at directories, in one look ahead */
	FILLS_MAX = 4,    /* listings read in it */
	BELOW_MAX = WALKTREE_MAX / 8, /* directories of one listing */
	RISE_MAX = 64,                /* levels in one step */
	NEAR = 8, /* directories: the walk may go on faster */
};

/* The directory that a client came to is not given up for what is found in one
 * look: it is used after that. */
_Static_assert((FILLS_MAX + 1) * (BELOW_MAX + 1) < WALKTREE_MAX,
    "a look may fill the tree");

/* Before anything was seen: of a walk of listings, three in four will be used;
 * of one of lookups, one in two. */
static const struct {
	float used, told;
} priors[2] = {{1, 2}, {3, 4}};

/* How many files a walk of lookups looks up in a directory, before it was seen
 * to: this counts as if it had been seen in VISITS_PRIOR directories. */
#define LOOKS_PRIOR  4
#define VISITS_PRIOR 1

/* Of a file whose name is asked for where it is not, how likely it will be read
 * where it is. */
#define P_FOUND 0.8f

struct walk {
	uint32_t number; /* 0: none */
	uint32_t cred;
	bool lists;      /* its directories are listed */
	bool known;      /* it is one */
	bool hidden;     /* it lists hidden directories, too */
	unsigned listed; /* directories */
	unsigned branches;
	unsigned window;
	unsigned told, used;    /* directories that were told ahead, of late */
	unsigned visits, looks; /* directories, and lookups of files there */
	unsigned numbers[WALKCLASSES]; /* directories that it came to */
	uint64_t last_us;
	uint64_t pace_us; /* from directory to directory, of late */
	struct walkname names[WALKNAMES];
};

struct walks {
	struct walktree *tree;
	struct walktexts texts;
	struct walk at[WALKS]; /* by number */
	uint32_t numbers;
};

struct walks *walk_open(void)
{
	struct walks *ws = calloc(1, sizeof(*ws));

	if (!ws)
		return NULL;
	ws->tree = walktree_new();
	if (!ws->tree) {
		free(ws);
		return NULL;
	}
	return ws;
}

void walk_close(struct walks *ws)
{
	if (!ws)
		return;
	walktree_free(ws->tree);
	free(ws);
}

/* ---- which walk ------------------------------------------------------- */

static struct walk *walk_of(struct walks *ws, uint32_t number)
{
	struct walk *w = &ws->at[number % WALKS];

	return number != 0 && w->number == number ? w : NULL;
}

static struct walk *going_on(
    struct walks *ws, uint32_t number, bool lists, uint64_t now_us)
{
	struct walk *w = walk_of(ws, number);

	if (!w || (lists && !w->lists) || w->last_us + QUIET_US < now_us)
		return NULL;
	return w;
}

/* The next place whose walk has rested longest, of a few. */
static struct walk *walk_new(
    struct walks *ws, uint32_t cred, bool lists, uint64_t now_us)
{
	struct walk *w;

	for (int i = 0; i < WALKS / 2; i++) {
		w = &ws->at[++ws->numbers % WALKS];
		if (w->last_us + AGAIN_US < now_us || !w->known)
			break;
	}
	if (ws->numbers == 0)
		ws->numbers = WALKS;
	w = &ws->at[ws->numbers % WALKS];
	*w = (struct walk){.number = ws->numbers,
	    .cred = cred,
	    .lists = lists,
	    .window = WINDOW_MIN,
	    .last_us = now_us};
	return w;
}

/* The walk that comes to this directory: of those that were here, or above, or
 * beside, or that will come here, the one that went on last. Where one lists,
 * others that look up names are another matter, but not worth a walk of their
 * own. */
static struct walk *walk_for(
    struct walks *ws, struct walkdir *d, bool lists, uint64_t now_us)
{
	const struct walkdir *up = d->above;
	uint32_t numbers[] = {
	    d->walk, d->told_walk, up ? up->walk : 0, up ? up->below_walk : 0};
	struct walk *last = NULL;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct walk *w = going_on(ws, numbers[i], lists, now_us);

		if (w && (!last || w->last_us > last->last_us))
			last = w;
	}
	return last ? last : walk_new(ws, d->cred, lists, now_us);
}

/* ---- how it goes ------------------------------------------------------ */

/* How likely what is told next will be used: a share of what was told before,
 * without those whose turn may still come. */
static float walk_p(const struct walk *w)
{
	unsigned open = OPEN_MIN + 2 * w->window;
	unsigned judged = w->told > open ? w->told - open : 0;

	if (judged < w->used)
		judged = w->used;
	return ((float)w->used + priors[w->lists].used) /
	       ((float)judged + priors[w->lists].told);
}

static void walk_used(struct walk *w)
{
	w->used++;
	if (w->window < WINDOW_MAX)
		w->window += WINDOW_GROWS;
}

static void walk_paces(struct walk *w, uint64_t now_us)
{
	uint64_t gap_us = now_us > w->last_us ? now_us - w->last_us : 0;

	if (gap_us > AGAIN_US)
		gap_us = AGAIN_US;
	w->pace_us = (w->pace_us * 3 + gap_us) / 4;
}

static void walk_told(struct walk *w)
{
	if (++w->told < RECORD_MAX)
		return;
	w->told /= 2;
	w->used /= 2;
}

static void walk_visits(struct walk *w)
{
	if (++w->visits < RECORD_MAX)
		return;
	w->visits /= 2;
	w->looks /= 2;
}

/* The lookups that a listing will probably spare; 0: the walk reads it. */
static float calls_spared(const struct walk *w)
{
	if (w->lists)
		return 0;
	return walk_p(w) * ((float)w->looks + LOOKS_PRIOR) /
	       ((float)w->visits + VISITS_PRIOR);
}

/* Whether what was told at `us` is still good for those who use it now. */
static bool is_good(const struct prefetch *pf, uint64_t us, uint64_t now_us)
{
	const struct config_policy *policy = &pf->p.config->policy;

	return policy->consistency != CONFIG_CONSISTENCY_BOUNDED ||
	       us + policy->attr_timeout_us > now_us;
}

/* It has come to a directory where it was not just before. */
static void arrive(struct walk *w, struct walkdir *d, bool lists)
{
	struct walkdir *up = d->above;

	w->listed += lists;
	w->hidden |= lists && d->hidden;
	if (up && up->below_walk != w->number) {
		up->below_walk = w->number;
		up->below_seen = 0;
	}
	if (up && d->walk != w->number && ++up->below_seen > 1)
		w->branches++;
	d->walk = w->number;
	w->known =
	    w->known || w->listed >= LISTS_MIN || w->branches >= BRANCHES_MIN;
}

/* ---- what comes next -------------------------------------------------- */

/* Whether the walk goes on above, when it has gone through what is below. */
static bool may_rise(const struct walk *w, const struct walkdir *up)
{
	return (w->lists && up->walk == w->number) ||
	       up->told_walk == w->number ||
	       (up->below_walk == w->number && up->below_seen > 1);
}

/* The first from there on that the walk may come to: most leave out hidden
 * directories. */
static struct walkdir *shown(const struct walk *w, struct walkdir *d)
{
	while (d && d->hidden && !w->hidden)
		d = TAILQ_NEXT(d, beside);
	return d;
}

/* `*depth`: how many levels below where it began; from there on it rises as far
 * as the walk does. */
static struct walkdir *next_dir(
    const struct walk *w, struct walkdir *d, unsigned *depth)
{
	struct walkdir *next = shown(w, TAILQ_FIRST(&d->below));

	if (next) {
		++*depth;
		return next;
	}
	for (int i = 0; i < RISE_MAX && d->above; i++) {
		if (*depth == 0 && !may_rise(w, d->above))
			return NULL;
		next = shown(w, TAILQ_NEXT(d, beside));
		if (next)
			return next;
		*depth -= *depth > 0;
		d = d->above;
	}
	return NULL;
}

static void fill(struct walks *ws, struct walkdir *d,
    const struct predictor_dirent *ents, size_t n)
{
	size_t added = 0;

	walktree_clear(d);
	for (size_t i = 0; i < n && added < BELOW_MAX; i++) {
		struct walkdir *sub;

		if (!ents[i].directory)
			continue;
		sub = walktree_get(ws->tree, ents[i].object, d->cred);
		if (!sub)
			return;
		sub->hidden = ents[i].hidden;
		walktree_hang(d, sub);
		added++;
	}
	d->listed = true;
}

/* Its listing may be cached since long ago. False where it was not read. */
static bool fill_known(struct prefetch *pf, struct walkdir *d, bool more)
{
	struct node *dir = attrcache_by_key(pf->p.caches->attr, d->key);
	struct predictor_dirent *ents;
	uint32_t generation;
	size_t n;

	if (!dir || !observe_listed(pf->p.caches, dir, d->cred))
		return false;
	generation = attrcache_generation(pf->p.caches->attr, dir);
	if (!more && d->listed && d->generation == generation)
		return false;
	n = observe_listing(pf->p.caches, dir, d->cred, &ents);
	d = walktree_get(pf->walks->tree, d->key, d->cred);
	fill(pf->walks, d, ents, n);
	d->generation = generation;
	free(ents);
	return true;
}

/* How long what was told, or seen, need not be told again: what was found fresh
 * then lasts longer than this (want_step()). */
static uint64_t fresh_us(const struct prefetch *pf)
{
	return pf->p.config->policy.attr_timeout_us / 4;
}

/* A name that is in the directory: a file will be read. */
static void tell_found(struct prefetch *pf, struct pf_cred *cred,
    const struct walkdir *d, struct node *child, float p, uint64_t now_us)
{
	struct prediction pred = {.object = node_key(child),
	    .parent = d->key,
	    .p = p,
	    .lead = d->lead,
	    .needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
		     PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA,
	    .source = NOTE_FROM_WALK};

	if (attrcache_type(pf->p.caches->attr, child) != NF3REG)
		return;
	note_predicted(pf, &pred, cred->uid, now_us);
	(void)prefetch_want(pf, cred, &pred, now_us);
}

/* How likely a name will be asked for, and read where it is. */
struct odds {
	float asked, read;
};

static void tell_name(struct prefetch *pf, struct pf_cred *cred,
    struct walkdir *d, const struct walkname *n, struct odds odds,
    uint64_t now_us)
{
	struct caches *c = pf->p.caches;
	struct node *dir = attrcache_by_key(c->attr, d->key);
	struct want_name name = {.dir = d->key,
	    .name = n->text,
	    .len = (uint32_t)strlen(n->text),
	    .p = odds.asked,
	    .lead = d->lead,
	    .source = NOTE_FROM_WALK};
	nfs3_name nm = {.data = n->text, .len = name.len};
	struct named to;

	if (!dir || !(dir->flags & NODE_ATTRS))
		return;
	to = known_name(c, dir, &nm);
	if (to.child && (to.child->flags & NODE_ATTRS))
		tell_found(pf, cred, d, to.child, odds.read, now_us);
	/* Its absence is known, or the listing says so. */
	if (to.known ||
	    (n->text[0] != '.' && fsys_lists_all(attrcache_fsys(c->attr, dir))))
		return;
	if (!want_worth(pf, true, (double)odds.asked, LOOKUP_BYTES))
		return;
	walkname_told(n, &pf->walks->texts, now_us);
	(void)want_add_name(pf, cred, &name, now_us);
}

static unsigned class_of(const struct walkdir *d)
{
	return !TAILQ_EMPTY(&d->below);
}

/* What the walk asks for in each directory, in one whose names are known. */
static void tell_names(struct prefetch *pf, struct pf_cred *cred,
    struct walk *w, struct walkdir *d, uint64_t now_us)
{
	struct odds odds;

	for (int i = 0; i < WALKNAMES && d->listed; i++) {
		float share =
		    walkname_share(&w->names[i], class_of(d), w->numbers);

		if (share <= 0 || (d->names_told & 1u << i))
			continue;
		d->names_told |= 1u << i;
		odds = (struct odds){share * walk_p(w), walk_p(w) * P_FOUND};
		tell_name(pf, cred, d, &w->names[i], odds, now_us);
	}
}

/* Whether it need not be told now: it was, or is listed already, and what would
 * be confirmed now is too old by the time that the walk comes. */
static bool need_not_tell(const struct prefetch *pf, const struct walk *w,
    const struct walkdir *d, uint64_t now_us)
{
	if (d->told_walk == w->number && d->told_us + fresh_us(pf) > now_us)
		return true;
	return d->lead > NEAR &&
	       !is_good(pf, now_us, now_us + d->lead * w->pace_us * 2);
}

/* What the walk comes to is wanted; false where it is not worth it. */
static bool tell(struct prefetch *pf, struct pf_cred *cred, struct walk *w,
    struct walkdir *d, uint64_t now_us)
{
	struct prediction pred = {.object = d->key,
	    .p = walk_p(w),
	    .lead = d->lead,
	    .needs = PREDICTOR_NEEDS_LISTING | PREDICTOR_NEEDS_ACCESS,
	    .calls_spared = calls_spared(w),
	    .source = NOTE_FROM_WALK};

	note_predicted(pf, &pred, cred->uid, now_us);
	metrics_add(pf->p.metrics, METRICS_PREFETCH_PREDICTED, 1);
	if (!prefetch_want(pf, cred, &pred, now_us))
		return false;
	/* What grew old before it was used came in vain. */
	if (d->told_walk != w->number || !is_good(pf, d->good_us, now_us)) {
		walk_told(w);
		d->good_us = now_us;
	}
	d->told_walk = w->number;
	d->told_us = now_us;
	d->names_told = 0;
	return true;
}

/* Whether a directory above is hidden, or it is so itself. */
static bool is_hidden(const struct walkdir *d)
{
	for (int i = 0; i < RISE_MAX && d; i++, d = d->above)
		if (d->hidden)
			return true;
	return false;
}

/* From `d` on, which `lead` directories ahead of the client. */
static void look_ahead(struct prefetch *pf, struct pf_cred *cred,
    struct walk *w, struct walkdir *d, uint32_t lead, uint64_t now_us)
{
	uint64_t fresh = fresh_us(pf);
	unsigned fills = 0, depth = 0;

	/* Whoever looks up a name there need not go through all of it. */
	if (!w->hidden && is_hidden(d))
		return;
	for (int i = 0; i < LOOKS_MAX && lead < w->window; i++) {
		if (fills < FILLS_MAX && !d->listed)
			fills += fill_known(pf, d, false);
		d = next_dir(w, d, &depth);
		if (!d)
			return;
		if (d->walk == w->number && d->seen_us + fresh > now_us &&
		    (!w->lists || d->listed_us + fresh > now_us))
			continue;
		d->lead = ++lead;
		if (!need_not_tell(pf, w, d, now_us) &&
		    !tell(pf, cred, w, d, now_us))
			return;
		tell_names(pf, cred, w, d, now_us);
	}
}

/* ---- what was seen ---------------------------------------------------- */

/* Whether the walk has come to another directory. */
static bool come_to(struct prefetch *pf, struct pf_cred *cred,
    struct walkdir *d, bool lists, uint64_t now_us)
{
	struct walks *ws = pf->walks;
	struct walk *w;
	bool told, again = d->seen_us + AGAIN_US > now_us &&
			   walk_of(ws, d->walk) != NULL;

	d->seen_us = now_us;
	if (again && (!lists || d->listed_us + AGAIN_US > now_us))
		return false;
	/* The walk that comes to what is below has to find it from there. */
	(void)fill_known(pf, d, false);
	w = walk_for(ws, d, lists, now_us);
	again = again && d->walk == w->number;
	told = d->told_walk == w->number;
	if (told && is_good(pf, d->told_us, now_us))
		walk_used(w);
	d->told_walk = 0;
	arrive(w, d, lists);
	if (!again) {
		walk_paces(w, now_us);
		walk_visits(w);
	}
	w->last_us = now_us;
	if (lists)
		d->listed_us = now_us;
	if (w->known && (lists || told || !w->lists))
		look_ahead(pf, cred, w, d, 0, now_us);
	return !again;
}

/* The directory that the call is in; NULL: none, or it is not known. */
static struct walkdir *dir_of(struct walks *ws, const struct pf_seen *seen)
{
	const struct predictor_obs *o = &seen->obs;
	struct walkdir *d, *up;

	switch (o->kind) {
	case PREDICTOR_READDIR:
		return walktree_get(ws->tree, o->object, seen->cred->id);
	case PREDICTOR_ACCESS:
		return o->directory
			   ? walktree_get(ws->tree, o->object, seen->cred->id)
			   : NULL;
	case PREDICTOR_LOOKUP:
	case PREDICTOR_ABSENT:
		up = walktree_get(ws->tree, o->parent, seen->cred->id);
		if (!up || !o->directory || o->kind == PREDICTOR_ABSENT)
			return up;
		d = walktree_get(ws->tree, o->object, seen->cred->id);
		if (d && seen->name[0])
			d->hidden = seen->name[0] == '.';
		if (d && d->above != up)
			walktree_hang(up, d);
		return up;
	default:
		return NULL;
	}
}

void walk_seen(struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	struct walks *ws = pf->walks;
	struct walkdir *d = dir_of(ws, seen);
	struct walkplace at;
	struct walk *w;
	bool came;

	if (!d)
		return;
	came = come_to(
	    pf, seen->cred, d, seen->obs.kind == PREDICTOR_READDIR, now_us);
	w = walk_of(ws, d->walk);
	if (!w)
		return;
	at = (struct walkplace){d->key, class_of(d), w->numbers};
	w->numbers[at.class] += came;
	w->looks += seen->obs.parent == d->key && !seen->obs.directory;
	walknames_asked(w->names, &ws->texts, &at, seen->name, now_us);
}

void walk_listed(struct prefetch *pf, struct pf_cred *cred, struct node *dir,
    bool more, uint64_t now_us)
{
	struct walkdir *d =
	    walktree_find(pf->walks->tree, node_key(dir), cred->id);
	struct walk *w;

	if (!d || !fill_known(pf, d, more))
		return;
	w = walk_of(pf->walks, d->told_walk);
	if (!w || !w->known)
		return;
	tell_names(pf, cred, w, d, now_us);
	look_ahead(pf, cred, w, d, d->lead, now_us);
}
