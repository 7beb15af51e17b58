/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the caches keep, into records, a few buckets at a time. */
#include "cache/metapack.h"

#include <string.h>

#include "base/clock.h"
#include "cache/caches.h"

/* Times go to disk by the wall clock: the other one begins anew with the
 * machine. */
static void put_time(struct metapack *p, uint64_t us)
{
	metabuf_put_u64(p->out, us == 0 ? 0 : us + p->real_us);
}

static void pack_creds(struct metapack *p)
{
	struct cred_key key;
	uint32_t id;

	for (uint32_t i = 0; credtab_at(p->caches->creds, i, &key, &id); i++) {
		size_t at = metabuf_begin(p->out, METAFILE_CRED);

		metabuf_put_u32(p->out, id);
		metabuf_put(p->out, &key, sizeof(key));
		metabuf_end(p->out, at);
	}
}

static void pack_fsys(struct metapack *p)
{
	const struct fsys *fs;

	for (uint32_t i = 0; (fs = attrcache_fsys_at(p->caches->attr, i));
	     i++) {
		size_t at = metabuf_begin(p->out, METAFILE_FSYS);
		const char *path = "";

		if (fs->export_plus_one > 0)
			path = p->caches->config
				   ->overrides[fs->export_plus_one - 1]
				   .path;
		metabuf_put_u64(p->out, fs->fsid);
		metabuf_put_u8(p->out,
		    (uint8_t)(fs->subseconds | fs->case_known << 1 |
			      fs->case_sensitive << 2 | fs->unlisted << 3));
		metabuf_put_bytes(p->out, path, strlen(path));
		metabuf_end(p->out, at);
	}
}

static void pack_mounts(struct metapack *p)
{
	struct mounttab_entry e;

	for (unsigned i = 0; mounttab_at(p->caches->mounts, i, &e); i++) {
		size_t at = metabuf_begin(p->out, METAFILE_MOUNT);

		metabuf_put_bytes(p->out, e.path, e.path_len);
		metabuf_put(p->out, e.cred, sizeof(*e.cred));
		put_time(p, e.sent_us);
		metabuf_put_bytes(p->out, e.body.data, e.body.len);
		metabuf_end(p->out, at);
	}
}

static void pack_grants(struct metapack *p, const struct node *node)
{
	slab_ref ref;

	for (ref = node->grants; ref != 0;) {
		const struct grant *g = slab_ptr(p->caches->slab, ref);

		metabuf_put_u32(p->out, g->cred);
		metabuf_put_u8(p->out, (uint8_t)g->known);
		metabuf_put_u8(p->out, (uint8_t)g->given);
		put_time(p, g->access_us);
		put_time(p, g->any_us);
		put_time(p, g->own_us);
		ref = g->next;
	}
	metabuf_put_u32(p->out, 0);
}

/* Whether what is bound to a node still is, and for good. */
static bool current(
    const struct node_ext *x, const struct binding *b, bool *firm)
{
	*firm = b->firm && b->sent_us > x->changed_us;
	return b->generation == x->generation;
}

static void pack_answers(struct metapack *p, const struct node_ext *x)
{
	bool firm;

	for (const struct answer *a = x ? x->answers : NULL; a; a = a->next) {
		if (!current(x, &a->bound, &firm) && answer_of_version(a->proc))
			continue;
		metabuf_put_u32(p->out, a->proc->prog);
		metabuf_put_u32(p->out, a->proc->proc);
		metabuf_put_u32(p->out, a->key);
		metabuf_put_u8(p->out, firm);
		metabuf_put_bytes(p->out, a->body, a->len);
	}
	metabuf_put_u32(p->out, 0);
}

struct pack_list {
	struct metapack *p;
	const struct node_ext *x;
};

static void pack_listing(void *arg, const struct listing *l)
{
	const struct pack_list *pl = arg;
	struct metabuf *out = pl->p->out;
	struct binding b = listing_binding(l);
	const void *data;
	size_t len;
	bool firm;

	if (!listing_complete(l) || !current(pl->x, &b, &firm))
		return;
	data = listing_data(l, &len);
	metabuf_put_u32(out, listing_cred(l));
	metabuf_put_u8(out, listing_plus(l));
	metabuf_put_u8(out, firm);
	metabuf_put(out, listing_verf(l), NFS3_COOKIEVERFSIZE);
	metabuf_put_bytes(out, data, len);
}

static void pack_node(void *arg, struct node *node)
{
	struct metapack *p = arg;
	struct attrcache *ac = p->caches->attr;
	struct pack_list pl = {.p = p, .x = attrcache_ext(ac, node)};
	fattr3 a;
	size_t at;

	/* What must not be used now must not be later. */
	if (attrcache_sent(ac, node) == 0)
		return;
	at = metabuf_begin(p->out, METAFILE_NODE);
	attrcache_fattr(ac, node, &a);
	metabuf_put_bytes(p->out, node->fh, node->fh_len);
	metabuf_put(p->out, &a, sizeof(a));
	pack_grants(p, node);
	pack_answers(p, pl.x);
	listcache_each(p->caches->lists, node, pack_listing, &pl);
	metabuf_put_u32(p->out, 0);
	metabuf_end(p->out, at);
}

static void pack_name(void *arg, const struct dentry *d)
{
	struct metapack *p = arg;
	struct attrcache *ac = p->caches->attr;
	const struct node *dir = attrcache_node(ac, d->dir);
	const struct node *child = dentry_child(p->caches->names, d);
	struct binding b = dentry_binding(d);
	bool firm;
	size_t at;

	/* A guess is no answer (learn_change.c). */
	if (b.sent_us == 0 || (dir->flags & NODE_DEAD) ||
	    attrcache_sent(ac, dir) == 0 ||
	    !current(attrcache_ext(ac, dir), &b, &firm) ||
	    (d->child != 0 && !child))
		return;
	at = metabuf_begin(p->out, METAFILE_NAME);
	metabuf_put_bytes(p->out, dir->fh, dir->fh_len);
	metabuf_put_bytes(
	    p->out, child ? child->fh : NULL, child ? child->fh_len : 0);
	metabuf_put_bytes(p->out, d->name, d->len);
	metabuf_put_u8(p->out, firm);
	metabuf_end(p->out, at);
}

bool metapack_some(struct metapack *p, size_t bytes)
{
	size_t end = p->out->len + bytes;

	if (!p->begun) {
		p->begun = true;
		p->real_us = clock_real_us() - clock_now_us();
		metabuf_put(p->out, METAFILE_MAGIC, 8);
		pack_creds(p);
		pack_fsys(p);
		pack_mounts(p);
	}
	while (p->out->len < end && !p->out->failed) {
		if (attrcache_each(p->caches->attr, p->nodes, pack_node, p))
			p->nodes++;
		else if (namecache_each(
			     p->caches->names, p->names, pack_name, p))
			p->names++;
		else
			return false;
	}
	return !p->out->failed;
}
