/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout pass, phase by phase; datacache_layout.h says what it is for.
 *
 * Extents are moved as eviction moves them: the writer appends them to another
 * segment, until that is done they are served from where they were, and if it
 * fails they stay there. When the new entry is on disk the old one is
 * overwritten, so that the data cannot come back after it was dropped. A kill
 * between the two leaves both entries; datacache_load.c then forgets the older
 * one. A segment that has become empty is given up at once.
 *
 * The order of use is not kept over a restart. The segments that were laid out
 * are in that order; a run that was not laid out in time is noted again when
 * it is repeated.
 */
#include "datacache/datacache_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"

enum { MEMORY_SHARE = 16, MOVING_MAX = 2 * BATCH_MAX };

/* Count the read of an extent that is on disk; whether it is sequential. */
static bool sequence_read(struct sequence *s, const struct extent *x)
{
	bool next = s->end > 0 && x->owner == s->segment && x->pos >= s->end &&
		    x->pos - s->end <= LAYOUT_GAP;

	s->segment = x->owner;
	s->end = (uint64_t)x->pos + x->len;
	s->sum.bytes += x->len;
	if (next)
		s->sum.sequential_bytes += x->len;
	else
		s->sum.runs++;
	return next;
}

/* ---- use -------------------------------------------------------------- */

static uint64_t use_number(struct datacache *dc)
{
	if (dc->run_new)
		memset(&dc->run, 0, sizeof(dc->run));
	dc->run_new = false;
	return dc->use_next++;
}

uint64_t layout_stamp(struct datacache *dc, bool ahead)
{
	return ahead ? 0 : use_number(dc);
}

void layout_use(
    struct datacache *dc, struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	struct extent_cursor c;
	struct extent *x;

	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c)) {
		if (!(x->meta & EXT_FIRM) || extent_order(x) >= dc->run_first)
			continue;
		x->meta = use_number(dc) << 8 | (x->meta & 0xff);
		if (!(x->meta & EXT_PENDING))
			(void)sequence_read(&dc->run, x);
	}
}

void datacache_new_run(struct datacache *dc)
{
	dc->run_first = dc->use_next;
	dc->run_new = true;
}

/* ---- the plan --------------------------------------------------------- */

static uint32_t plan_room(const struct datacache *dc)
{
	uint64_t bytes = dc->memory_max_bytes, used = dc->st.memory_bytes;
	uint64_t room = bytes > used ? bytes - used : 0;

	if (room > bytes / MEMORY_SHARE)
		room = bytes / MEMORY_SHARE;
	room /= sizeof(struct layout_item);
	return room < LAYOUT_MAX ? (uint32_t)room : LAYOUT_MAX;
}

int datacache_layout_begin(struct datacache *dc, bool force)
{
	struct layout *ly = &dc->layout;
	uint64_t n = dc->use_next - 1;

	if (ly->phase != LAYOUT_NONE)
		return -EALREADY;
	if (dc->off)
		return -ENODEV;
	if (ly->broken && !force)
		return -ENOSPC;
	if (n == 0 || (dc->use_next == ly->examined_next && !force))
		return -ENODATA;
	if (n > plan_room(dc))
		n = plan_room(dc);
	ly->plan =
	    n > 0 ? dc_realloc(dc, NULL, 0, n * sizeof(*ly->plan)) : NULL;
	if (!ly->plan)
		return -ENOMEM;
	memset(ly->plan, 0, n * sizeof(*ly->plan));
	ly->n = (uint32_t)n;
	ly->first = dc->use_next - n;
	ly->use_next = dc->use_next;
	ly->moved_bytes = dc->st.layout_moved_bytes;
	ly->bucket = 0;
	ly->forced = force;
	ly->broken = false;
	ly->end = DATACACHE_LAYOUT_DONE;
	ly->phase = LAYOUT_COLLECT;
	return 0;
}

static void plan_free(struct datacache *dc)
{
	struct layout *ly = &dc->layout;

	if (ly->plan)
		dc_free(dc, ly->plan, ly->n * sizeof(*ly->plan));
	ly->plan = NULL;
	ly->phase = LAYOUT_NONE;
}

static void measure_begin(struct layout *ly, enum layout_phase phase)
{
	memset(&ly->seq, 0, sizeof(ly->seq));
	ly->phase = phase;
	ly->at = ly->run = 0;
	ly->run_bytes = 0;
}

static void collect_file(struct layout *ly, struct file *f)
{
	struct extent_cursor c;
	const struct extent *x;

	for (index_seek(f, 0, &c); (x = cursor_get(&c)); cursor_next(&c)) {
		uint64_t at = extent_order(x) - ly->first;

		if (extent_order(x) < ly->first || at >= ly->n)
			continue;
		ly->plan[at] = (struct layout_item){
		    .key = f->key, .offset = x->offset, .len = x->len};
	}
}

/* Look at some buckets of the index. If it grows meanwhile, files move from a
 * bucket to one at the end, which is still to come. */
static void collect_step(struct datacache *dc)
{
	struct layout *ly = &dc->layout;
	const struct index *ix = &dc->index;
	size_t end = ly->bucket + LAYOUT_CHUNK;

	for (; ly->bucket < ix->level + ix->split; ly->bucket++) {
		if (ly->bucket == end)
			return;
		for (struct file *f = ix->buckets[ly->bucket]; f; f = f->next)
			collect_file(ly, f);
	}
	measure_begin(ly, LAYOUT_BEFORE);
}

/* The extent that an item of the plan is about; NULL: it is gone, or was used
 * again since. */
static struct extent *item_extent(
    struct datacache *dc, uint32_t at, struct file **file)
{
	const struct layout_item *it = &dc->layout.plan[at];
	struct extent_cursor c;
	struct extent *x;

	*file = it->len > 0 ? index_lookup(dc, &it->key) : NULL;
	if (!*file)
		return NULL;
	index_seek(*file, it->offset, &c);
	x = cursor_get(&c);
	if (!x || x->offset != it->offset || x->len != it->len ||
	    (x->meta & EXT_PENDING) || extent_order(x) != dc->layout.first + at)
		return NULL;
	return x;
}

/* ---- measuring -------------------------------------------------------- */

/* A stretch of the plan ends before item `end`. If it is long, a seek before it
 * is cheaper than to rewrite it. */
static void run_end(struct datacache *dc, uint32_t end)
{
	struct layout *ly = &dc->layout;

	/* No stretch is longer than a segment, so a quarter of one is long. */
	if (ly->run_bytes < (uint64_t)LAYOUT_RUN_SHARE * ly->run_first_bytes &&
	    ly->run_bytes < dc->seg_bytes / 4)
		return;
	for (uint32_t i = ly->run; i < end; i++)
		ly->plan[i].in_long_run = true;
}

/* Measure some items; false: there are more. */
static bool measure_step(struct datacache *dc)
{
	struct layout *ly = &dc->layout;
	uint32_t end =
	    ly->n - ly->at < LAYOUT_CHUNK ? ly->n : ly->at + LAYOUT_CHUNK;
	const struct extent *x;
	struct file *f;

	for (; ly->at < end; ly->at++) {
		x = item_extent(dc, ly->at, &f);
		if (!x)
			continue;
		if (!sequence_read(&ly->seq, x)) {
			run_end(dc, ly->at);
			ly->run = ly->at;
			ly->run_first_bytes = x->len;
			ly->run_bytes = 0;
		}
		ly->run_bytes += x->len;
	}
	if (ly->at < ly->n)
		return false;
	run_end(dc, ly->n);
	return true;
}

static void pass_end(struct datacache *dc)
{
	struct layout *ly = &dc->layout;

	dc->st.layout_end = ly->end;
	dc->st.layout_passes += dc->st.layout_moved_bytes > ly->moved_bytes;
	ly->examined_next = ly->use_next;
	plan_free(dc);
}

static void before_step(struct datacache *dc)
{
	struct layout *ly = &dc->layout;
	const struct datacache_sequence *sum = &ly->seq.sum;

	if (!measure_step(dc))
		return;
	dc->st.layout_before = dc->st.layout_after = *sum;
	ly->at = 0;
	ly->phase = LAYOUT_MOVE;
	if (ly->forced || sum->sequential_bytes < sum->bytes / 10 * 9)
		return;
	ly->end = DATACACHE_LAYOUT_GOOD;
	pass_end(dc);
}

static void after_step(struct datacache *dc)
{
	if (!measure_step(dc))
		return;
	dc->st.layout_after = dc->layout.seq.sum;
	pass_end(dc);
}

/* ---- moving ----------------------------------------------------------- */

static bool extent_move(
    struct datacache *dc, const struct file *f, struct extent *x)
{
	struct segment *seg = dc->segs[x->owner];
	struct pend *p;

	if (seg == dc->evict.victim || seg->doomed || !(x->meta & EXT_VERIFIED))
		return false;
	p = pend_move(dc, f, x);
	if (!p)
		return false;
	p->by_layout = true;
	seg->layout_moves++;
	dc->layout.moving++;
	pend_queue(dc, p);
	return true;
}

/* Queue moves in the order of the plan, which the writer keeps. */
static uint64_t move_step(struct datacache *dc, uint64_t bytes)
{
	struct layout *ly = &dc->layout;
	uint32_t end =
	    ly->n - ly->at < LAYOUT_CHUNK ? ly->n : ly->at + LAYOUT_CHUNK;
	uint64_t moved = 0;
	struct extent *x;
	struct file *f;

	for (; ly->at < end && moved < bytes && ly->moving < MOVING_MAX;
	     ly->at++) {
		x = ly->plan[ly->at].in_long_run ? NULL
						 : item_extent(dc, ly->at, &f);
		if (x && extent_move(dc, f, x))
			moved += ly->plan[ly->at].len;
	}
	if (ly->at == ly->n)
		ly->phase = LAYOUT_LAND;
	writer_kick(&dc->writers[SEGMENT_PINNED]);
	writer_kick(&dc->writers[SEGMENT_LAYOUT]);
	return moved;
}

void layout_moved(struct datacache *dc, struct segment *src)
{
	dc->layout.moving--;
	src->layout_moves--;
	if (!src->dead && !dc->closing && src->live_extents == 0 &&
	    src != dc->evict.victim && segment_is_still(src))
		segment_retire(src);
}

/* No more is moved: what is not being written yet stays where it is. */
static void moves_end(struct datacache *dc, enum datacache_layout_end why)
{
	struct layout *ly = &dc->layout;

	if (ly->phase == LAYOUT_MOVE || ly->phase == LAYOUT_LAND) {
		ly->end = why;
		ly->phase = LAYOUT_LAND;
	}
	writer_discard_layout(&dc->writers[SEGMENT_LAYOUT]);
	writer_discard_layout(&dc->writers[SEGMENT_PINNED]);
}

void layout_failed(struct datacache *dc, struct segment *seg, int err)
{
	log_warn("datacache server=%s: reordering ends: %s", dc->server,
	    strerror(-err));
	dc->layout.broken = true;
	if (seg && !seg->dead && seg->live_extents == 0 &&
	    segment_is_still(seg))
		segment_retire(seg);
	moves_end(dc, DATACACHE_LAYOUT_DISK);
}

static bool waits_for_room(const struct writer *w)
{
	const struct pend *p = TAILQ_FIRST(&w->moves);

	return w->waiting && !w->preparing && p && p->by_layout;
}

void layout_check_room(struct datacache *dc)
{
	if ((waits_for_room(&dc->writers[SEGMENT_LAYOUT]) ||
		waits_for_room(&dc->writers[SEGMENT_PINNED])) &&
	    !evict_has_spare_room(dc))
		moves_end(dc, DATACACHE_LAYOUT_ROOM);
}

/* ---- a pass ----------------------------------------------------------- */

uint64_t datacache_layout_step(struct datacache *dc, uint64_t bytes)
{
	struct layout *ly = &dc->layout;

	switch (ly->phase) {
	case LAYOUT_NONE:
		break;
	case LAYOUT_COLLECT:
		collect_step(dc);
		break;
	case LAYOUT_BEFORE:
		before_step(dc);
		break;
	case LAYOUT_MOVE:
		return move_step(dc, bytes);
	case LAYOUT_LAND:
		if (ly->moving == 0)
			measure_begin(ly, LAYOUT_AFTER);
		break;
	case LAYOUT_AFTER:
		after_step(dc);
		break;
	}
	return 0;
}

bool datacache_layout_busy(const struct datacache *dc)
{
	return dc->layout.phase != LAYOUT_NONE;
}

void datacache_layout_stop(struct datacache *dc)
{
	if (dc->layout.phase == LAYOUT_NONE)
		return;
	moves_end(dc, DATACACHE_LAYOUT_STOPPED);
	dc->st.layout_end = DATACACHE_LAYOUT_STOPPED;
	plan_free(dc);
}

bool datacache_disk_idle(const struct datacache *dc)
{
	return dc->request_count == 0 && dc->st.pending_bytes == 0 &&
	       !dc->evict.victim;
}

void layout_init(struct datacache *dc)
{
	dc->use_next = dc->run_first = 1;
}
