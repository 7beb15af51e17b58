/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hint needs next: its path is walked through the caches as far as the
 * credential was let in, a name that is not there is looked up, and then its
 * bytes are wanted, a chunk at a time.
 */
#include <string.h>

#include "base/metrics.h"
#include "hint/hint_private.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_object.h"

enum {
	CHUNK_MIN = 16 << 10,
	CHUNK_MAX = 256 << 10,
	CHUNK_PARTS = 4, /* of what the link carries in a second */
};

/* Somebody said so. Whether the link has room is the budget's to say. */
#define P_HINT 1.0f

enum walked { WALK_FOUND, WALK_ASK, WALK_NONE };

/* Along a path. */
struct walk {
	struct hint_item *it;
	struct caches *c;
	struct node *node; /* where it has come to */
	struct node *dir;  /* of `name`, the last one that was looked at */
	nfs3_name name;
	uint64_t now_us;
};

static struct caches *caches_of(const struct hint_item *it)
{
	return it->stream->hints->p.caches;
}

/* Nearer ones of one stream must not go before those that wait. */
static uint32_t lead_of(struct hint_item *it)
{
	struct hint_stream *s = it->stream;
	uint64_t lead = it->ord - TAILQ_FIRST(&s->items)->ord + 1;

	if (s->nwants > 0 && lead < s->last_lead)
		lead = s->last_lead;
	s->last_lead = (uint32_t)lead;
	return s->last_lead;
}

/* ---- names ------------------------------------------------------------ */

/* One that was looked up just now holds for this once. */
static bool asked_already(const struct walk *k)
{
	return k->it->next == (uint64_t)(k->name.data - k->it->text) + 1;
}

static bool holds(const struct walk *k, const struct dentry *d)
{
	struct binding b = dentry_binding(d);
	struct contract c;

	contract_init(
	    &c, caches_policy(k->c, k->dir), false, k->now_us, k->now_us);
	return contract_bound(&c, k->c->attr, k->dir, &b) &&
	       (d->child != 0 ||
		   contract_fresh(&c, attrcache_sent(k->c->attr, k->dir)));
}

static enum walked walk_name(struct walk *k)
{
	uint32_t cred = pf_cred_id(k->it->stream->cred);
	struct dentry *d;

	k->dir = k->node;
	if ((k->dir->flags & NODE_ATTRS) &&
	    attrcache_type(k->c->attr, k->dir) != NF3DIR)
		return WALK_NONE;
	if (!grant_search(accesscache_find(k->c->access, k->dir, cred)))
		return WALK_ASK;
	d = namecache_find(k->c->names, k->dir, &k->name);
	if (!d || (!holds(k, d) && !asked_already(k)))
		return WALK_ASK;
	k->node = dentry_child(k->c->names, d);
	if (k->node)
		return WALK_FOUND;
	return d->child == 0 ? WALK_NONE : WALK_ASK;
}

static enum walked walk_path(struct walk *k)
{
	const char *path = k->it->text;
	enum walked w = WALK_FOUND;

	k->node = attrcache_get(k->c->attr, &k->it->stream->root);
	if (!k->node)
		return WALK_NONE;
	while (*path && w == WALK_FOUND) {
		k->name.data = path;
		k->name.len = (uint32_t)strcspn(path, "/");
		w = walk_name(k);
		path += k->name.len;
		path += *path == '/';
	}
	/* It was asked for, and there is no answer to go on with. */
	return w == WALK_ASK && asked_already(k) ? WALK_NONE : w;
}

static enum hint_step ask_name(struct walk *k)
{
	struct hint_item *it = k->it;
	struct hint_stream *s = it->stream;
	nfs3_fh dir = node_fh(k->dir);
	struct want_name n = {.dir = fh_key(&dir),
	    .name = k->name.data,
	    .len = k->name.len,
	    .p = P_HINT,
	    .lead = lead_of(it)};
	struct want *w =
	    want_add_name(s->hints->p.prefetch, s->cred, &n, k->now_us);

	/* Another hint's, whose answer will do. */
	if (!w || !want_own(w, &it->owner))
		return HINT_STEP_LATER;
	it->next = (uint64_t)(k->name.data - it->text) + 1;
	hint_out(it, LOOKUP_BYTES);
	return HINT_STEP_OUT;
}

static void found(struct walk *k)
{
	nfs3_fh fh = node_fh(k->node), dir;
	uint64_t parent = 0;

	if (k->dir) {
		dir = node_fh(k->dir);
		parent = fh_key(&dir);
	}
	hint_set_object(k->it, fh_key(&fh), parent);
}

/* ---- bytes ------------------------------------------------------------ */

static bool refused(const struct hint_item *it, struct node *node)
{
	const struct grant *g = accesscache_find(
	    caches_of(it)->access, node, pf_cred_id(it->stream->cred));

	return g && (g->known & ACCESS3_READ) && !(g->given & ACCESS3_READ);
}

/* What the link carries in a part of the time after which a want is given up,
 * so that it is not given up for being long. */
static uint32_t chunk_bytes(const struct hint_item *it)
{
	uint64_t n = linkest_rate_Bps(it->stream->hints->p.link) / CHUNK_PARTS;

	if (n < CHUNK_MIN)
		return CHUNK_MIN;
	return n < CHUNK_MAX ? (uint32_t)n : CHUNK_MAX;
}

/* Where it ends, as far as is known. */
static uint64_t end_of(const struct hint_item *it, const struct node *node)
{
	uint64_t end = it->length > 0 ? it->offset + it->length : UINT64_MAX;

	if ((node->flags & NODE_ATTRS) && end > node->size)
		end = node->size;
	return end;
}

static enum hint_step ask_bytes(
    struct hint_item *it, struct node *node, uint64_t now_us)
{
	struct hint_stream *s = it->stream;
	uint64_t end = end_of(it, node);
	uint32_t chunk = chunk_bytes(it);
	struct want_range r = {.object = it->object,
	    .parent = it->parent,
	    .offset_bytes = it->next,
	    .p = P_HINT,
	    .source = NOTE_FROM_HINT};
	struct want *w;

	if (it->next == it->offset)
		r.needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
			  PREDICTOR_NEEDS_ACCESS;
	r.count_bytes =
	    end - it->next < chunk ? (uint32_t)(end - it->next) : chunk;
	r.lead = lead_of(it);
	w = want_add_range(s->hints->p.prefetch, s->cred, &r, now_us);
	if (!w || !want_own(w, &it->owner))
		return HINT_STEP_LATER;
	hint_out(it, r.count_bytes);
	return HINT_STEP_OUT;
}

/* A file, as far as is known, that may be read. */
static bool is_good(const struct hint_item *it, struct node *node)
{
	if (!node || !(node->flags & NODE_ATTRS))
		return node && it->next == it->offset;
	return attrcache_type(caches_of(it)->attr, node) == NF3REG &&
	       !refused(it, node);
}

static enum hint_step step_data(struct hint_item *it, uint64_t now_us)
{
	struct node *node = attrcache_by_key(caches_of(it)->attr, it->object);

	if (!is_good(it, node)) {
		hint_fail(it);
		return HINT_STEP_OUT;
	}
	if (it->next >= end_of(it, node)) {
		hint_asked(it, now_us);
		return HINT_STEP_OUT;
	}
	return ask_bytes(it, node, now_us);
}

/* ---- either ----------------------------------------------------------- */

static enum walked walk_fh(struct walk *k)
{
	nfs3_fh fh = {.len = k->it->fh_len, .data = k->it->text};

	/* Others would be a way to try which ones there are. */
	k->node = attrcache_find(k->c->attr, &fh);
	return k->node ? WALK_FOUND : WALK_NONE;
}

enum hint_step hint_step(struct hint_item *it, uint64_t now_us)
{
	struct walk k = {.it = it, .c = caches_of(it), .now_us = now_us};
	enum walked w;

	if (it->state == HINT_DATA)
		return step_data(it, now_us);
	w = it->fh_len > 0 ? walk_fh(&k) : walk_path(&k);
	if (w == WALK_ASK)
		return ask_name(&k);
	if (w == WALK_NONE) {
		hint_fail(it);
		return HINT_STEP_OUT;
	}
	found(&k);
	return step_data(it, now_us);
}

void hint_step_done(struct hint_item *it, bool given_up, uint64_t now_us)
{
	struct node *node;

	if (it->state == HINT_NAME) {
		if (given_up)
			it->next = 0;
		return;
	}
	if (given_up) {
		/* It counts when it is asked for again. */
		if (it->ahead_bytes >= it->out_bytes) {
			it->ahead_bytes -= it->out_bytes;
			it->stream->ahead_bytes -= it->out_bytes;
		}
		return;
	}
	it->next += it->out_bytes;
	node = attrcache_by_key(caches_of(it)->attr, it->object);
	if (is_good(it, node) && it->next >= end_of(it, node))
		hint_asked(it, now_us);
}
