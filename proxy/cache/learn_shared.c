/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes and listings that other machines had from the server. They were bound
 * there for good to a version of the file or directory, and are bound here to
 * the same one: as what this daemon has cached itself, they go out only under
 * attributes that the server has confirmed and rights that it gave. farm/
 * begins with learn_shared_begin() before it asks the engine, and hands over
 * what came; the state from before is compared then, since anything may have
 * happened meanwhile.
 */
#include <string.h>

#include "cache/caches.h"
#include "cache/learn_private.h"
#include "nfsproto/nfs3_list.h"

/* Whether these are the first bytes of a script or of an ELF program. The
 * predictor tells programs from other files by it (prefetch/ground/observe.c).
 */
static bool is_program(const char *data, uint32_t len)
{
	return len >= 4 &&
	       (memcmp(data, "#!", 2) == 0 || memcmp(data, "\177ELF", 4) == 0);
}

static void tell_data(const struct learn_bytes *b)
{
	struct caches_data d = {.node = b->node,
	    .cred = b->cred,
	    .offset = b->offset,
	    .data = b->data,
	    .len = b->len,
	    .ahead = b->ahead,
	    .shared = b->shared};
	struct caches_hook *h;

	LIST_FOREACH (h, &b->caches->hooks, link)
		if (h->on_data)
			h->on_data(h, &d);
}

void learn_bytes(const struct learn_bytes *b)
{
	struct data_version version = caches_data_version(b->caches, b->node);
	struct datacache_add add = {.key = caches_data_key(b->node),
	    .version = &version,
	    .offset = b->offset,
	    .data = b->data,
	    .len = b->len,
	    .hold = b->hold,
	    .sent_us = b->sent_us,
	    .again_us = b->again_us};

	if (b->firm)
		add.flags = DATACACHE_FIRM;
	if (b->ahead)
		add.flags |= DATACACHE_PREFETCHED;
	if (add.offset == 0 && is_program(add.data, add.len))
		b->node->flags |= NODE_PROGRAM;
	datacache_add(b->caches->data, &add);
	tell_data(b);
}

/* Whether the node's version, as it is known now, tells contents apart. A clock
 * that was set back may give two contents one ctime; and a change of our own
 * may have come behind what confirmed the version. Gives the version, and when
 * the call was sent that confirmed it. */
static bool version_tells(struct caches *c, const struct node *node,
    struct data_version *version, uint64_t *confirmed_us)
{
	if (!(node->flags & NODE_ATTRS) || (node->flags & NODE_DEAD))
		return false;
	*version = caches_data_version(c, node);
	*confirmed_us = attrcache_sent(c->attr, node);
	return *confirmed_us != 0 && !(version->ctime_ns & CACHES_CLOCK_BACK) &&
	       attrcache_may_fill(c->attr, node, *confirmed_us);
}

bool learn_shared_begin(
    struct learn_shared *s, struct caches *c, const struct node *node)
{
	s->caches = c;
	s->flushes = c->flushes;
	s->fh_len = node->fh_len;
	memcpy(s->fh, node->fh, node->fh_len);
	return version_tells(c, node, &s->version, &s->confirmed_us);
}

/* Returns the node if all is still as it was when the other machine was asked.
 */
static struct node *unchanged(const struct learn_shared *s)
{
	struct caches *c = s->caches;
	struct data_version now;
	uint64_t confirmed_us;
	nfs3_fh fh = learn_shared_fh(s);
	struct node *node;

	if (c->flushes != s->flushes)
		return NULL;
	node = attrcache_find(c->attr, &fh);
	if (!node || !version_tells(c, node, &now, &confirmed_us) ||
	    memcmp(&now, &s->version, sizeof(now)) != 0 ||
	    !attrcache_may_fill(c->attr, node, s->confirmed_us))
		return NULL;
	return node;
}

/* Whether the data cache took the bytes: there may have been no room for them
 * on their way to the disk. */
static bool is_kept(const struct learn_bytes *b)
{
	struct data_version version = caches_data_version(b->caches, b->node);
	struct datacache_read rd = {.key = caches_data_key(b->node),
	    .version = &version,
	    .offset = b->offset,
	    .len = b->len,
	    .valid_us = UINT64_MAX};

	return datacache_have(b->caches->data, &rd) == b->len;
}

bool learn_shared_data(const struct learn_shared *s, uint64_t offset,
    const void *data, uint32_t len)
{
	struct node *node = unchanged(s);
	struct learn_bytes b = {.caches = s->caches,
	    .node = node,
	    .cred = s->cred,
	    .offset = offset,
	    .data = data,
	    .len = len,
	    .sent_us = s->confirmed_us,
	    .firm = true,
	    .ahead = s->ahead,
	    .shared = true};

	if (!node || !s->caches->data || len == 0 || offset > node->size ||
	    len > node->size - offset ||
	    attrcache_type(s->caches->attr, node) != NF3REG)
		return false;
	learn_bytes(&b);
	return is_kept(&b);
}

/* Binds the names of a listing to the handles that it has. Of attributes it
 * says nothing. */
static void bind_names(
    const struct learn_shared *s, struct node *dir, const nfs3_dirlist *list)
{
	struct caches *c = s->caches;
	struct nfs3_dirent e;
	struct node *child;
	bool more = false;
	XDR xdrs;

	nfs3_list_open(&xdrs, list);
	while (nfs3_dirent_decode(&xdrs, true, &e, &more) && more) {
		if (!e.handle.handle_follows || e.name.len == 0 ||
		    attrcache_has_died(c->attr, &e.handle.post_op_fh3_u.handle,
			s->confirmed_us))
			continue;
		child = attrcache_get(c->attr, &e.handle.post_op_fh3_u.handle);
		if (child)
			namecache_bind_answer(c->names, dir, &e.name, child,
			    s->confirmed_us, true);
	}
}

bool learn_shared_listing(const struct learn_shared *s,
    const struct nfs_proc *proc, const union nfs_res *res)
{
	struct caches *c = s->caches;
	struct node *dir = unchanged(s);
	const struct grant *g =
	    dir ? accesscache_find(c->access, dir, s->cred) : NULL;
	struct list_page page = {
	    .cred = s->cred, .plus = proc->proc == NFSPROC3_READDIRPLUS};

	/* The server has not listed the directory to this credential, so it
	 * must have said that it would. */
	if (!grant_read(g) || attrcache_type(c->attr, dir) != NF3DIR ||
	    !attrcache_make_ext(c->attr, dir))
		return false;
	if (page.plus) {
		page.verf = res->readdirplus.READDIRPLUS3res_u.resok.cookieverf;
		page.entries = &res->readdirplus.READDIRPLUS3res_u.resok.reply;
	} else {
		page.verf = res->readdir.READDIR3res_u.resok.cookieverf;
		page.entries = &res->readdir.READDIR3res_u.resok.reply;
	}
	/* The listing counts as no younger than the attributes that it is bound
	 * to, and the right. */
	page.bound =
	    (struct binding){.generation = attrcache_generation(c->attr, dir),
		.firm = true,
		.sent_us = g->access_us < s->confirmed_us ? g->access_us
							  : s->confirmed_us};
	listcache_add(c->lists, dir, &page);
	if (page.plus)
		bind_names(s, dir, page.entries);
	caches_trim(c);
	return true;
}
