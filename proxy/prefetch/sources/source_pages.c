/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of a listing that was begun: what has not come yet is wanted. */
#include "cache/caches.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/source_private.h"

/* How likely a listing is still wanted once some pages of it have come. */
#define P_BEGUN 0.9f

void sources_list_on(struct sources *all, struct credential *cred, uint64_t dir,
    float calls_spared)
{
	struct prediction pred = {.object = dir,
	    .needs = PREDICTOR_NEEDS_LISTING,
	    .p = P_BEGUN,
	    .calls_spared = calls_spared,
	    .lead = 1};
	struct want *w = want_add(all->queue, cred, &pred, 1, all->g->now_us);

	if (w)
		want_list_again(w);
}

bool sources_listing_comes(struct sources *all, uint64_t dir)
{
	uint32_t page = dirs_read_page(all->dirs, dir, all->g->now_us);

	return page > 0 && page > worth_page_bytes(all->g);
}

/* Only what came with attributes goes on. */
void source_pages_read(
    struct sources *all, struct credential *cred, struct node *dir)
{
	const struct caches *c = all->g->caches;
	struct listing *l =
	    listcache_find(c->lists, dir, credential_id(cred), true);

	if (l && !listing_complete(l) &&
	    !sources_listing_comes(all, node_key(dir)) &&
	    listing_binding(l).generation == attrcache_generation(c->attr, dir))
		sources_list_on(all, cred, node_key(dir), 0);
}
