/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extents and those who own their bytes: a segment, or a pend that is on its
 * way to one. Whoever puts an extent into the index or takes (a part of) one
 * out does it here, where its owner counts it, and a tombstone voids what is on
 * disk of it.
 */
#include "datacache/datacache_index.h"

#include <assert.h>
#include <string.h>

#include <xxhash.h>

#include "datacache/datacache_write.h"

void version_hash(const struct data_version *v, uint64_t hash[2])
{
	XXH128_hash_t h;

	_Static_assert(sizeof(*v) == 40, "padding would be hashed");
	h = XXH3_128bits(v, sizeof(*v));
	hash[0] = h.low64;
	hash[1] = h.high64;
}

bool version_is(const struct file *f, const struct data_version *v)
{
	uint64_t hash[2];

	version_hash(v, hash);
	return f->version[0] == hash[0] && f->version[1] == hash[1];
}

struct file *file_of_version(struct datacache *dc, const struct data_key *key,
    const struct data_version *version)
{
	struct file *f = index_lookup(dc, key);

	if (!f || version_is(f, version))
		return f;
	index_carve(dc, f, 0, UINT64_MAX, false);
	index_tidy(dc, f);
	return NULL;
}

struct extent_place extent_place(
    const struct datacache *dc, const struct extent *x)
{
	struct segment *seg;
	struct pend *p;

	if (x->meta & EXT_PENDING) {
		p = pend_by_id(dc, x->owner);
		return (struct extent_place){
		    p->data + x->pos, p->hold, p->src, p->src_slot};
	}
	seg = segment_by_id(dc, x->owner);
	return (struct extent_place){
	    seg->rb.data + x->pos, &seg->rb, seg, x->slot};
}

bool extent_is_of(const struct extent *x, uint32_t owner, uint32_t slot)
{
	return !(x->meta & EXT_PENDING) && x->owner == owner && x->slot == slot;
}

/* The live data of its segment or pend grew or shrank by these. */
static void extent_account(struct datacache *dc, const struct extent *x,
    int64_t bytes, int64_t extents)
{
	dc->st.live_bytes += (uint64_t)bytes;
	dc->st.extents += (uint64_t)extents;
	if (x->meta & EXT_PINNED)
		dc->st.pinned_bytes += (uint64_t)bytes;
	if (x->meta & EXT_PENDING) {
		pend_by_id(dc, x->owner)->live_bytes += (uint64_t)bytes;
		return;
	}
	segment_account(segment_by_id(dc, x->owner), x, bytes, extents);
}

bool index_insert(struct datacache *dc, struct file *f, const struct extent *x)
{
	if (!index_put(dc, f, x))
		return false;
	extent_account(dc, x, x->len, 1);
	return true;
}

void index_remove(struct datacache *dc, struct extent_cursor *c)
{
	const struct extent *x = cursor_get(c);

	extent_account(dc, x, -(int64_t)x->len, -1);
	index_take(dc, c);
}

/*
 * An extent, or a part of it, is removed. `kill`: it gets a tombstone in the
 * index of its segment, so that data and tombstone are evicted together.
 */
static void extent_lost(struct datacache *dc, const struct file *f,
    const struct extent *x, uint64_t offset, uint64_t len, bool kill)
{
	struct pend *p;

	if (!(x->meta & EXT_PENDING)) {
		if (kill && (x->meta & EXT_FIRM))
			tomb_add(dc, segment_by_id(dc, x->owner), &f->key,
			    offset, len);
		return;
	}
	p = pend_by_id(dc, x->owner);
	if (p->busy && kill && (p->flags & EXT_FIRM))
		tomb_add(dc, p->seg, &f->key, offset, len);
	if (!p->busy && kill)
		p->flags &= ~(unsigned)EXT_FIRM;
	/* Data that is being moved is on disk in its old segment, too. */
	if (p->src && kill && (p->flags & EXT_FIRM || !p->busy))
		tomb_add(dc, p->src, &f->key, offset, len);
	if (p->live_bytes == 0 && !p->busy)
		pend_free(dc, p);
}

/* Cut [offset, end) out of the extent at the cursor: all of it, one end, or its
 * middle, which leaves two extents. */
static void extent_carve(struct datacache *dc, struct extent_cursor *c,
    uint64_t offset, uint64_t end, bool kill)
{
	struct extent *x = cursor_get(c), old = *x, tail = *x;
	uint64_t lo = offset > x->offset ? offset : x->offset;
	uint64_t hi = end < extent_end(x) ? end : extent_end(x);
	uint32_t shift = (uint32_t)(hi - x->offset);

	tail.offset += shift;
	tail.pos += shift;
	tail.len -= shift;
	if (lo > x->offset) {
		x->len = (uint32_t)(lo - x->offset);
		extent_account(dc, &old, (int64_t)x->len - (int64_t)old.len, 0);
		if (tail.len > 0)
			index_insert(dc, c->file, &tail);
		/* The insertion may have split the leaf. */
		index_seek(c->file, lo, c);
	} else if (tail.len > 0) {
		*x = tail;
		extent_account(
		    dc, &old, (int64_t)tail.len - (int64_t)old.len, 0);
	} else {
		index_remove(dc, c);
	}
	extent_lost(dc, c->file, &old, lo, hi - lo, kill);
	if (old.meta & EXT_PINNED)
		pin_lost(dc, &c->file->key);
}

void index_carve(struct datacache *dc, struct file *f, uint64_t offset,
    uint64_t end, bool kill)
{
	struct extent_cursor c;
	struct extent *x;

	index_seek(f, offset, &c);
	while ((x = cursor_get(&c)) && x->offset < end)
		extent_carve(dc, &c, offset, end, kill);
}

void index_carve_loose(
    struct datacache *dc, struct file *f, uint64_t offset, uint64_t end)
{
	struct extent_cursor c;
	struct extent *x;

	index_seek(f, offset, &c);
	while ((x = cursor_get(&c)) && x->offset < end) {
		if (x->meta & EXT_FIRM)
			cursor_next(&c);
		else
			extent_carve(dc, &c, offset, end, true);
	}
}

void index_judge(struct datacache *dc, const struct data_key *key,
    uint64_t offset, uint32_t len, const struct segment *seg, uint32_t slot,
    bool sound)
{
	struct file *f = index_lookup(dc, key);
	struct extent_place place;
	struct extent_cursor c;
	struct extent *x;

	if (!f)
		return;
	index_seek(f, offset, &c);
	while ((x = cursor_get(&c)) && x->offset < offset + len) {
		uint64_t from = x->offset, to = extent_end(x);

		place = extent_place(dc, x);
		if (place.seg != seg || place.slot != slot) {
			cursor_next(&c);
		} else if (sound) {
			dc->st.verified_extents += !(x->meta & EXT_VERIFIED);
			x->meta |= EXT_VERIFIED;
			cursor_next(&c);
		} else {
			dc->st.bad_extents++;
			index_carve(dc, f, from, to, true);
			index_seek(f, to, &c);
		}
	}
	index_tidy(dc, f);
}

struct segment_drop {
	struct datacache *dc;
	const struct segment *seg;
	bool kill;
};

static void file_drop_segment(void *ctx, struct file *f)
{
	const struct segment_drop *d = ctx;
	struct extent_cursor c;
	struct extent *x;

	index_seek(f, 0, &c);
	while ((x = cursor_get(&c))) {
		if ((x->meta & EXT_PENDING) || x->owner != d->seg->id) {
			cursor_next(&c);
			continue;
		}
		extent_carve(d->dc, &c, x->offset, extent_end(x), d->kill);
	}
	index_tidy(d->dc, f);
}

void index_drop_segment(struct datacache *dc, struct segment *seg, bool kill)
{
	struct segment_drop d = {dc, seg, kill};
	size_t bucket = 0;

	while (seg->live_extents > 0 &&
	       index_walk(dc, &bucket, 1, file_drop_segment, &d))
		;
	assert(seg->live_extents == 0);
}

void datacache_cut(struct datacache *dc, const struct data_key *key,
    uint64_t offset, uint64_t len)
{
	struct file *f = index_lookup(dc, key);
	uint64_t end = len > UINT64_MAX - offset ? UINT64_MAX : offset + len;

	if (!f || len == 0)
		return;
	index_carve(dc, f, offset, end, true);
	index_tidy(dc, f);
}

/*
 * The extent is not firm any more, nor of the version that its entry on disk
 * says. If the new version is another one, that entry is not found by it; if it
 * is the same (`same`), the entry needs a tombstone.
 */
static void extent_loosen(struct datacache *dc, const struct file *f,
    struct extent *x, bool same, const uint64_t version[2])
{
	struct pend *p =
	    x->meta & EXT_PENDING ? pend_by_id(dc, x->owner) : NULL;
	struct segment *seg = p ? p->seg : segment_by_id(dc, x->owner);

	if (p && !p->busy) {
		memcpy(p->version, version, sizeof(p->version));
		p->flags &= ~(unsigned)EXT_FIRM;
	}
	if (!same || !(x->meta & EXT_FIRM))
		return;
	if (p && p->src)
		tomb_add(dc, p->src, &f->key, x->offset, x->len);
	if (!p || p->busy)
		tomb_add(dc, seg, &f->key, x->offset, x->len);
}

void datacache_rebind(struct datacache *dc, const struct data_key *key,
    const struct data_version *from, const struct data_version *to,
    uint64_t sent_us)
{
	struct file *f = file_of_version(dc, key, from);
	uint64_t version[2];
	struct extent_cursor c;
	struct extent *x;
	bool same;

	if (!f)
		return;
	version_hash(to, version);
	same = memcmp(version, f->version, sizeof(version)) == 0;
	for (index_seek(f, 0, &c); (x = cursor_get(&c));) {
		uint64_t end = x->offset + x->len;

		/* Data that is not firm may be of neither version. */
		if (!(x->meta & EXT_FIRM)) {
			index_carve(dc, f, x->offset, end, true);
			index_seek(f, end, &c);
			continue;
		}
		extent_loosen(dc, f, x, same, version);
		x->meta =
		    sent_us << 8 | (x->meta & (0xff ^ EXT_FIRM)) | EXT_WAS_FIRM;
		cursor_next(&c);
	}
	memcpy(f->version, version, sizeof(version));
	index_tidy(dc, f);
}
