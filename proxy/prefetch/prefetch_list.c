/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A listing whose names hold, but not what is known of its entries, is asked
 * for anew in pages side by side: where each begins is known from the last
 * time. Else each page would cost a round trip, since only a page says where
 * the next one begins.
 */
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_private.h"

enum {
	PASS_MAX = 4096, /* fresh entries; then most of it is */
	/* Status, post_op_attr, cookieverf, end; and some room. */
	PAGE_HEAD = 4 + 88 + 8 + NFS3_DIRLIST_END_SIZE + 100,
};

static struct node *entry_child(
    struct caches *c, struct node *dir, const struct list_entry *e)
{
	struct dentry *d = namecache_find(c->names, dir, &e->name);

	return d ? dentry_child(c->names, d) : NULL;
}

static bool entry_fresh(struct caches *c, struct node *dir,
    const struct list_entry *e, uint64_t fresh_us)
{
	struct node *child;

	if (nfs3_name_is_dots(&e->name))
		return true;
	child = entry_child(c, dir, e);
	return child && attrcache_sent(c->attr, child) >= fresh_us;
}

/* The root of an export has a shorter handle than what is in it. */
static size_t entry_size(
    struct caches *c, struct node *dir, const struct list_entry *le)
{
	const struct node *child = entry_child(c, dir, le);
	struct nfs3_dirent e = {.fileid = le->fileid,
	    .name = le->name,
	    .cookie = le->cookie,
	    .attributes = {.attributes_follow = TRUE},
	    .handle = {.handle_follows = TRUE}};

	e.handle.post_op_fh3_u.handle.len =
	    child ? child->fh_len : NFS3_FHSIZE_MAX;
	return nfs3_dirent_size(true, &e);
}

unsigned listing_stale(struct caches *c, struct node *dir,
    const struct listing *l, uint64_t fresh_us, unsigned look)
{
	struct list_entry e;
	unsigned stale = 0;
	size_t pos = 0;

	while (look-- > 0 && listing_next(l, &pos, &e))
		stale += !entry_fresh(c, dir, &e, fresh_us);
	return stale;
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
		if (!entry_fresh(c, dir, &e, fresh_us))
			break;
		span->from = e.cookie;
	}
	do {
		size += entry_size(c, dir, &e);
		if (entry_fresh(c, dir, &e, fresh_us))
			continue;
		span->to = e.cookie;
		end = pos;
		bytes = size;
	} while (
	    listing_next(l, &pos, &e) && size + entry_size(c, dir, &e) <= room);
	/* Cookies that do not differ lead nowhere. */
	if (span->to == span->from)
		return 0;
	listing_remember(l, span->to, end);
	return (uint32_t)bytes;
}
