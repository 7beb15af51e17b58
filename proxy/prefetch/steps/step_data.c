/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a file that a want is about: which pieces they are, which of
 * them are cached, and their READs. */
#include "base/metrics.h"
#include "config/config.h"
#include "farm/farm.h"
#include "link/linkest.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/worth.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

enum {
	PIECES_MAX = 64, /* in one turn */
	EXTENTS = 32,    /* of a file, at most, from the predictor */
	/* Of a file that was never read, however much is read first of others.
	 */
	FIRST_MAX = 131072,
	/* The farm has answered after about so long. */
	FARM_BUSY_US = 2000,
};

static uint32_t first_bytes(const struct turn *t)
{
	uint64_t n = t->k.policy->prefetch_block_size *
		     t->k.policy->prefetch_block_count;
	uint64_t asked = t->wish->first_bytes;

	/* A file that was never read will be read like others. */
	if (asked == 0)
		asked = sources_first_bytes(t->s->sources);
	if (t->wish->first_bytes == 0 && asked > FIRST_MAX)
		asked = FIRST_MAX;
	if (asked > n && t->k.policy->prefetch == CONFIG_PREFETCH_ON)
		n = asked;
	return (uint32_t)(n < t->node->size ? n : t->node->size);
}

/* A piece of the file, and what follows it in its extent. */
struct piece {
	uint64_t offset;
	uint32_t len;
	uint64_t left; /* of the extent, from `offset` on */
};

/* The next piece, from where the want stands; false where there is none. */
static bool next_piece(struct turn *t, const struct predictor_extent *ext,
    size_t n, struct piece *p)
{
	struct want_progress *w = t->at;
	uint64_t unit = linkest_unit_bytes(t->g->link);
	uint64_t begin = 0, end = first_bytes(t);

	/* Of a range, nothing else is wanted. */
	if (t->wish->count > 0 && w->extent == 0)
		w->extent = 1;
	while (w->extent <= n) {
		if (w->extent > 0) {
			const struct predictor_extent *x = &ext[w->extent - 1];
			int64_t skip = x->stride_bytes * (int64_t)w->repeat;

			begin = x->offset_bytes + (uint64_t)skip;
			end = begin + x->length_bytes;
		}
		if (end > t->node->size)
			end = t->node->size;
		if (begin + w->into < end) {
			p->offset = begin + w->into;
			p->left = end - p->offset;
			p->len = (uint32_t)(p->left < unit ? p->left : unit);
			return true;
		}
		w->into = 0;
		w->repeat++;
		if (w->extent == 0 || w->repeat >= ext[w->extent - 1].count) {
			w->repeat = 0;
			w->extent++;
		}
	}
	return false;
}

/* How many bytes from there on are cached. */
static uint32_t have(const struct turn *t, uint64_t offset, uint32_t len)
{
	struct data_version version;
	struct datacache_read rd = known_data(&t->k, &version, offset, len);

	if (len == 0)
		return 0;
	rd.len = datacache_prefix(t->c->data, &rd);
	/* It is read off the disk, and compared with its checksum, before a
	 * client wants it. */
	if (rd.len > 0)
		datacache_touch(t->c->data, &rd);
	return rd.len;
}

/* How many bytes from there on are under way, whoever sent for them. */
static uint32_t coming(const struct turn *t, uint64_t offset, uint32_t len)
{
	struct fetch_about a = {.object = node_key(t->node),
	    .proc = NFSPROC3_READ,
	    .cred = credential_id(t->wish->cred),
	    .from = offset,
	    .to = offset + len};

	return (uint32_t)(fetch_under_way_to(t->g->fetch, &a) - offset);
}

/* Ask the farm for what it may have of the extent. It may have nothing: so the
 * want comes back to the first piece that was asked of it, once it has
 * answered. */
static enum farm_answer ask_farm(struct turn *t, const struct piece *p)
{
	struct want_progress *at = t->at;
	uint32_t left = p->left < UINT32_MAX ? (uint32_t)p->left : UINT32_MAX;
	struct fetch_about a = {.object = node_key(t->node),
	    .proc = NFSPROC3_READ,
	    .cred = credential_id(t->wish->cred),
	    .from = p->offset,
	    .to = p->offset + 1};
	enum farm_answer answer =
	    farm_ask_data(t->g->farm, t->node, a.cred, p->offset, left, true);

	if (answer != FARM_ASKED)
		return answer;
	(void)want_watch(t->w, &a);
	if (!t->farmed)
		t->back = (struct turn_place){at->extent, at->repeat, at->into};
	t->farmed = true;
	return answer;
}

static bool read_piece(struct turn *t, uint64_t offset, uint32_t len)
{
	union nfs_args args = {
	    .read = {.file = node_fh(t->node), .offset = offset, .count = len}};

	if (!worth_call(
		t->g, wish_is_guess(t->wish), (double)t->wish->data_p, len))
		return true;
	if (turn_too_early(t, t->node))
		return false;
	return turn_send(t, t->node, NFSPROC3_READ, &args, len + CONFIRM_BYTES);
}

bool turn_has_first(const struct turn *t)
{
	const struct wish *w = t->wish;
	uint64_t left = t->node->size;
	uint32_t len = first_bytes(t);

	if (w->count > 0) {
		left = w->offset < left ? left - w->offset : 0;
		len = left < w->count ? (uint32_t)left : w->count;
	}
	return have(t, w->offset, len) == len;
}

static size_t one_extent(
    struct predictor_extent *ext, uint64_t offset, uint64_t len)
{
	*ext = (struct predictor_extent){.offset_bytes = offset,
	    .length_bytes = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX,
	    .count = 1};
	return 1;
}

/* The parts of the file that are wanted beyond the first bytes. A session has
 * the time for all that was read, where there is no pattern in that. */
static size_t extents(const struct turn *t, struct predictor_extent *ext)
{
	const struct wish *w = t->wish;
	uint64_t first = first_bytes(t);

	if (w->count > 0)
		return one_extent(ext, w->offset, w->count);
	if (t->k.policy->prefetch != CONFIG_PREFETCH_ON)
		return 0;
	if (w->needs & PREDICTOR_NEEDS_EXTENTS)
		return predictor_extents(
		    t->g->predictor, w->object, ext, EXTENTS);
	if (wish_is_of_session(w))
		return w->read_bytes > first
			   ? one_extent(ext, first, w->read_bytes - first)
			   : 0;
	/* Nobody has read it yet: as files of its kind are read. */
	if (w->first_bytes == 0 && t->node->size > first &&
	    sources_rest(
		t->s->sources, t->w, t->node->size, t->node->size - first))
		return one_extent(ext, first, t->node->size - first);
	return 0;
}

/* How much of a piece need not be asked of the server: it is there, or comes.
 */
static uint32_t had(struct turn *t, uint64_t offset, uint32_t len)
{
	uint32_t n = have(t, offset, len);

	return n ? n : coming(t, offset, len);
}

/* Ask for a piece; false where the want stops here for now. */
static bool ask_piece(struct turn *t, const struct piece *p)
{
	switch (ask_farm(t, p)) {
	case FARM_ASKED:
		/* It would not come back to a call that it cannot watch. */
		return want_watched(t->w) < WANT_WATCHES;
	case FARM_BUSY:
		turn_ends(t, TURN_BLOCKED);
		*t->wait_us = FARM_BUSY_US;
		return false;
	default:
		return read_piece(t, p->offset, p->len);
	}
}

/* Ask for all pieces that there is room for; false where some are left. */
static bool read_pieces(struct turn *t)
{
	struct predictor_extent ext[EXTENTS];
	size_t n = extents(t, ext);
	struct piece p;
	uint32_t there;
	unsigned looks = 0;

	while (next_piece(t, ext, n, &p)) {
		/* Of a large file that is cached, many pieces pass. */
		if (looks++ == PIECES_MAX) {
			t->passes = true;
			turn_ends(t, TURN_GOES_ON);
			return false;
		}
		there = had(t, p.offset, p.len);
		if (there == 0 && !ask_piece(t, &p))
			return false;
		t->at->into += there ? there : p.len;
		/* The first bytes of other files go before the rest of this. */
		if (t->wish->count == 0 && t->at->extent > 0 &&
		    !want_is_tail(t->w) && want_begins_tail(t->w)) {
			turn_ends(t, TURN_GOES_ON);
			return false;
		}
	}
	return true;
}

bool turn_read(struct turn *t)
{
	bool all = read_pieces(t);

	if (!t->farmed)
		return all;
	t->at->extent = t->back.extent;
	t->at->repeat = t->back.repeat;
	t->at->into = t->back.into;
	return false;
}

bool turn_wants_data(const struct turn *t)
{
	enum config_prefetch mode = t->wish->count > 0
					? CONFIG_PREFETCH_ON
					: CONFIG_PREFETCH_FIRST_BLOCK;

	return (t->wish->needs & PREDICTOR_NEEDS_DATA) && t->c->data &&
	       !(wish_is_of_session(t->wish) &&
		   sources_session_spent(t->s->sources, t->wish->cred)) &&
	       t->k.policy->prefetch >= mode && (t->node->flags & NODE_ATTRS) &&
	       attrcache_type(t->c->attr, t->node) == NF3REG;
}
