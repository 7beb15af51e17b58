/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listings of directories, ahead. One that was never read comes page after
 * page, since only a page says where the next one begins. One whose names hold,
 * but not what is known of its entries, is asked for in pages side by side:
 * where each begins is known from the last time.
 */
#include <string.h>

#include "base/uint.h"
#include "cache/known.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/ground/observe.h"
#include "prefetch/ground/worth.h"
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

/* Of a directory that was never listed, its size tells: an entry has about 40
 * bytes on a server's disk, and four times as much in a reply; the first block
 * is there for few entries, too. */
uint64_t turn_listing_bytes(const struct turn *t, struct node *dir)
{
	const struct node_ext *x = attrcache_ext(t->c->attr, dir);
	uint64_t bytes = x ? (x->nchildren + 2) * ENTRY_BYTES : 0, least;

	if (listcache_find(t->c->lists, dir, t->cred, true))
		return bytes;
	least = LISTING_BYTES + minus_u64(dir->size, DIR_BLOCK) * 4;
	return max_u64(bytes, least);
}

/* The listing, if its names hold as far as is known: then its pages need not be
 * asked for one after the other. */
static struct listing *list_known(struct turn *t, struct node *dir)
{
	struct listing *l = listcache_find(t->c->lists, dir, t->cred, true);

	return l && listing_complete(l) && listing_binding(l).firm &&
		       !observe_listing_is_loose(turn_known(t, dir))
		   ? l
		   : NULL;
}

/* The listing, if some pages of it have come, of the directory as it is now. */
static struct listing *list_begun(const struct turn *t, struct node *dir)
{
	struct listing *l =
	    listcache_find_current(t->c->lists, dir, t->cred, true);

	return l && !listing_complete(l) ? l : NULL;
}

/* The page behind the cookie, of `bytes`; `l` NULL: the first one. */
static void call_page(
    struct turn *t, const struct listing *l, uint64_t cookie, uint64_t bytes)
{
	t->call = (struct turn_call){.node = t->listed,
	    .proc = NFSPROC3_READDIRPLUS,
	    .bytes = bytes,
	    .args.readdirplus = {.dir = node_fh(t->listed),
		.cookie = cookie,
		.dircount = (uint32_t)bytes,
		.maxcount = (uint32_t)bytes}};
	if (l)
		memcpy(t->call.args.readdirplus.cookieverf, listing_verf(l),
		    NFS3_COOKIEVERFSIZE);
}

/* Finds the next page, once for all turns in which the link has no room. */
static void find_page(struct turn *t)
{
	struct want_progress *at = t->at;
	struct binding b = listing_binding(t->pages);

	if (at->next_bytes > 0 && at->next_generation == b.generation &&
	    at->next_sent_us == b.sent_us)
		return;
	at->next = at->page;
	at->next_generation = b.generation;
	at->next_sent_us = b.sent_us;
	at->next_bytes = turn_page(t->c, t->listed, t->pages,
	    contract_lasts_since_us(t->k.policy, t->now_us),
	    worth_page_bytes(t->g), &at->next);
}

/* Pages side by side: the next one, if any is left. */
bool turn_pages(struct turn *t)
{
	struct want_progress *at = t->at;

	if (!t->pages)
		return true;
	/* It begins, or the page before went out. */
	if (!at->paging || t->page.from != at->page.from ||
	    t->page.to != at->page.to) {
		at->page = t->page;
		at->next_bytes = 0;
	}
	find_page(t);
	t->page = at->next;
	at->paging = at->next_bytes > 0;
	if (at->paging) {
		call_page(t, t->page.from ? t->pages : NULL, t->page.from,
		    at->next_bytes);
		t->stage--;
	} else {
		(void)turn_under_way(t, t->listed, NFSPROC3_READDIRPLUS);
	}
	return true;
}

/* A page, unless turn_pages() asks for all of them; others follow when it has
 * come (step_flight.c). */
bool turn_list(struct turn *t)
{
	struct want_progress *at = t->at;
	struct node *dir = t->listed;
	uint64_t bytes, page;
	struct listing *l;

	if (!dir)
		return true;
	/* Only its handle is known, as from another machine: the server says
	 * first of which type it is. It may say nothing of that for ever. */
	if (!(dir->flags & NODE_ATTRS)) {
		if (at->typed)
			return want_watched(t->w) == 0;
		at->typed = true;
		turn_confirm(t, dir);
		return false;
	}
	if (attrcache_type(t->c->attr, dir) != NF3DIR)
		return true;
	if (turn_is_made(t, dir)) {
		t->listed = NULL;
		return true;
	}
	l = list_known(t, dir);
	bytes = turn_listing_bytes(t, dir);
	if (!l || !at->paging) {
		at->paging = false;
		if (turn_under_way(t, dir, NFSPROC3_READDIRPLUS) ||
		    (l && !turn_worth(t, NFSPROC3_READDIRPLUS, bytes)))
			return true;
	}
	t->pages = l;
	t->page = at->page;
	if (l)
		return true;
	page = worth_page_bytes(t->g);
	l = list_begun(t, dir);
	call_page(t, l, l ? listing_last_cookie(l) : 0, page);
	t->call.awaited = t->call.missing = true;
	t->call.left_bytes = bytes;
	t->call.bytes = min_u64(bytes, page);
	return true;
}

/* The first few entries stand for all. */
bool turn_listing_good(struct turn *t, struct node *dir)
{
	struct listing *l = list_known(t, dir);

	return l && turn_confirmed(t, dir, false) &&
	       known_stale_entries(t->c, dir, l,
		   contract_lasts_since_us(t->k.policy, t->now_us), LOOK) == 0;
}
