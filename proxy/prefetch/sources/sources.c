/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of sources, and what they hear; see the header. */
#include "prefetch/sources/sources.h"

#include <stdlib.h>

#include "base/metrics.h"
#include "cache/caches.h"
#include "prefetch/ground/observe.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/kinds.h"
#include "prefetch/sources/source_private.h"
#include "upstream/fetch.h"

enum {
	/* A listing that is predicted for the names in it alone is taken to
	 * spare so many calls. */
	CALLS_SPARED_GUESS = 3,
	DOTS = 2, /* entries of each directory that are no names in it */
	/* How seldom the predictor hears again of a listing whose entries are
	 * not all known. */
	AGAIN_MAX_US = 10000000,
};

/* In the order in which they hear of a call: what is sure comes first, and
 * behind hints only who goes on although somebody has said what comes. */
static const struct source_ops *const table[] = {
    &source_rest,    /* the rest of a file that was read before */
    &source_kind,    /* the rest of others, by their kind */
    &source_hint,    /* somebody has said what comes */
    &source_miss,    /* names that were missed in a directory */
    &source_mention, /* names in data */
    &source_habit,   /* what follows a lookup */
    &source_renew,   /* what came too early, and what is mapped */
    &source_walk,    /* the way through a tree */
    &source_tree,    /* what the predictor has learned */
    &source_pattern, /* the way through a file */
    &source_session, /* a whole former session */
};
_Static_assert(sizeof(table) / sizeof(*table) <= SOURCES_MAX, "too many");

struct source *source_new(size_t bytes)
{
	return calloc(1, bytes);
}

bool sources_add(struct sources *all, const struct source_ops *ops)
{
	struct source *s =
	    ops->open ? ops->open(all) : source_new(sizeof(struct source));

	if (!s)
		return false;
	s->ops = ops;
	s->all = all;
	all->at[all->n++] = s;
	if (ops->configure)
		ops->configure(s);
	return true;
}

struct sources *sources_new_empty(const struct sources_params *p)
{
	struct sources *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->p = *p;
	all->g = p->ground;
	all->notes = p->notes;
	all->queue = p->queue;
	all->dirs = dirs_new();
	all->kinds = kinds_new();
	if (all->dirs && all->kinds)
		return all;
	sources_free(all);
	return NULL;
}

struct sources *sources_new(const struct sources_params *p)
{
	struct sources *all = sources_new_empty(p);

	for (size_t i = 0; all && i < sizeof(table) / sizeof(*table); i++)
		if (!sources_add(all, table[i])) {
			sources_free(all);
			return NULL;
		}
	return all;
}

void sources_free(struct sources *all)
{
	if (!all)
		return;
	while (all->n > 0) {
		struct source *s = all->at[--all->n];

		if (s->ops->close)
			s->ops->close(s);
		else
			free(s);
	}
	kinds_free(all->kinds);
	free(all->dirs);
	free(all);
}

void sources_configure(struct sources *all)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->at[i]->ops->configure)
			all->at[i]->ops->configure(all->at[i]);
}

/* ---- what they hear ---------------------------------------------------- */

void sources_passed(struct sources *all, struct passed *p)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->at[i]->ops->passed)
			all->at[i]->ops->passed(all->at[i], p);
}

void sources_begins(struct sources *all, struct passed *p)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->at[i]->ops->begins)
			all->at[i]->ops->begins(all->at[i], p);
}

void sources_allowed(struct sources *all, uint64_t dir)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->at[i]->ops->allowed)
			all->at[i]->ops->allowed(all->at[i], dir);
}

bool sources_turn(struct sources *all, uint64_t now_us)
{
	bool more = false;

	for (unsigned i = 0; i < all->n; i++)
		if (all->at[i]->ops->turn)
			more |= all->at[i]->ops->turn(all->at[i], now_us);
	return more;
}

/* Whether the predictor has to hear of this listing: it has not yet, or some
 * entries had no attributes then, as of a listing from a farm, and all that was
 * asked for has come. It waits longer each time that no more are known. */
static bool is_news(struct sources *all, struct listing_told *told,
    uint32_t cred, struct node *dir)
{
	uint64_t key = node_key(dir);
	uint64_t mix = key ^ attrcache_generation(all->g->caches->attr, dir) *
				 UINT64_C(0x9e3779b97f4a7c15);
	struct fetch_about a = {
	    .object = key, .proc = NFSPROC3_READDIRPLUS, .cred = cred};

	if (told->mix != mix) {
		*told = (struct listing_told){.mix = mix, .wait_us = GRAIN_US};
		return true;
	}
	return told->in_part && all->g->now_us >= told->again_us &&
	       !fetch_under_way(all->g->fetch, &a);
}

void sources_listed(
    struct sources *all, struct credential *cred, struct node *dir)
{
	struct caches *c = all->g->caches;
	uint32_t id = credential_id(cred);
	struct listing_told *told = &all->told[node_key(dir) % LISTINGS_TOLD];
	struct listed l = {.cred = cred, .dir = dir};

	if (!observe_listed(c, dir, id))
		return;
	/* A large one comes in pages; the predictor hears of it once. */
	l.news = is_news(all, told, id, dir);
	for (unsigned i = 0; i < all->n; i++)
		if (all->at[i]->ops->listed)
			all->at[i]->ops->listed(all->at[i], &l);
	if (!l.news)
		return;
	told->in_part = l.known + DOTS < observe_names_count(c, dir, id);
	told->again_us = all->g->now_us + told->wait_us;
	if (l.known <= told->known && told->wait_us < AGAIN_MAX_US)
		told->wait_us *= 2;
	told->known = l.known;
}

void sources_read_listing(struct sources *all, struct credential *cred,
    struct node *dir, uint32_t page_bytes)
{
	dirs_read(all->dirs, node_key(dir), page_bytes, all->g->now_us);
	sources_listed(all, cred, dir);
	source_pages_read(all, cred, dir);
}

/* ---- what they want ---------------------------------------------------- */

bool sources_want(struct sources *all, struct credential *cred,
    const struct prediction *pred, uint64_t now_us)
{
	struct prediction wanted = *pred;
	float read = 1;
	bool guess = notes_source_guesses(pred->source);

	if (((pred->source == NOTE_FROM_MENTION ||
		 pred->source == NOTE_FROM_WALK) &&
		source_tree_is_familiar(cred)) ||
	    notes_came_in_vain(notes_find(all->notes, pred->object), pred) ||
	    !worth_call(all->g, guess, (double)pred->p, CONFIRM_BYTES)) {
		notes_set(all->notes, pred->object, NOTE_UNLIKELY, now_us);
		metrics_add(all->g->metrics, METRICS_PREFETCH_UNLIKELY, 1);
		return false;
	}
	/* Nobody will read that directory, but look up names in it. */
	if (pred->source == PREDICTOR_FROM_NAMES &&
	    pred->needs == PREDICTOR_NEEDS_LISTING)
		wanted.calls_spared = CALLS_SPARED_GUESS;
	/* An object that is guessed from names may be looked up, and no more.
	 */
	if (pred->source == PREDICTOR_FROM_NAMES &&
	    (pred->needs & PREDICTOR_NEEDS_DATA))
		read = source_habit_reads(all, cred, pred->object);
	return want_add(all->queue, cred, &wanted, read, now_us) != NULL;
}

struct dirs *sources_dirs(struct sources *all)
{
	return all->dirs;
}

uint32_t sources_first_bytes(const struct sources *all)
{
	return all->first_read_bytes;
}

/* ---- hints ------------------------------------------------------------- */

static void hint_passed(struct source *s, struct passed *p)
{
	const struct sources_params *sp = &s->all->p;

	p->hinted = sp->on_seen && sp->on_seen(sp->ctx, &p->obs);
}

const struct source_ops source_hint = {.passed = hint_passed};
