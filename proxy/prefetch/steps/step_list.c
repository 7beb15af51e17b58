/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listings of directories, ahead. One that was never read comes page after
 * page, since only a page says where the next one begins. One whose names hold,
 * but not what is known of its entries, is asked for in pages side by side:
 * where each begins is known from the last time.
 */
#include <string.h>

#include "cache/known.h"
#include "farm/farm.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/observe.h"
#include "prefetch/ground/worth.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

enum {
	/* After so many fresh entries no others are looked for: most of the
	 * listing is fresh. */
	PASS_MAX = 4096,
	/* A reply has this beside its entries (RFC 1813 section 3.3.17):
	 * status, post_op_attr, cookieverf, the end; and some room. */
	PAGE_HEAD = 4 + 88 + 8 + NFS3_DIRLIST_END_SIZE + 100,
	LISTING_BYTES = 2048, /* of a directory of one block, never listed */
	DIR_BLOCK = 4096,
	LOOK = 16, /* entries that stand for all of a listing */
	/* Listings that a want asks the farm for; what came may be given up at
	 * once for want of memory. */
	FARMED_MAX = 4,
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

uint32_t turn_page(struct caches *c, struct node *dir, struct listing *l,
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

/* ---- calls ------------------------------------------------------------ */

/* Bytes that its listing takes. Of a directory that was never listed, the size
 * tells:
 * an entry has about 40 bytes on a server's disk, and four times as much in a
 * reply; the first block is there for few entries, too. */
static uint64_t listing_bytes(const struct turn *t, struct node *dir)
{
	const struct node_ext *x = attrcache_ext(t->c->attr, dir);
	uint64_t bytes = x ? (x->nchildren + 2) * ENTRY_BYTES : 0, least;

	if (listcache_find(
		t->c->lists, dir, credential_id(t->wish->cred), true))
		return bytes;
	least = LISTING_BYTES +
		(dir->size > DIR_BLOCK ? (dir->size - DIR_BLOCK) * 4 : 0);
	return bytes > least ? bytes : least;
}

/* Ask for all pages for which there is room; false where some are left. */
static bool list_anew(struct turn *t, struct node *dir, struct listing *l)
{
	struct want_progress *at = t->at;
	struct list_span next = at->page;
	union nfs_args args = {.readdirplus = {.dir = node_fh(dir)}};
	READDIRPLUS3args *a = &args.readdirplus;
	uint32_t bytes;

	at->paging = true;
	while ((bytes = turn_page(t->c, dir, l,
		    contract_lasts_since_us(t->k.policy, t->now_us),
		    worth_page_bytes(t->g), &next)) > 0) {
		a->cookie = next.from;
		a->dircount = a->maxcount = bytes;
		if (next.from != 0)
			memcpy(a->cookieverf, listing_verf(l),
			    NFS3_COOKIEVERFSIZE);
		if (!turn_send(t, dir, NFSPROC3_READDIRPLUS, &args, bytes))
			return false;
		at->page = next;
	}
	at->paging = false;
	(void)turn_under_way(t, dir, NFSPROC3_READDIRPLUS);
	return true;
}

/* The listing, if its names hold as far as is known: then its pages need not be
 * asked for one after the other. */
static struct listing *list_known(const struct turn *t, struct node *dir)
{
	struct listing *l = listcache_find(
	    t->c->lists, dir, credential_id(t->wish->cred), true);

	return l && listing_complete(l) && listing_binding(l).firm &&
		       !observe_listing_is_loose(
			   t->c, dir, credential_id(t->wish->cred), t->now_us)
		   ? l
		   : NULL;
}

/* The next page of one of which some have come, or the first one. */
static void next_page(
    const struct turn *t, struct node *dir, READDIRPLUS3args *args)
{
	struct listing *l = listcache_find(
	    t->c->lists, dir, credential_id(t->wish->cred), true);

	args->dircount = args->maxcount = (uint32_t)worth_page_bytes(t->g);
	if (!l || listing_complete(l) ||
	    listing_binding(l).generation !=
		attrcache_generation(t->c->attr, dir))
		return;
	args->cookie = listing_last_cookie(l);
	memcpy(args->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
}

/* The predictor hears of what comes, but in no want's turn: that may make
 * others wanted. */
static void note_farmed(struct steps *s, struct credential *cred, uint64_t dir)
{
	if (s->nfarmed == FARMED)
		return;
	s->farmed[s->nfarmed].cred = credential_ref(cred);
	s->farmed[s->nfarmed++].dir = dir;
}

/* Whether the farm was asked for the listing: then the want waits for that,
 * and looks again what is still missing. It is asked behind the first page,
 * too, with which the directory's version has come. */
static bool ask_farm(struct turn *t, struct node *dir)
{
	struct want_progress *at = t->at;
	uint32_t cred = credential_id(t->wish->cred);
	struct listing *l = listcache_find(t->c->lists, dir, cred, true);

	if (at->farmed == FARMED_MAX || (l && listing_complete(l)) ||
	    farm_ask_listing(t->g->farm, dir, cred, true, true) != FARM_ASKED)
		return false;
	(void)turn_under_way(t, dir, NFSPROC3_READDIRPLUS);
	/* The entries of the first page are fresh, the others are not. */
	at->paging = l != NULL;
	at->page = (struct list_span){0};
	if (at->listing == LISTING_ASKED)
		at->listing = LISTING_WANTED;
	at->farmed++;
	t->farmed = true;
	note_farmed(t->s, t->wish->cred, node_key(dir));
	return true;
}

void steps_tell_farmed(struct steps *s)
{
	struct caches *c = s->g->caches;

	for (unsigned i = s->nfarmed; i-- > 0;) {
		struct farmed f = s->farmed[i];
		struct node *dir = attrcache_by_key(c->attr, f.dir);
		struct fetch_about a = {.object = f.dir,
		    .proc = NFSPROC3_READDIRPLUS,
		    .cred = credential_id(f.cred)};
		struct listing *l;

		if (dir && fetch_under_way(s->g->fetch, &a))
			continue;
		s->farmed[i] = s->farmed[--s->nfarmed];
		l = dir ? listcache_find(c->lists, dir, a.cred, true) : NULL;
		if (l && listing_complete(l))
			sources_listed(s->sources, f.cred, dir);
		credential_unref(f.cred);
	}
}

void steps_forget_farmed(struct steps *s)
{
	while (s->nfarmed > 0)
		credential_unref(s->farmed[--s->nfarmed].cred);
}

/* In pages side by side, or one page; the others follow when that has come
 * (step_flight.c). */
bool turn_list(struct turn *t, struct node *dir)
{
	uint64_t page = worth_page_bytes(t->g);
	union nfs_args args = {.readdirplus = {.dir = node_fh(dir)}};
	uint64_t bytes = listing_bytes(t, dir);
	struct listing *l = list_known(t, dir);

	if (!turn_may_list(t, dir))
		return (dir->flags & NODE_ATTRS) || want_watched(t->w) == 0;
	if (l && t->at->paging)
		return list_anew(t, dir, l);
	t->at->paging = false;
	if (turn_under_way(t, dir, NFSPROC3_READDIRPLUS))
		return true;
	if (ask_farm(t, dir))
		return false;
	if (t->wish->calls_spared > 0
		? !worth_listing(t->g, (double)t->wish->calls_spared, bytes)
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
	       known_stale_entries(t->c, dir, l,
		   contract_lasts_since_us(t->k.policy, t->now_us), LOOK) == 0;
}
