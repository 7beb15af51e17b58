/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling sources what happens; see the header. */
#include "prefetch/sources/sources.h"

#include <stdlib.h>

#include "cache/caches.h"
#include "prefetch/ground/observe.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/kinds.h"
#include "prefetch/sources/source_private.h"
#include "upstream/fetch.h"

enum {
	DOTS = 2, /* entries of each directory that are no names in it */
	/* How seldom the predictor hears again of a listing whose entries are
	 * not all known. */
	AGAIN_MAX_US = 10000000,
};

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
	if (ops->passed)
		all->reads.at[all->reads.n++] = s;
	if (ops->passed && !ops->of_reads)
		all->others.at[all->others.n++] = s;
	if (ops->turn)
		all->take_turns[all->nturns++] = s;
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
	const struct hearers *h =
	    p->obs.kind == PREDICTOR_READ ? &all->reads : &all->others;

	for (unsigned i = 0; i < h->n; i++)
		h->at[i]->ops->passed(h->at[i], p);
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

	for (unsigned i = 0; i < all->nturns; i++)
		more |=
		    all->take_turns[i]->ops->turn(all->take_turns[i], now_us);
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

struct dirs *sources_dirs(struct sources *all)
{
	return all->dirs;
}

uint32_t sources_first_bytes(const struct sources *all)
{
	return all->first_read_bytes;
}
