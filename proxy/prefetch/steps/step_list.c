/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listings of directories, ahead. One that was never read comes page after
 * page, since only a page says where the next one begins. One whose names hold,
 * but not what is known of its entries, is asked for in pages side by side:
 * where each begins is known from the last time.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/known.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/steps/turn_private.h"

enum {
	/* After so many fresh entries no others are looked for: most of the
	 * listing is fresh. */
	PASS_MAX = 4096,
	/* What a reply has beside its entries (RFC 1813 section 3.3.17):
	 * status, post_op_attr, cookieverf, the end; and some room. */
	PAGE_HEAD = 4 + 88 + 8 + NFS3_DIRLIST_END_SIZE + 100,
	PAGE_MAX = 65536,     /* bytes that are asked for at once */
	LINK_PARTS = 3,       /* of what the link holds, a page is one … */
	WINDOW_PARTS = 4,     /* … or of the budget's window */
	LISTING_BYTES = 2048, /* of a directory of one block, never listed */
	DIR_BLOCK = 4096,
	LOOK = 16, /* entries that stand for all of a listing */
	/* Listings that a want asks the farm for; what came may be given up at
	 * once for want of memory. */
	FARMED_MAX = 4,
	DOTS = 2, /* entries of each directory that are no names in it */
	/* How seldom the predictor hears again of a listing whose entries are
	 * not all known. */
	AGAIN_MAX_US = 10000000,
};

/* Bytes of the entry in a reply. The handle counts by its own length: that of
 * an export's root is shorter than those below it. */
static size_t entry_size(
    struct caches *c, struct node *dir, const struct list_entry *le)
{
	const struct node *child = known_name(c, dir, &le->name).child;
	struct nfs3_dirent e = {.fileid = le->fileid,
	    .name = le->name,
	    .cookie = le->cookie,
	    .attributes = {.attributes_follow = TRUE},
	    .handle = {.handle_follows = TRUE}};

	e.handle.post_op_fh3_u.handle.len =
	    child ? child->fh_len : NFS3_FHSIZE_MAX;
	return nfs3_dirent_size(true, &e);
}

uint32_t listing_page(struct caches *c, struct node *dir, struct listing *l,
    uint64_t fresh_us, size_t room, struct list_span *span)
{
	struct list_entry e;
	size_t pos, end = 0, size = PAGE_HEAD, bytes = 0;
	unsigned passed = 0;

	if (!listing_seek(l, span->to, &pos))
		return 0;
	span->from = span->to;
	for (;;) {
		if (!listing_next(l, &pos, &e) || passed++ == PASS_MAX)
			return 0;
		if (!known_entry_since(c, dir, &e, fresh_us))
			break;
		span->from = e.cookie;
	}
	do {
		size += entry_size(c, dir, &e);
		if (known_entry_since(c, dir, &e, fresh_us))
			continue;
		span->to = e.cookie;
		end = pos;
		bytes = size;
	} while (
	    listing_next(l, &pos, &e) && size + entry_size(c, dir, &e) <= room);
	/* With equal cookies the page would be asked for for ever. */
	if (span->to == span->from)
		return 0;
	listing_remember(l, span->to, end);
	return (uint32_t)bytes;
}

/*
 * While the link's rate is not known, the window says what it carries. Pages
 * come one after the other, a round trip each: so each is a third of what the
 * link holds. A client's reply that comes behind one waits a third of a round
 * trip at most.
 */
static uint64_t page_bytes(const struct prefetch *pf)
{
	uint64_t unit = linkest_unit_bytes(pf->p.link);
	uint64_t rate = linkest_rate_Bps(pf->p.link);
	uint64_t part = budget_window_bytes(pf->budget) / WINDOW_PARTS;

	if (rate > 0)
		part =
		    rate * linkest_srtt_us(pf->p.link) / 1000000 / LINK_PARTS;
	if (part > unit)
		unit = part;
	return unit < PAGE_MAX ? unit : PAGE_MAX;
}

/* ---- calls ------------------------------------------------------------ */

/* How likely a listing is still wanted once some pages of it have come. */
#define P_BEGUN 0.9f

void listing_goes_on(struct prefetch *pf, struct pf_cred *cred, uint64_t dir,
    float calls_spared, uint64_t now_us)
{
	struct prediction pred = {.object = dir,
	    .needs = PREDICTOR_NEEDS_LISTING,
	    .p = P_BEGUN,
	    .calls_spared = calls_spared,
	    .lead = 1};
	struct want *w = want_add(pf, cred, &pred, now_us);

	if (w)
		w->listed = false;
}

bool listing_comes(struct prefetch *pf, uint64_t dir, uint64_t now_us)
{
	uint32_t page = dir_read_page(pf, dir, now_us);

	return page > 0 && page > page_bytes(pf);
}

void listing_read(struct prefetch *pf, struct pf_cred *cred, struct node *dir,
    uint64_t now_us)
{
	struct listing *l =
	    listcache_find(pf->p.caches->lists, dir, cred->id, true);

	if (l && !listing_complete(l) &&
	    !listing_comes(pf, node_key(dir), now_us) &&
	    listing_binding(l).generation ==
		attrcache_generation(pf->p.caches->attr, dir))
		listing_goes_on(pf, cred, node_key(dir), 0, now_us);
}

/* What its listing takes. Of a directory that was never listed, the size tells:
 * an entry has about 40 bytes on a server's disk, and four times as much in a
 * reply; the first block is there for few entries, too. */
static uint64_t listing_bytes(const struct turn *t, struct node *dir)
{
	const struct node_ext *x = attrcache_ext(t->c->attr, dir);
	uint64_t bytes = x ? (x->nchildren + 2) * ENTRY_BYTES : 0, least;

	if (listcache_find(t->c->lists, dir, t->w->cred->id, true))
		return bytes;
	least = LISTING_BYTES +
		(dir->size > DIR_BLOCK ? (dir->size - DIR_BLOCK) * 4 : 0);
	return bytes > least ? bytes : least;
}

/* Ask for all pages for which there is room; false where some are left. */
static bool list_anew(struct turn *t, struct node *dir, struct listing *l)
{
	struct want *w = t->w;
	struct list_span next = w->page;
	union nfs_args args = {.readdirplus = {.dir = node_fh(dir)}};
	READDIRPLUS3args *a = &args.readdirplus;
	uint32_t bytes;

	w->paging = true;
	while ((bytes = listing_page(t->c, dir, l, turn_fresh_since_us(t),
		    page_bytes(t->pf), &next)) > 0) {
		a->cookie = next.from;
		a->dircount = a->maxcount = bytes;
		if (next.from != 0)
			memcpy(a->cookieverf, listing_verf(l),
			    NFS3_COOKIEVERFSIZE);
		if (!turn_send(t, dir, NFSPROC3_READDIRPLUS, &args, bytes))
			return false;
		w->page = next;
	}
	w->paging = false;
	(void)turn_under_way(t, dir, NFSPROC3_READDIRPLUS);
	return true;
}

/* The listing, if its names hold as far as is known: then its pages need not be
 * asked for one after the other. */
static struct listing *list_known(const struct turn *t, struct node *dir)
{
	struct listing *l =
	    listcache_find(t->c->lists, dir, t->w->cred->id, true);

	return l && listing_complete(l) && listing_binding(l).firm &&
		       !dir_loose(t->pf, t->w->cred, dir, t->now_us)
		   ? l
		   : NULL;
}

/* The next page of one of which some have come, or the first one. */
static void next_page(
    const struct turn *t, struct node *dir, READDIRPLUS3args *args)
{
	struct listing *l =
	    listcache_find(t->c->lists, dir, t->w->cred->id, true);

	args->dircount = args->maxcount = (uint32_t)page_bytes(t->pf);
	if (!l || listing_complete(l) ||
	    listing_binding(l).generation !=
		attrcache_generation(t->c->attr, dir))
		return;
	args->cookie = listing_last_cookie(l);
	memcpy(args->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
}

/* The predictor hears of what comes, but in no want's turn: that may make
 * others wanted. */
static void farmed_note(struct prefetch *pf, struct pf_cred *cred, uint64_t dir)
{
	if (pf->nfarmed == PF_FARMED)
		return;
	pf->farmed[pf->nfarmed].cred = pf_cred_ref(cred);
	pf->farmed[pf->nfarmed++].dir = dir;
}

/* Whether the farm was asked for the listing: then the want waits for that,
 * and looks again what is still missing. It is asked behind the first page,
 * too, with which the directory's version has come. */
static bool ask_farm(struct turn *t, struct node *dir)
{
	struct want *w = t->w;
	struct listing *l = listcache_find(t->c->lists, dir, w->cred->id, true);

	if (w->farmed == FARMED_MAX || (l && listing_complete(l)) ||
	    farm_ask_listing(t->pf->p.farm, dir, w->cred->id, true, true) !=
		FARM_ASKED)
		return false;
	(void)turn_under_way(t, dir, NFSPROC3_READDIRPLUS);
	/* The entries of the first page are fresh, the others are not. */
	w->paging = l != NULL;
	w->page = (struct list_span){0};
	w->listed = false;
	w->farmed++;
	t->farmed = true;
	farmed_note(t->pf, w->cred, node_key(dir));
	return true;
}

void farmed_tell(struct prefetch *pf, bool all)
{
	struct caches *c = pf->p.caches;

	for (unsigned i = pf->nfarmed; i-- > 0;) {
		struct pf_farmed f = pf->farmed[i];
		struct node *dir =
		    all ? NULL : attrcache_by_key(c->attr, f.dir);
		struct fetch_about a = {.object = f.dir,
		    .proc = NFSPROC3_READDIRPLUS,
		    .cred = f.cred->id};
		struct listing *l;

		if (dir && fetch_under_way(pf->p.fetch, &a))
			continue;
		pf->farmed[i] = pf->farmed[--pf->nfarmed];
		l = dir ? listcache_find(c->lists, dir, f.cred->id, true)
			: NULL;
		if (l && listing_complete(l))
			prefetch_listed(pf, f.cred, dir);
		pf_cred_unref(f.cred);
	}
}

/* In pages side by side, or one page; the others follow when that has come
 * (prefetch_flight.c). */
bool turn_list(struct turn *t, struct node *dir)
{
	uint64_t page = page_bytes(t->pf);
	union nfs_args args = {.readdirplus = {.dir = node_fh(dir)}};
	uint64_t bytes = listing_bytes(t, dir);
	struct listing *l = list_known(t, dir);

	if (!turn_may_list(t, dir))
		return (dir->flags & NODE_ATTRS) || t->w->pending == 0;
	if (l && t->w->paging)
		return list_anew(t, dir, l);
	t->w->paging = false;
	if (turn_under_way(t, dir, NFSPROC3_READDIRPLUS))
		return true;
	if (ask_farm(t, dir))
		return false;
	if (t->w->calls_spared > 0
		? !listing_worth(t->pf, (double)t->w->calls_spared, bytes)
		: !turn_worth(t, bytes))
		return true;
	if (l)
		return list_anew(t, dir, l);
	if (turn_too_early(t, dir))
		return false;
	next_page(t, dir, &args.readdirplus);
	return turn_send(t, dir, NFSPROC3_READDIRPLUS, &args,
		   bytes < page ? bytes : page) &&
	       turn_under_way(t, dir, NFSPROC3_READDIRPLUS);
}

/* The first few entries stand for all. */
bool turn_listing_good(const struct turn *t, struct node *dir)
{
	struct listing *l = list_known(t, dir);

	return l && turn_confirmed(t, dir, false) &&
	       known_stale_entries(
		   t->c, dir, l, turn_fresh_since_us(t), LOOK) == 0;
}

/* ---- the predictor hears of them --------------------------------------- */

/* Whether the predictor has to hear of this listing: it has not yet, or some
 * entries had no attributes then, as of a listing from a farm, and all that was
 * asked for has come. It waits longer each time that no more are known. */
static bool is_to_tell(
    struct prefetch *pf, struct pf_told *told, uint32_t cred, struct node *dir)
{
	uint64_t key = node_key(dir);
	uint64_t mix = key ^ attrcache_generation(pf->p.caches->attr, dir) *
				 UINT64_C(0x9e3779b97f4a7c15);
	struct fetch_about a = {
	    .object = key, .proc = NFSPROC3_READDIRPLUS, .cred = cred};

	if (told->mix != mix) {
		*told = (struct pf_told){.mix = mix, .wait_us = GRAIN_US};
		return true;
	}
	return told->in_part && pf->now_us >= told->again_us &&
	       !fetch_under_way(pf->p.fetch, &a);
}

void prefetch_listed(
    struct prefetch *pf, struct pf_cred *cred, struct node *dir)
{
	struct pf_told *told = &pf->told[node_key(dir) % LISTINGS_TOLD];
	struct predictor_dirent *ents;
	bool to_tell;
	size_t n;

	if (!observe_listed(pf->p.caches, dir, cred->id))
		return;
	/* A large one comes in pages; the predictor hears of it once. */
	to_tell = is_to_tell(pf, told, cred->id, dir);
	walk_listed(pf, cred, dir, to_tell, pf->now_us);
	if (!to_tell)
		return;
	n = observe_listing(pf->p.caches, dir, cred->id, &ents);
	if (n > 0)
		predictor_list(
		    pf->predictor, cred->uid, node_key(dir), ents, n);
	free(ents);
	told->in_part =
	    n + DOTS < observe_names_count(pf->p.caches, dir, cred->id);
	told->again_us = pf->now_us + told->wait_us;
	if (n <= told->known && told->wait_us < AGAIN_MAX_US)
		told->wait_us *= 2;
	told->known = n;
	mention_listing(pf, cred, dir);
}
