/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Eviction makes room on disk, and in memory for the index. It gives up whole
 * segments, the oldest first. Data that was used since it was written is moved
 * on to the segment that is being filled, without its mark of use. That is the
 * CLOCK algorithm, with a segment for each step of the hand. So a scan, which
 * uses its data once at most, pushes out only what nobody has used.
 *
 * Room for one segment is made before it is needed. Moved data must fit into
 * the open segment, so that no move waits for the room that it makes. In the
 * long run half of what is given up is not moved (`credit_bytes`), so that
 * eviction gains room.
 *
 * A segment of which more than three quarters are pinned is kept. From others
 * all pinned data is moved to segments for pinned data, and room for one of
 * these is kept ready. Since at most half of the cache is pinned, a full cache
 * always has a segment that may be given up. Pinned data is copied when the
 * room beside it is wanted, and again only when a quarter of the segment that
 * it was copied to was dropped, changed or unpinned. If it cannot be moved
 * since the disk is full, it and its segment stay.
 */
#include "datacache/datacache_write.h"

#include <stdlib.h>

#include "base/uint.h"
#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_layout.h"

enum {
	EVICT_CHUNK = 1024,  /* index entries looked at in one turn */
	EVICT_CREDIT = 8,    /* segments' worth that it may move on */
	PREFETCH_SHARE = 16, /* of the cache for what nobody has used yet */
};

/* Eviction of one segment at a time; its job reads the victim's index. */
struct evict {
	struct iopool_job job;
	struct datacache *dc;
	struct segment *victim; /* NULL: none at present */
	bool reading;           /* the job runs */
	uint32_t slot, n;
	int err;
	unsigned moving;       /* pends whose source is the victim */
	uint64_t credit_bytes; /* what may be moved on for now */
	struct seg_entry *entries;
};

const struct segment *evict_victim(const struct datacache *dc)
{
	return dc->evict->victim;
}

bool evict_is_reading(const struct datacache *dc)
{
	return dc->evict->reading;
}

static uint64_t limit_bytes(const struct datacache *dc)
{
	return dc->cap_bytes < dc->size_bytes ? dc->cap_bytes : dc->size_bytes;
}

/* Room for one segment (and one for pinned data), and for the growth of the
 * indexes of those that are being filled. */
static uint64_t need_bytes(const struct datacache *dc)
{
	uint64_t segments = pin_any(dc) ? 2 : 1;

	/* See evict_has_spare_room() for the segment of the layout pass. */
	return segments * dc->seg_bytes +
	       SEGMENT_KINDS * (uint64_t)dc->seg_bytes / SEGMENT_IDX_SHARE;
}

bool evict_has_room(const struct datacache *dc)
{
	return dc->st.disk_bytes + need_bytes(dc) <= limit_bytes(dc);
}

bool evict_has_spare_room(const struct datacache *dc)
{
	return evict_has_room(dc) && !dc->evict->victim && !dc->full &&
	       !dc->off &&
	       dc->st.disk_bytes + need_bytes(dc) + dc->seg_bytes +
		       dc->seg_bytes / SEGMENT_IDX_SHARE <=
		   limit_bytes(dc);
}

static bool memory_wanted(const struct datacache *dc)
{
	return dc->st.memory_bytes > dc->memory_max_bytes;
}

bool evict_memory_full(const struct datacache *dc)
{
	return dc->st.memory_bytes - dc->st.memory_bytes / 8 >
	       dc->memory_max_bytes;
}

/* Segments that are being unlinked count as gone. Unlinked ones that slow
 * clients still hold do not, unless they are more than a quarter of the cache:
 * then evicting more would empty it for the sake of these clients. */
static bool disk_wanted(const struct datacache *dc)
{
	uint64_t used = dc->st.disk_bytes - dc->dying_bytes;

	if (dc->held_bytes > limit_bytes(dc) / 4)
		used -= dc->held_bytes;
	return used + need_bytes(dc) > limit_bytes(dc);
}

/* Whether it may be given up in spite of its pinned data. Of a sealed segment
 * only what was written counts, as the space behind it was given back. */
static bool may_go(const struct segment *seg)
{
	uint64_t bytes = segment_is_still(seg) ? seg->used : seg->bytes;

	return seg->pinned_bytes == 0 ||
	       (4 * seg->pinned_bytes <= 3 * bytes && !seg->dc->full);
}

static bool is_sealed(const struct segment *seg)
{
	return segment_is_still(seg) && may_go(seg);
}

/* There is nothing in it, or nothing that would survive. */
static bool is_empty(const struct segment *seg)
{
	return segment_is_still(seg) &&
	       (seg->live_extents == 0 || (seg->doomed && may_go(seg)));
}

static struct segment *pick_empty(struct datacache *dc)
{
	struct segment *seg = NULL;

	for (enum segment_kind k = 0; !seg && k < SEGMENT_KINDS; k++)
		seg = segment_oldest(dc, k, is_empty);
	return seg;
}

/* All segments are being filled: take one of these, if nobody writes to it. */
static struct segment *pick_open(struct datacache *dc)
{
	for (enum segment_kind k = 0; k < SEGMENT_KINDS; k++) {
		struct segment *seg = writer_idle_segment(dc, k);

		/* An empty segment is about to be filled. */
		if (seg && seg->used > 0 && seg->layout_moves == 0 &&
		    may_go(seg) &&
		    (k != SEGMENT_PINNED || seg->pinned_bytes == 0)) {
			segment_seal(seg);
			return seg;
		}
	}
	return NULL;
}

static struct segment *pick(struct datacache *dc)
{
	struct segment *demand = segment_oldest(dc, SEGMENT_DEMAND, is_sealed);
	struct segment *laid = segment_oldest(dc, SEGMENT_LAYOUT, is_sealed);
	struct segment *ahead = segment_oldest(dc, SEGMENT_PREFETCH, is_sealed);
	struct segment *seg = pick_empty(dc);

	if (!demand || (laid && laid->number < demand->number))
		demand = laid;

	/* Next, data that was unpinned, or of which most is gone. */
	if (!seg)
		seg = segment_oldest(dc, SEGMENT_PINNED, is_sealed);
	if (seg)
		return seg;
	if (!demand && !ahead)
		return disk_wanted(dc) || evict_memory_full(dc) ? pick_open(dc)
								: NULL;
	if (!demand || !ahead)
		return demand ? demand : ahead;
	/* Prefetched data goes first, but a sixteenth of the cache is left to
	 * it, or none would last until it is wanted. */
	if (segments_bytes(dc, SEGMENT_PREFETCH) >
	    limit_bytes(dc) / PREFETCH_SHARE)
		return ahead;
	return ahead->number < demand->number ? ahead : demand;
}

static void victim_end(struct datacache *dc)
{
	struct evict *ev = dc->evict;
	struct segment *seg = ev->victim;

	if (ev->reading || ev->moving > 0)
		return;
	ev->victim = NULL;
	/* If pinned data had to stay in it, so does the segment. */
	if (!seg->dead && seg->live_extents == 0)
		segment_retire(seg);
	rbuf_unref(&seg->rb);
}

void evict_moved(struct datacache *dc)
{
	dc->evict->moving--;
	victim_end(dc);
}

/* Bytes that may still be moved on from the victim. The space of a segment that
 * is being made counts already: on a slow disk it comes late, and data in use
 * must not be evicted for that. */
static uint64_t move_budget(const struct datacache *dc)
{
	if (dc->st.disk_bytes > limit_bytes(dc))
		return 0;
	return min_u64(
	    writer_room_bytes(dc, SEGMENT_DEMAND), dc->evict->credit_bytes);
}

static bool extent_move(struct datacache *dc, const struct file *f,
    struct extent *x, const struct seg_entry *e)
{
	if (!pend_move(dc, f, x, e))
		return false;
	x->meta &= ~(uint64_t)EXT_USED;
	dc->evict->moving++;
	if (!(x->meta & EXT_PINNED))
		dc->evict->credit_bytes -= x->len;
	dc->st.kept_bytes += x->len;
	return true;
}

static void extent_evict(struct datacache *dc, struct extent_cursor *c)
{
	const struct extent *x = cursor_get(c);

	dc->st.evicted_extents++;
	dc->st.evicted_bytes += x->len;
	if (x->meta & EXT_PREFETCHED)
		dc->st.unused_bytes += x->len;
	index_remove(dc, c);
}

/* Move on or remove what of an entry can still be found. */
static void evict_entry(struct datacache *dc, const struct seg_entry *e,
    uint32_t slot, uint64_t *budget)
{
	const struct segment *seg = dc->evict->victim;
	struct file *f = index_lookup(dc, &e->key);
	uint64_t end = e->offset + entry_len(e);
	struct extent_cursor c;
	struct extent *x;

	if (!f)
		return;
	index_seek(f, e->offset, &c);
	while ((x = cursor_get(&c)) && x->offset < end) {
		bool pinned = x->meta & EXT_PINNED;
		uint32_t len = pinned ? 0 : x->len;

		if (!extent_is_of(x, seg->id, slot)) {
			cursor_next(&c);
		} else if ((pinned || (x->meta & EXT_USED)) && len <= *budget &&
			   extent_move(dc, f, x, e)) {
			*budget -= len;
			cursor_next(&c);
		} else {
			extent_evict(dc, &c);
		}
	}
	index_tidy(dc, f);
}

static void evict_run(struct iopool_job *job)
{
	struct evict *ev = (struct evict *)job;

	ev->err =
	    segment_read_entries(ev->victim, ev->slot, ev->entries, ev->n);
}

static void evict_read_on(struct datacache *dc)
{
	struct evict *ev = dc->evict;

	ev->n = ev->victim->slots - ev->slot;
	if (ev->n > EVICT_CHUNK)
		ev->n = EVICT_CHUNK;
	ev->reading = true;
	iopool_submit(dc->pool, &ev->job);
}

static void evict_on_read(struct iopool_job *job)
{
	struct evict *ev = (struct evict *)job;
	struct datacache *dc = ev->dc;
	struct segment *seg = ev->victim;
	uint64_t budget = move_budget(dc);

	ev->reading = false;
	for (uint32_t i = 0; !seg->dead && ev->err == 0 && i < ev->n; i++) {
		const struct seg_entry *e = &ev->entries[i];

		if (entry_is_sound(e, dc->id) && (entry_kind(e) & ENTRY_DATA))
			evict_entry(dc, e, ev->slot + i, &budget);
	}
	ev->slot += ev->n;
	if (!seg->dead && ev->err == 0 && ev->slot < seg->slots) {
		evict_read_on(dc);
	} else {
		/* Remove what is left: entries that could not be read, or
		 * were never written. */
		if (!seg->dead && !(dc->full && seg->pinned_bytes > 0))
			index_drop_segment(dc, seg, false);
		victim_end(dc);
	}
	writer_kick(dc, SEGMENT_PINNED);
	writer_kick(dc, SEGMENT_DEMAND);
	evict_kick(dc);
}

static void evict_start(struct datacache *dc, struct segment *seg)
{
	struct evict *ev = dc->evict;
	uint64_t most = (uint64_t)EVICT_CREDIT * dc->seg_bytes;

	ev->credit_bytes += seg->bytes / 2;
	if (ev->credit_bytes > most)
		ev->credit_bytes = most;
	ev->victim = seg;
	ev->slot = 1;
	rbuf_ref(&seg->rb);
	if (!ev->entries)
		ev->entries =
		    dc_realloc(dc, NULL, 0, EVICT_CHUNK * sizeof(*ev->entries));
	if (ev->entries && seg->live_extents > 0) {
		evict_read_on(dc);
		return;
	}
	index_drop_segment(dc, seg, false);
	victim_end(dc);
}

static bool moves_wait(const struct datacache *dc, enum segment_kind kind)
{
	return dc->evict->victim && !dc->evict->reading &&
	       writer_waits(dc, kind) && writer_has_moves(dc, kind);
}

/* End the wait of writers for a segment that will not come. */
static void evict_give_up(struct datacache *dc)
{
	for (enum segment_kind k = 0; k < SEGMENT_KINDS; k++)
		if (moves_wait(dc, k)) {
			writer_discard_moves(dc, k);
			return;
		}
	if (dc->evict->victim || dc->dying_bytes > 0)
		return;
	for (enum segment_kind k = 0; k < SEGMENT_KINDS; k++)
		if (writer_waits(dc, k) && dc->held_bytes == 0)
			writer_give_up(dc, k);
}

/* Whether a writer may have a new segment. Pinned data may even if room is
 * short, since the victim's room is about to be free. */
static bool writer_may_begin(const struct datacache *dc, enum segment_kind kind)
{
	return evict_has_room(dc) ||
	       (kind == SEGMENT_PINNED && writer_has_moves(dc, kind) &&
		   !dc->full);
}

void evict_kick(struct datacache *dc)
{
	struct segment *seg;

	layout_check_room(dc);
	for (enum segment_kind k = 0; k < SEGMENT_KINDS; k++)
		if (writer_waits(dc, k) && !dc->off && writer_may_begin(dc, k))
			writer_prepare(dc, k);
	/* Moved data goes to the segment that is being made: wait for it. */
	while (!dc->evict->victim && !writer_is_preparing(dc, SEGMENT_DEMAND) &&
	       (disk_wanted(dc) || memory_wanted(dc)) && (seg = pick(dc)))
		evict_start(dc, seg);
	if (!evict_has_room(dc))
		evict_give_up(dc);
}

bool evict_init(struct datacache *dc)
{
	struct evict *ev = dc_new(dc, sizeof(*ev));

	dc->evict = ev;
	if (!ev)
		return false;
	ev->job.run = evict_run;
	ev->job.done = evict_on_read;
	ev->dc = dc;
	ev->credit_bytes = (uint64_t)EVICT_CREDIT * dc->seg_bytes;
	return true;
}

void evict_free(struct datacache *dc)
{
	if (dc->evict)
		free(dc->evict->entries);
	free(dc->evict);
}
