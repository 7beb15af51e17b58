/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of a listing that was begun: what has not come yet is wanted. */
#include "cache/caches.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/source_private.h"

/* How likely a listing is still wanted once some pages of it have come. */
#define P_BEGUN 0.9f

/* A client that reads names alone gets several times as many by each of its own
 * calls as come with attributes in a page of the same length. Where pages are
 * shorter than this, those that come ahead hold it up; where they are longer,
 * they bring the attributes for which it would ask next, name by name. */
enum { NAMES_PAGE_BYTES = 16 << 10 };

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

	if (page == DIRS_NAMES)
		return worth_page_bytes(all->g) < NAMES_PAGE_BYTES;
	return page > 0 && page > worth_page_bytes(all->g);
}

/* Whether some pages of the listing, with attributes, have come, of the
 * directory as it is now. */
static bool is_begun(const struct sources *all, const struct credential *cred,
    const struct node *dir)
{
	struct listing *l = listcache_find_current(
	    all->g->caches->lists, dir, credential_id(cred), true);

	return l && !listing_complete(l);
}

void source_pages_read(
    struct sources *all, struct credential *cred, struct node *dir)
{
	if (!sources_listing_comes(all, node_key(dir)) &&
	    is_begun(all, cred, dir))
		sources_list_on(all, cred, node_key(dir), 0);
}

bool source_pages_looked_up(
    struct sources *all, struct credential *cred, uint64_t dir, uint64_t now_us)
{
	struct node *node;

	if (dirs_read_page(all->dirs, dir, now_us) != DIRS_NAMES)
		return false;
	dirs_read(all->dirs, dir, 0, now_us);
	node = attrcache_by_key(all->g->caches->attr, dir);
	if (!node || !is_begun(all, cred, node))
		return false;
	sources_list_on(all, cred, dir, 0);
	return true;
}
