/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a file that a want is about: which pieces they are, which of
 * them are cached, and their READs. */
#include "base/uint.h"
#include "config/config.h"
#include "link/linkest.h"
#include "prefetch/ground/worth.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

enum {
	PIECES_MAX = 64, /* in one turn */
	/* Of a file that was never read, however much is read first of others.
	 */
	FIRST_MAX = 131072,
	/* Clients ask from the beginning of a page on, and a READ of which less
	 * than a page is there is sent whole (cached_read.c, svc_join.c). So
	 * the first bytes end with a page. */
	PAGE_BYTES = 4096,
};

/* As many first bytes as are worth asking for at this moment. */
static uint64_t first_now(const struct turn *t)
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
	return (n + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* How many bytes of the file come first. A want keeps the number with which it
 * began, though the READs of other files change it for later wants: its rest
 * begins behind that. */
static uint32_t first_bytes(const struct turn *t)
{
	struct want_place *at = &t->at->place;

	if (at->first_bytes == 0)
		at->first_bytes = first_now(t);
	return (uint32_t)min_u64(at->first_bytes, t->node->size);
}

/* Where the piece of the row begins at which the want stands, or the first one
 * behind that in the file; false where the rest of the row is outside of it. A
 * row may be a stranger's, or the file may have shrunk: however many of its
 * pieces are outside, they are passed at once. */
static bool row_begin(const struct predictor_extent *x, uint64_t size,
    struct want_place *w, uint64_t *begin)
{
	int64_t skip, at;

	if (x->length_bytes == 0 || (w->repeat > 0 && x->stride_bytes == 0))
		return false;
	/* A row that goes backwards may begin behind the end. */
	if (x->stride_bytes < 0 && x->offset_bytes >= size) {
		uint64_t step = 0 - (uint64_t)x->stride_bytes;
		uint64_t first = (x->offset_bytes - size) / step + 1;

		if (first >= x->count)
			return false;
		if (first > w->repeat) {
			w->repeat = (uint32_t)first;
			w->into = 0;
		}
	}
	if (x->offset_bytes > INT64_MAX ||
	    __builtin_mul_overflow(
		x->stride_bytes, (int64_t)w->repeat, &skip) ||
	    __builtin_add_overflow((int64_t)x->offset_bytes, skip, &at) ||
	    at < 0 || (uint64_t)at >= size)
		return false;
	*begin = (uint64_t)at;
	return true;
}

static void next_row(struct want_place *w)
{
	w->extent++;
	w->repeat = 0;
	w->into = 0;
}

/* Where the want stands, its call will read the next piece; false where there
 * is none. */
static bool next_piece(struct turn *t)
{
	READ3args *read = &t->call.args.read;
	const struct predictor_extent *ext = t->s->extents;
	struct want_place *w = &t->at->place;
	uint64_t unit = linkest_unit_bytes(t->g->link);
	uint64_t begin = 0, end = first_bytes(t);

	/* Of a range, nothing else is wanted. */
	if (t->wish->count > 0 && w->extent == 0)
		w->extent = 1;
	while (w->extent <= t->nextents) {
		if (w->extent > 0) {
			const struct predictor_extent *x = &ext[w->extent - 1];

			if (!row_begin(x, t->node->size, w, &begin)) {
				next_row(w);
				continue;
			}
			end = begin + x->length_bytes;
		}
		if (end > t->node->size)
			end = t->node->size;
		if (begin + w->into < end) {
			read->offset = begin + w->into;
			t->call.left_bytes = end - read->offset;
			read->count =
			    (uint32_t)min_u64(t->call.left_bytes, unit);
			return true;
		}
		w->into = 0;
		w->repeat++;
		if (w->extent == 0 || w->repeat >= ext[w->extent - 1].count)
			next_row(w);
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
	    .cred = t->cred,
	    .from = offset,
	    .to = offset + len};

	return (uint32_t)(fetch_under_way_to(t->g->fetch, &a) - offset);
}

/* Whether all that is to be asked for first is cached. */
static bool has_first(const struct turn *t)
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

/* Whether bytes of the file are wanted, and may be had. */
static bool wants_data(const struct turn *t)
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

/* Whether keeping so many bytes takes this machine longer than the time that it
 * would spare. A farm may have them sooner than the server. */
static bool is_near(const struct turn *t, uint32_t bytes)
{
	return !wish_is_asked(t->wish) && !t->g->farm &&
	       !worth_bytes(t->g, (double)t->wish->data_p, bytes);
}

bool turn_data(struct turn *t)
{
	if (!wants_data(t))
		return false;
	/* The cached data may be of an older version: the confirmation that is
	 * under way will say so. */
	if (!t->fresh && want_watched(t->w) > 0 && has_first(t))
		return false;
	t->nextents = extents(t, t->s->extents);
	return true;
}

/* The last piece is there, or asked for. False where the first bytes of other
 * files go before the rest of this. */
static bool pass_piece(struct turn *t)
{
	struct want_place *at = &t->at->place;

	at->into += t->piece_bytes;
	return t->piece_bytes == 0 || t->wish->count > 0 || at->extent == 0 ||
	       want_is_tail(t->w) || !want_begins_tail(t->w);
}

/* The READ of the next piece that is neither there nor on its way. */
bool turn_read(struct turn *t)
{
	struct turn_call *call = &t->call;
	READ3args *read = &call->args.read;

	while (pass_piece(t)) {
		if (!next_piece(t))
			return false;
		/* Of a large file that is cached, many pieces pass. */
		t->passes = t->looks++ == PIECES_MAX;
		if (t->passes)
			break;
		t->piece_bytes = had(t, read->offset, read->count);
		if (t->piece_bytes > 0)
			continue;
		t->near = is_near(t, read->count);
		if (t->near)
			return false;
		t->piece_bytes = read->count;
		read->file = node_fh(t->node);
		call->node = t->node;
		call->proc = NFSPROC3_READ;
		call->awaited = false;
		call->missing = true;
		call->bytes = read->count + CONFIRM_BYTES;
		t->stage--;
		return true;
	}
	return turn_ends(t, TURN_GOES_ON);
}
