/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes the next step of a hint: walks its path through the caches as far as
 * the credential was let in, looks up a name that is not there, and then wants
 * its bytes, a chunk at a time.
 */
#include <string.h>

#include "cache/known.h"
#include "hint/hint_private.h"
#include "prefetch/ground/ground.h"
#include "prefetch/prefetch.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_object.h"

enum {
	CHUNK_MIN = 16 << 10,
	CHUNK_MAX = 256 << 10,
	CHUNK_PARTS = 4, /* of what the link carries in a second */
};

/* Who gives a hint says that it will be read. */
#define P_HINT 1.0f

enum walked { WALK_FOUND, WALK_ASK, WALK_NONE };

static struct caches *caches_of(const struct hint_item *it)
{
	return it->stream->hints->p.caches;
}

/* How far ahead of the reader it is. A later want of a stream must not have a
 * smaller lead than one that waits, or it would go out before it. */
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

/* Whether the name that the walk has come to was looked up for the hint just
 * now: its answer is taken once, however long it holds. */
static bool asked_already(
    const struct hint_item *it, const struct known_walk *k)
{
	return it->next == (uint64_t)(k->name.data - it->text) + 1;
}

/* Whether a name counts now; that it is absent only while its directory is
 * fresh. */
static bool holds(const struct known_walk *k)
{
	return known_holds(&k->dir, &k->named.bound) &&
	       (!k->named.absent || known_fresh(&k->dir));
}

/* Says of the next name of a path whether the caches know where it leads, the
 * server has to be asked for it, or no file of that path can be there. */
static enum walked walk_name(
    const struct hint_item *it, const struct known_walk *k)
{
	const struct node *dir = k->dir.node;

	if ((dir->flags & NODE_ATTRS) &&
	    attrcache_type(k->dir.caches->attr, dir) != NF3DIR)
		return WALK_NONE;
	if (!grant_search(k->dir.grant) || !k->named.known ||
	    (!holds(k) && !asked_already(it, k)))
		return WALK_ASK;
	if (k->named.child)
		return WALK_FOUND;
	return k->named.absent ? WALK_NONE : WALK_ASK;
}

/* Follows the path of a hint through the caches. */
static enum walked walk_path(
    const struct hint_item *it, struct known_walk *k, uint64_t now_us)
{
	struct hint_stream *s = it->stream;
	struct caches *c = caches_of(it);
	struct asker who = asker_now(c, credential_id(s->cred), now_us);
	struct node *root = attrcache_get(c->attr, &s->root);
	enum walked w = root ? WALK_FOUND : WALK_NONE;

	known_walk_begin(k, &who, root, it->text);
	while (w == WALK_FOUND && known_walk_next(k))
		w = walk_name(it, k);
	/* It was asked for, and there is no answer to go on with. */
	return w == WALK_ASK && asked_already(it, k) ? WALK_NONE : w;
}

static uint64_t key_of(const struct node *node)
{
	return node ? node_key(node) : 0;
}

/* Wants the name that the walk has come to. */
static enum hint_step ask_name(
    struct hint_item *it, const struct known_walk *k, uint64_t now_us)
{
	struct hint_stream *s = it->stream;
	struct want_name n = {.dir = key_of(k->dir.node),
	    .name = k->name.data,
	    .len = k->name.len,
	    .p = P_HINT,
	    .lead = lead_of(it),
	    .source = NOTE_FROM_HINT};
	struct want *w = want_add_name(
	    prefetch_queue(s->hints->p.prefetch), s->cred, &n, now_us);

	/* Another hint's, whose answer will do. */
	if (!w || !want_own(w, &it->owner))
		return HINT_STEP_LATER;
	it->next = (uint64_t)(k->name.data - it->text) + 1;
	hint_out(it, LOOKUP_BYTES, false);
	return HINT_STEP_OUT;
}

/* ---- bytes ------------------------------------------------------------ */

/* Whether the server has said that the user may not read the file. */
static bool refused(const struct hint_item *it, struct node *node)
{
	const struct grant *g = accesscache_find(
	    caches_of(it)->access, node, credential_id(it->stream->cred));

	return g && (g->known & ACCESS3_READ) && !(g->given & ACCESS3_READ);
}

/* The bytes of one want. The link carries them in a part of the time after
 * which a want expires, so that none expires because it is long. */
static uint32_t chunk_bytes(const struct hint_item *it)
{
	uint64_t n = linkest_rate_Bps(it->stream->hints->p.link) / CHUNK_PARTS;

	if (n < CHUNK_MIN)
		return CHUNK_MIN;
	return n < CHUNK_MAX ? (uint32_t)n : CHUNK_MAX;
}

/* The offset at which the hinted bytes end, as far as the file is known. */
static uint64_t end_of(const struct hint_item *it, const struct node *node)
{
	uint64_t end = it->length > 0 ? it->offset + it->length : UINT64_MAX;

	if ((node->flags & NODE_ATTRS) && end > node->size)
		end = node->size;
	return end;
}

/* Whether the data cache has the next `bytes` of it already. */
static bool is_cached(const struct hint_item *it, struct node *node,
    uint32_t bytes, uint64_t now_us)
{
	struct caches *c = caches_of(it);
	struct asker who =
	    asker_now(c, credential_id(it->stream->cred), now_us);
	struct data_version version;
	struct datacache_read rd;
	struct known k;

	if (!c->data || !(node->flags & NODE_ATTRS))
		return false;
	known_node(&k, &who, node);
	rd = known_data(&k, &version, it->next, bytes);
	return datacache_prefix(c->data, &rd) == bytes;
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
	w = want_add_range(
	    prefetch_queue(s->hints->p.prefetch), s->cred, &r, now_us);
	if (!w || !want_own(w, &it->owner))
		return HINT_STEP_LATER;
	hint_out(it, r.count_bytes, is_cached(it, node, r.count_bytes, now_us));
	return HINT_STEP_OUT;
}

/* Whether it is a file that may be read, as far as is known. */
static bool can_be_read(const struct hint_item *it, struct node *node)
{
	if (!node || !(node->flags & NODE_ATTRS))
		return node && it->next == it->offset;
	return attrcache_type(caches_of(it)->attr, node) == NF3REG &&
	       !refused(it, node);
}

/* The next step of a hint whose object is known. */
static enum hint_step step_data(struct hint_item *it, uint64_t now_us)
{
	struct node *node = attrcache_by_key(caches_of(it)->attr, it->object);

	if (!can_be_read(it, node)) {
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

/* A handle counts only if the caches know it: others would be a way to try
 * which handles there are. */
static enum walked walk_fh(const struct hint_item *it, struct known_walk *k)
{
	nfs3_fh fh = {.len = it->fh_len, .data = it->text};

	k->node = attrcache_find(caches_of(it)->attr, &fh);
	return k->node ? WALK_FOUND : WALK_NONE;
}

enum hint_step hint_step(struct hint_item *it, uint64_t now_us)
{
	struct known_walk k = {0};
	enum walked w;

	if (it->state == HINT_DATA)
		return step_data(it, now_us);
	w = it->fh_len > 0 ? walk_fh(it, &k) : walk_path(it, &k, now_us);
	if (w == WALK_ASK)
		return ask_name(it, &k, now_us);
	if (w == WALK_NONE) {
		hint_fail(it);
		return HINT_STEP_OUT;
	}
	hint_set_object(it, key_of(k.node), key_of(k.dir.node));
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
	if (can_be_read(it, node) && it->next >= end_of(it, node))
		hint_asked(it, now_us);
}
