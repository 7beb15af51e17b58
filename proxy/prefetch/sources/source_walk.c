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
 * Beyond the next NEAR, none is told that would be too old when the walk comes.
 * A walk does not rise above where it was seen to go.
 */
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "cache/known.h"
#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/ground/observe.h"
#include "prefetch/sources/source_private.h"
#include "prefetch/sources/walks.h"

enum {
	LOOKS_MAX = 2048,             /* at directories, in one look ahead */
	FILLS_MAX = 4,                /* listings read in it */
	BELOW_MAX = WALKTREE_MAX / 8, /* directories of one listing */
	NEAR = 8, /* directories: the walk may go on faster */
};

/* The directory that a client came to is not given up for what is found in one
 * look: it is used after that. */
_Static_assert((FILLS_MAX + 1) * (BELOW_MAX + 1) < WALKTREE_MAX,
    "a look may fill the tree");

/* Of a file whose name is asked for where it is not, how likely it will be read
 * where it is. */
#define P_FOUND 0.8f

struct walks {
	struct source s;
	struct walktree *tree;
	struct walktexts texts;
	struct walk_table table;
	/* That holds where the walk is that is looked at just now. */
	const struct config_policy *policy;
};

static struct source *open_walks(struct sources *all)
{
	struct walks *ws = (struct walks *)source_new(sizeof(*ws));

	(void)all;

	if (!ws)
		return NULL;
	ws->tree = walktree_new();
	if (!ws->tree) {
		free(ws);
		return NULL;
	}
	return &ws->s;
}

static void close_walks(struct source *s)
{
	walktree_free(((struct walks *)s)->tree);
	free(s);
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
static bool fill_known(struct walks *ws, struct walkdir *d, bool more)
{
	struct node *dir = attrcache_by_key(ws->s.all->g->caches->attr, d->key);
	struct predictor_dirent *ents;
	uint32_t generation;
	size_t n;

	if (!dir || !observe_listed(ws->s.all->g->caches, dir, d->cred))
		return false;
	generation = attrcache_generation(ws->s.all->g->caches->attr, dir);
	if (!more && d->listed && d->generation == generation)
		return false;
	n = observe_listing(ws->s.all->g->caches, dir, d->cred, &ents);
	d = walktree_get(ws->tree, d->key, d->cred);
	fill(ws, d, ents, n);
	d->generation = generation;
	free(ents);
	return true;
}

/* A name that is in the directory: a file will be read. */
static void tell_found(struct walks *ws, struct credential *cred,
    const struct walkdir *d, struct node *child, float p, uint64_t now_us)
{
	struct prediction pred = {.object = node_key(child),
	    .parent = d->key,
	    .p = p,
	    .lead = d->lead,
	    .needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
		     PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA,
	    .source = NOTE_FROM_WALK};

	if (attrcache_type(ws->s.all->g->caches->attr, child) != NF3REG)
		return;
	notes_predicted(ws->s.all->notes, &pred, credential_uid(cred), now_us);
	(void)sources_want(ws->s.all, cred, &pred, now_us);
}

/* How likely a name will be asked for, and read where it is. */
struct source_walk_odds {
	float asked, read;
};

static void tell_name(struct walks *ws, struct credential *cred,
    struct walkdir *d, const struct walkname *n, struct source_walk_odds odds,
    uint64_t now_us)
{
	struct caches *c = ws->s.all->g->caches;
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
		tell_found(ws, cred, d, to.child, odds.read, now_us);
	/* Its absence is known, or the listing says so. */
	if (to.known ||
	    (n->text[0] != '.' && fsys_lists_all(attrcache_fsys(c->attr, dir))))
		return;
	if (!worth_call(ws->s.all->g, true, (double)odds.asked, LOOKUP_BYTES))
		return;
	walkname_told(n, &ws->texts, now_us);
	(void)want_add_name(ws->s.all->queue, cred, &name, now_us);
}

static unsigned class_of(const struct walkdir *d)
{
	return !TAILQ_EMPTY(&d->below);
}

/* Wants, in a directory whose names are known, those that the walk asks for in
 * each. */
static void tell_names(struct walks *ws, struct credential *cred,
    struct walk *w, struct walkdir *d, uint64_t now_us)
{
	struct source_walk_odds odds;

	for (int i = 0; i < WALKNAMES && d->listed; i++) {
		float share =
		    walkname_share(&w->names[i], class_of(d), w->numbers);

		if (share <= 0 || (d->names_told & 1u << i))
			continue;
		d->names_told |= 1u << i;
		odds = (struct source_walk_odds){
		    share * walks_odds(w), walks_odds(w) * P_FOUND};
		tell_name(ws, cred, d, &w->names[i], odds, now_us);
	}
}

/* Whether it need not be told now: it was, or is listed already, and what would
 * be confirmed now is too old by the time that the walk comes. */
static bool need_not_tell(const struct walks *ws, const struct walk *w,
    const struct walkdir *d, uint64_t now_us)
{
	if (d->told_walk == w->number &&
	    d->told_us + contract_repeat_us(ws->policy) > now_us)
		return true;
	return d->lead > NEAR && !contract_serves(ws->policy, now_us,
				     now_us + d->lead * w->pace_us * 2);
}

/* Wants a directory that the walk comes to; false where it is not worth it. */
static bool tell(struct walks *ws, struct credential *cred, struct walk *w,
    struct walkdir *d, uint64_t now_us)
{
	struct prediction pred = {.object = d->key,
	    .p = walks_odds(w),
	    .lead = d->lead,
	    .needs = PREDICTOR_NEEDS_LISTING | PREDICTOR_NEEDS_ACCESS,
	    .calls_spared = walks_calls_spared(w),
	    .source = NOTE_FROM_WALK};

	notes_predicted(ws->s.all->notes, &pred, credential_uid(cred), now_us);
	metrics_add(ws->s.all->g->metrics, METRICS_PREFETCH_PREDICTED, 1);
	if (!sources_want(ws->s.all, cred, &pred, now_us))
		return false;
	/* A directory that grew old before it was used came in vain. */
	if (d->told_walk != w->number ||
	    !contract_serves(ws->policy, d->good_us, now_us)) {
		walks_told(w);
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

/* From `d` on, which is `lead` directories ahead of the client. */
static void look_ahead(struct walks *ws, struct credential *cred,
    struct walk *w, struct walkdir *d, uint32_t lead, uint64_t now_us)
{
	uint64_t fresh = contract_repeat_us(ws->policy);
	unsigned fills = 0, depth = 0;

	/* Whoever looks up a name there need not go through all of it. */
	if (!w->hidden && is_hidden(d))
		return;
	for (int i = 0; i < LOOKS_MAX && lead < w->window; i++) {
		if (fills < FILLS_MAX && !d->listed)
			fills += fill_known(ws, d, false);
		d = walks_next(w, d, &depth);
		if (!d)
			return;
		if (d->walk == w->number && d->seen_us + fresh > now_us &&
		    (!w->lists || d->listed_us + fresh > now_us))
			continue;
		d->lead = ++lead;
		if (!need_not_tell(ws, w, d, now_us) &&
		    !tell(ws, cred, w, d, now_us))
			return;
		tell_names(ws, cred, w, d, now_us);
	}
}

/* ---- what was seen ---------------------------------------------------- */

/* Whether the walk has come to another directory. */
static bool come_to(struct walks *ws, struct credential *cred,
    struct walkdir *d, bool lists, uint64_t now_us)
{
	struct walk *w;
	bool told, again = d->seen_us + AGAIN_US > now_us &&
			   walks_find(&ws->table, d->walk) != NULL;

	d->seen_us = now_us;
	if (again && (!lists || d->listed_us + AGAIN_US > now_us))
		return false;
	/* The walk that comes to what is below has to find it from there. */
	(void)fill_known(ws, d, false);
	w = walks_for(&ws->table, d, lists, now_us);
	again = again && d->walk == w->number;
	told = d->told_walk == w->number;
	if (told && contract_serves(ws->policy, d->told_us, now_us))
		walks_used(w);
	d->told_walk = 0;
	walks_arrives(w, d, lists);
	if (!again) {
		walks_paces(w, now_us);
		walks_visits(w);
	}
	w->last_us = now_us;
	if (lists)
		d->listed_us = now_us;
	if (w->known && (lists || told || !w->lists))
		look_ahead(ws, cred, w, d, 0, now_us);
	return !again;
}

/* The directory that the call is in; NULL: none, or it is not known. */
static struct walkdir *dir_of(struct walks *ws, const struct passed *p)
{
	const struct predictor_obs *o = &p->obs;
	struct walkdir *d, *up;

	switch (o->kind) {
	case PREDICTOR_READDIR:
		return walktree_get(
		    ws->tree, o->object, credential_id(p->cred));
	case PREDICTOR_ACCESS:
		return o->directory ? walktree_get(ws->tree, o->object,
					  credential_id(p->cred))
				    : NULL;
	case PREDICTOR_LOOKUP:
	case PREDICTOR_ABSENT:
		up = walktree_get(ws->tree, o->parent, credential_id(p->cred));
		if (!up || !o->directory || o->kind == PREDICTOR_ABSENT)
			return up;
		d = walktree_get(ws->tree, o->object, credential_id(p->cred));
		if (d && p->name[0])
			d->hidden = p->name[0] == '.';
		if (d && d->above != up)
			walktree_hang(up, d);
		return up;
	default:
		return NULL;
	}
}

static void passed(struct source *s, struct passed *p)
{
	struct walks *ws = (struct walks *)s;
	struct walkdir *d = p->hinted ? NULL : dir_of(ws, p);
	struct walkplace at;
	struct walk *w;
	bool came;

	if (!d)
		return;
	ws->policy = caches_policy(s->all->g->caches,
	    attrcache_by_key(s->all->g->caches->attr, d->key));
	came = come_to(
	    ws, p->cred, d, p->obs.kind == PREDICTOR_READDIR, p->now_us);
	w = walks_find(&ws->table, d->walk);
	if (!w)
		return;
	at = (struct walkplace){d->key, class_of(d), w->numbers};
	w->numbers[at.class] += came;
	w->looks += p->obs.parent == d->key && !p->obs.directory;
	walknames_asked(w->names, &ws->texts, &at, p->name, p->now_us);
}

static void listed(struct source *s, struct listed *l)
{
	struct walks *ws = (struct walks *)s;
	struct walkdir *d =
	    walktree_find(ws->tree, node_key(l->dir), credential_id(l->cred));
	uint64_t now_us = s->all->g->now_us;
	struct walk *w;

	if (!d || !fill_known(ws, d, l->news))
		return;
	ws->policy = caches_policy(s->all->g->caches, l->dir);
	w = walks_find(&ws->table, d->told_walk);
	if (!w || !w->known)
		return;
	tell_names(ws, l->cred, w, d, now_us);
	look_ahead(ws, l->cred, w, d, d->lead, now_us);
}

const struct source_ops source_walk = {.open = open_walks,
    .close = close_walks,
    .passed = passed,
    .listed = listed};
