/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * READDIR and READDIRPLUS from a listing, cut to the client's count at any
 * cookie. Attributes and handles come from the other caches: those that are
 * not fresh are left out, unless so many are that the server does better.
 */
#include "svc/cached.h"

#include <stdlib.h>
#include <string.h>

#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "svc/cached_private.h"

enum {
	/* post_op_attr and cookieverf before the entries. */
	LIST_HEAD_SIZE = 4 + 84 + 8,
	/* One in so many entries may go out without attributes. */
	STALE_SHARE = 10,
};

/* A reply in the making. */
struct page {
	struct svc_rqst *rqst;
	const struct known *dir;
	bool plus;
	size_t room;     /* bytes that the client takes */
	size_t dir_room; /* … of names and cookies, READDIRPLUS */
	char *buf;
	XDR xdrs;
	size_t used;
	unsigned entries;
	unsigned stale;
	uint64_t cookie; /* of the last entry */
};

/* The handle and attributes behind a name, if they may be told. */
static void fill_plus(struct page *p, struct nfs3_dirent *e)
{
	struct asker who = svc_asker(p->rqst);
	struct named to;
	struct known k;

	if (nfs3_name_is_dots(&e->name))
		return;
	to = known_name(p->dir->caches, p->dir->node, &e->name);
	p->stale++;
	/* Who may read a directory may not look up in it for that. */
	if (!to.child || !known_search(p->dir) ||
	    !known_bound(p->dir, &to.bound))
		return;
	known_node(&k, &who, to.child);
	if (!known_fresh(&k))
		return;
	p->stale--;
	e->attributes = known_attr(&k);
	e->handle.handle_follows = TRUE;
	e->handle.post_op_fh3_u.handle = node_fh(to.child);
}

/* False where the entry does not fit. */
static bool page_add(struct page *p, const struct list_entry *le)
{
	struct nfs3_dirent e = {
	    .fileid = le->fileid, .name = le->name, .cookie = le->cookie};
	size_t size, names = nfs3_dirent_size(false, &e);

	if (p->plus)
		fill_plus(p, &e);
	size = nfs3_dirent_size(p->plus, &e);
	if (p->used + size + NFS3_DIRLIST_END_SIZE > p->room ||
	    (p->plus && names > p->dir_room && p->entries > 0))
		return false;
	if (!nfs3_dirent_encode(&p->xdrs, p->plus, &e))
		return false;
	p->used += size;
	p->dir_room -= names < p->dir_room ? names : p->dir_room;
	p->entries++;
	p->cookie = e.cookie;
	return true;
}

/* Entries behind `pos` as far as there is room; whether all went in. */
static bool page_fill(struct page *p, const struct listing *l, size_t *pos)
{
	struct list_entry e;
	size_t next = *pos;

	while (listing_next(l, &next, &e)) {
		if (!page_add(p, &e))
			return false;
		*pos = next;
	}
	return true;
}

static void page_reply(struct page *p, const struct listing *l, bool eof)
{
	union nfs_res res = {.status = NFS3_OK};
	struct xdr_view list = {.data = p->buf};

	(void)nfs3_dirlist_end(&p->xdrs, eof);
	list.len = xdr_getpos(&p->xdrs);
	if (p->plus) {
		READDIRPLUS3resok *r = &res.readdirplus.READDIRPLUS3res_u.resok;

		r->dir_attributes = known_attr(p->dir);
		memcpy(r->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
		r->reply = list;
	} else {
		READDIR3resok *r = &res.readdir.READDIR3res_u.resok;

		r->dir_attributes = known_attr(p->dir);
		memcpy(r->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
		r->reply = list;
	}
	cached_served(p->dir, p->rqst, METRICS_LIST_HITS);
	svc_reply_result(p->rqst, &res);
}

static bool page_make(struct page *p, struct listing *l, uint64_t cookie)
{
	size_t pos;
	bool all, eof, good;

	if (!listing_seek(l, cookie, &pos) || p->room <= LIST_HEAD_SIZE)
		return false;
	p->room -= LIST_HEAD_SIZE;
	if (p->room > listing_size_max(l, p->plus))
		p->room = listing_size_max(l, p->plus);
	p->buf = malloc(p->room);
	if (!p->buf)
		return false;
	xdrmem_create(&p->xdrs, p->buf, (unsigned)p->room, XDR_ENCODE);
	all = page_fill(p, l, &pos);
	eof = all && listing_complete(l);
	good =
	    (p->entries > 0 || eof) &&
	    (p->dir->contract.offline || p->stale * STALE_SHARE <= p->entries);
	if (good) {
		if (!eof)
			listing_remember(l, p->cookie, pos);
		page_reply(p, l, eof);
	}
	free(p->buf);
	return good;
}

static bool may_list(const struct known *dir, const struct listing *l)
{
	struct binding b = listing_binding(l);

	return known_granted(dir, ACCESS3_READ) ||
	       contract_granted(&dir->contract, b.sent_us);
}

static bool cached_page(
    struct page *p, const nfs3_fh *fh, uint64_t cookie, const char *verf)
{
	static const char none[NFS3_COOKIEVERFSIZE];
	struct svc_rqst *rqst = p->rqst;
	struct known dir;
	struct listing *l;
	struct binding b;

	if (!cached_find(&dir, rqst, fh))
		return false;
	l = listcache_find(dir.caches->lists, dir.node, rqst->cred_id, p->plus);
	if (!l ||
	    (cookie != 0 && memcmp(verf, listing_verf(l), sizeof(none)) != 0))
		return false;
	b = listing_binding(l);
	p->dir = &dir;
	if (known_bound(&dir, &b) && may_list(&dir, l))
		return page_make(p, l, cookie);
	/* Worth a round trip only if it spares one that is larger. */
	if (rqst->confirmed || dir.contract.offline || cookie != 0 || p->plus ||
	    !b.firm)
		return false;
	svc_confirm(rqst, fh);
	return true;
}

bool cached_readdir(struct svc_rqst *rqst)
{
	const READDIR3args *a = &rqst->args.readdir;
	struct page p = {.rqst = rqst, .room = a->count};

	return cached_page(&p, &a->dir, a->cookie, a->cookieverf) ||
	       cached_missed(rqst, METRICS_LIST_MISSES);
}

bool cached_readdirplus(struct svc_rqst *rqst)
{
	const READDIRPLUS3args *a = &rqst->args.readdirplus;
	struct page p = {.rqst = rqst,
	    .plus = true,
	    .room = a->maxcount,
	    .dir_room = a->dircount};

	return cached_page(&p, &a->dir, a->cookie, a->cookieverf) ||
	       cached_missed(rqst, METRICS_LIST_MISSES);
}
