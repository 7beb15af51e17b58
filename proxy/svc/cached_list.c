/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * READDIR and READDIRPLUS from a listing, cut to the client's count at any
 * cookie. Attributes and handles come from the other caches: those that are
 * not fresh are left out, unless so many are that the server does better.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "svc/cached_private.h"

enum {
	/* post_op_attr and cookieverf before the entries. */
	LIST_HEAD_SIZE = 4 + 84 + 8,
	/* At most one in so many entries may go out without attributes; with
	 * more of them the server does better. */
	STALE_SHARE = 10,
	/* The end of a listing is asked for where the client left room for
	 * half of the smallest page or more. */
	REST_MIN = 2048,
};

/* A reply that is being made. */
struct page {
	const struct cached_call *call;
	const struct known *dir;
	bool plus;
	size_t room;     /* room for all results, in bytes */
	size_t dir_room; /* for READDIRPLUS: room for names and cookies alone */
	char *buf;
	XDR xdrs;
	size_t used;
	unsigned entries;
	unsigned stale;
	uint64_t cookie; /* of the last entry */
};

/* Fills in the handle and attributes behind a name, if they may be told;
 * `k->node` is NULL where they may not. */
static void fill_plus(struct page *p, struct nfs3_dirent *e, struct known *k)
{
	struct named to;

	k->node = NULL;

	if (nfs3_name_is_dots(&e->name))
		return;
	to = known_name(p->dir->caches, p->dir->node, &e->name);
	p->stale++;
	/* A right to read the directory is none to look up names in it. */
	if (!to.child || !known_search(p->dir) ||
	    !known_bound(p->dir, &to.bound))
		return;
	known_node(k, &p->call->who, to.child);
	if (!known_fresh(k) ||
	    (p->call->hides && p->call->hides(p->call->hides_ctx, to.child))) {
		k->node = NULL;
		return;
	}
	p->stale--;
	e->attributes = known_attr(k);
	e->handle.handle_follows = TRUE;
	e->handle.post_op_fh3_u.handle = node_fh(to.child);
}

/* Adds an entry to the page; false where it does not fit. READDIRPLUS has two
 * bounds (RFC 1813 section 3.3.17): `dircount` for names and cookies, which the
 * first entry may exceed, and `maxcount` for all of the results. */
static bool page_add(struct page *p, const struct list_entry *le)
{
	struct nfs3_dirent e = {
	    .fileid = le->fileid, .name = le->name, .cookie = le->cookie};
	size_t size, names = nfs3_dirent_size(false, &e);
	struct known k = {.node = NULL};

	if (p->plus)
		fill_plus(p, &e, &k);
	size = nfs3_dirent_size(p->plus, &e);
	if (p->used + size + NFS3_DIRLIST_END_SIZE > p->room ||
	    (p->plus && names > p->dir_room && p->entries > 0))
		return false;
	if (!nfs3_dirent_encode(&p->xdrs, p->plus, &e))
		return false;
	if (k.node)
		known_tell(&k);
	p->used += size;
	p->dir_room -= names < p->dir_room ? names : p->dir_room;
	p->entries++;
	p->cookie = e.cookie;
	return true;
}

/* Adds the entries behind `pos` as far as there is room. Returns whether all
 * went in. */
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

/* Ends the list, and fills in the results around it. */
static void page_finish(
    struct page *p, struct cached_answer *a, const struct listing *l, bool eof)
{
	READDIR3resok *r = &a->res.readdir.READDIR3res_u.resok;
	READDIRPLUS3resok *plus = &a->res.readdirplus.READDIRPLUS3res_u.resok;
	struct xdr_view list = {.data = p->buf};

	(void)nfs3_dirlist_end(&p->xdrs, eof);
	list.len = xdr_getpos(&p->xdrs);
	if (p->plus) {
		plus->dir_attributes = known_attr(p->dir);
		memcpy(plus->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
		plus->reply = list;
	} else {
		r->dir_attributes = known_attr(p->dir);
		memcpy(r->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
		r->reply = list;
	}
}

/*
 * Whether the client left room for more than has come of a listing, as where a
 * short page was asked for ahead of it: then the server is asked for what still
 * fits, as it would be on a direct mount. Else the client would go on in short
 * pages, and Linux would ask for no more attributes. A client that asks for the
 * names alone gets more of them from the server in the same time. `room` bytes
 * are left.
 */
static bool lacks_rest(
    const struct page *p, const struct listing *l, size_t room)
{
	return !listing_complete(l) && !p->call->rest_asked &&
	       !p->call->who.offline && room >= REST_MIN &&
	       (!p->plus || p->dir_room >= REST_MIN);
}

static enum cached_verdict page_rest(const struct page *p,
    struct cached_answer *a, const struct listing *l, size_t room)
{
	if (!p->plus)
		return CACHED_MISS;
	a->rest = (READDIRPLUS3args){.dir = p->call->args->readdirplus.dir,
	    .cookie = listing_last_cookie(l),
	    .dircount = (uint32_t)p->dir_room,
	    .maxcount = (uint32_t)(room + LIST_HEAD_SIZE)};
	memcpy(a->rest.cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
	return CACHED_REST;
}

/* Makes the reply of the entries behind `cookie`. MISS where the server does
 * better: too many attributes are stale, or not one entry fits. */
static enum cached_verdict page_make(
    struct page *p, struct cached_answer *a, struct listing *l, uint64_t cookie)
{
	size_t pos, room;
	bool all, eof;

	if (!listing_seek(l, cookie, &pos) ||
	    p->room < LIST_HEAD_SIZE + NFS3_DIRLIST_END_SIZE)
		return CACHED_MISS;
	p->room -= LIST_HEAD_SIZE;
	room = p->room;
	if (p->room > listing_size_max(l, p->plus))
		p->room = listing_size_max(l, p->plus);
	p->buf = malloc(p->room);
	if (!p->buf)
		return CACHED_MISS;
	xdrmem_create(&p->xdrs, p->buf, (unsigned)p->room, XDR_ENCODE);
	all = page_fill(p, l, &pos);
	eof = all && listing_complete(l);
	if ((p->entries == 0 && !eof) ||
	    (!p->call->who.offline && p->stale * STALE_SHARE > p->entries)) {
		free(p->buf);
		return CACHED_MISS;
	}
	if (all && lacks_rest(p, l, room - p->used)) {
		free(p->buf);
		return page_rest(p, a, l, room - p->used);
	}
	if (!eof)
		listing_remember(l, p->cookie, pos);
	page_finish(p, a, l, eof);
	a->list = p->buf;
	return answer_end(a, p->dir);
}

static bool may_list(const struct known *dir, const struct binding *b)
{
	return known_granted(dir, ACCESS3_READ) ||
	       known_right(dir, b->sent_us, b->firm);
}

/*
 * Finds the listing that the cookie is of. A client that began with READDIRPLUS
 * may go on with READDIR from where it is (Linux does so once it finds that
 * nobody asks for the attributes), so a cookie that the listing of READDIR
 * lacks is looked for in that of READDIRPLUS.
 */
static struct listing *find_listing(const struct known *dir,
    const struct page *p, uint64_t cookie, const char *verf)
{
	for (int plus = p->plus; plus <= 1; plus++) {
		struct listing *l = listcache_find(
		    dir->caches->lists, dir->node, dir->cred, plus);
		size_t pos;

		if (!l)
			continue;
		if (cookie == 0)
			return plus == p->plus ? l : NULL;
		if (memcmp(verf, listing_verf(l), NFS3_COOKIEVERFSIZE) == 0 &&
		    listing_seek(l, cookie, &pos))
			return l;
	}
	return NULL;
}

static enum cached_verdict cached_page(struct page *p, struct cached_answer *a,
    const nfs3_fh *fh, uint64_t cookie, const char *verf)
{
	const struct cached_call *call = p->call;
	struct known dir;
	struct listing *l;
	struct binding b;

	answer_begin(a);
	if (!known_find(&dir, &call->who, fh))
		return CACHED_MISS;
	l = find_listing(&dir, p, cookie, verf);
	if (!l)
		return CACHED_MISS;
	b = listing_binding(l);
	p->dir = &dir;
	if (known_bound(&dir, &b) && may_list(&dir, &b))
		return page_make(p, a, l, cookie);
	/* A confirmation is worth a round trip only if it spares a larger
	 * reply. The server's reply to a READDIRPLUS is worth more, since it
	 * confirms the entries, too. */
	if (call->confirmed || call->who.offline || cookie != 0 || p->plus ||
	    !b.firm)
		return CACHED_MISS;
	return CACHED_CONFIRM;
}

enum cached_verdict cached_readdir(
    const struct cached_call *call, struct cached_answer *a)
{
	const READDIR3args *args = &call->args->readdir;
	struct page p = {.call = call, .room = args->count};

	return cached_page(&p, a, &args->dir, args->cookie, args->cookieverf);
}

enum cached_verdict cached_readdirplus(
    const struct cached_call *call, struct cached_answer *a)
{
	const READDIRPLUS3args *args = &call->args->readdirplus;
	struct page p = {.call = call,
	    .plus = true,
	    .room = args->maxcount,
	    .dir_room = args->dircount};

	return cached_page(&p, a, &args->dir, args->cookie, args->cookieverf);
}
