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
#include "datacache/datacache_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_request.h"
#include "datacache/datacache_write.h"

enum { MEMORY_SHARE = 16, MOVING_MAX = 2 * BATCH_MAX };

enum {
	LAYOUT_MAX = 1 << 17,   /* extents of a pass: 4 MiB of memory */
	LAYOUT_CHUNK = 1024,    /* files or extents looked at in one step */
	LAYOUT_GAP = 128 << 10, /* Linux reads ahead so far (read_ahead_kb) */
	/* A sequential stretch is left where it is if it is so many times as
	 * long as its first extent: the seek before it costs little then. */
	LAYOUT_RUN_SHARE = 32,
};

/* A measurement, and where the last read that it counted has ended. */
struct sequence {
	uint32_t segment; /* its id */
	uint64_t end;     /* 0: there was none */
	struct datacache_sequence sum;
};

enum layout_phase {
	LAYOUT_NONE,
	LAYOUT_COLLECT,
	LAYOUT_BEFORE,
	LAYOUT_MOVE,
	LAYOUT_LAND,
	LAYOUT_AFTER
};

/* An extent that was used; len is 0 where there is none. */
struct layout_item {
	struct data_key key;
	uint64_t offset;
	uint32_t len;
	bool in_long_run; /* and so not moved */
};

struct layout {
	enum layout_phase phase;
	bool forced;
	bool broken;              /* the disk was full, or failed */
	struct layout_item *plan; /* in the order of use, from `first` on */
	uint64_t first;
	uint32_t n, at; /* items, and the next to be looked at */
	size_t bucket;  /* of the index, the next to be looked at */
	uint32_t run;   /* the item that the present stretch began with */
	uint32_t run_first_bytes;
	uint64_t run_bytes;
	unsigned moving;        /* extents that are on their way */
	uint64_t moved_bytes;   /* of all passes, when this one began */
	uint64_t begun_next;    /* use_next, when this one began */
	uint64_t examined_next; /* use_next, when the last pass that ended had
				   begun */
	struct sequence seq;
	enum datacache_layout_end end;

	uint64_t use_next;    /* the next place in the order of use */
	uint64_t run_first;   /* uses from here on are of the present run */
	bool run_new;         /* nothing was used in it yet */
	struct sequence read; /* how sequentially it reads the disk */
};

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

static uint64_t use_number(struct layout *ly)
{
	if (ly->run_new)
		memset(&ly->read, 0, sizeof(ly->read));
	ly->run_new = false;
	return ly->use_next++;
}

uint64_t layout_stamp(struct datacache *dc, bool ahead)
{
	return ahead ? 0 : use_number(dc->layout);
}

void layout_use(
    struct datacache *dc, struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	struct layout *ly = dc->layout;
	struct extent_cursor c;
	struct extent *x;

	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c)) {
		if (!(x->meta & EXT_FIRM) || extent_order(x) >= ly->run_first)
			continue;
		x->meta = use_number(ly) << 8 | (x->meta & 0xff);
		if (!(x->meta & EXT_PENDING))
			(void)sequence_read(&ly->read, x);
	}
}

struct datacache_sequence layout_run(const struct datacache *dc)
{
	return dc->layout->read.sum;
}

void datacache_new_run(struct datacache *dc)
{
	dc->layout->run_first = dc->layout->use_next;
	dc->layout->run_new = true;
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
	struct layout *ly = dc->layout;
	uint64_t n = ly->use_next - 1;

	if (ly->phase != LAYOUT_NONE)
		return -EALREADY;
	if (dc->off)
		return -ENODEV;
	if (ly->broken && !force)
		return -ENOSPC;
	if (n == 0 || (ly->use_next == ly->examined_next && !force))
		return -ENODATA;
	if (n > plan_room(dc))
		n = plan_room(dc);
	ly->plan = n > 0 ? dc_new(dc, n * sizeof(*ly->plan)) : NULL;
	if (!ly->plan)
		return -ENOMEM;
	ly->n = (uint32_t)n;
	ly->first = ly->use_next - n;
	ly->begun_next = ly->use_next;
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
	struct layout *ly = dc->layout;

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

static void collect_file(void *ctx, struct file *f)
{
	struct layout *ly = ctx;
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

static void collect_step(struct datacache *dc)
{
	struct layout *ly = dc->layout;

	if (!index_walk(dc, &ly->bucket, LAYOUT_CHUNK, collect_file, ly))
		measure_begin(ly, LAYOUT_BEFORE);
}

/* The extent that an item of the plan is about; NULL: it is gone, or was used
 * again since. */
static struct extent *item_extent(
    struct datacache *dc, uint32_t at, struct file **file)
{
	const struct layout_item *it = &dc->layout->plan[at];
	struct extent_cursor c;
	struct extent *x;

	*file = it->len > 0 ? index_lookup(dc, &it->key) : NULL;
	if (!*file)
		return NULL;
	index_seek(*file, it->offset, &c);
	x = cursor_get(&c);
	if (!x || x->offset != it->offset || x->len != it->len ||
	    (x->meta & EXT_PENDING) ||
	    extent_order(x) != dc->layout->first + at)
		return NULL;
	return x;
}

/* ---- measuring -------------------------------------------------------- */

/* A stretch of the plan ends before item `end`. If it is long, a seek before it
 * is cheaper than to rewrite it. */
static void run_end(struct datacache *dc, uint32_t end)
{
	struct layout *ly = dc->layout;

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
	struct layout *ly = dc->layout;
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
	struct layout *ly = dc->layout;

	dc->st.layout_end = ly->end;
	dc->st.layout_passes += dc->st.layout_moved_bytes > ly->moved_bytes;
	ly->examined_next = ly->begun_next;
	plan_free(dc);
}

static void before_step(struct datacache *dc)
{
	struct layout *ly = dc->layout;
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
	dc->st.layout_after = dc->layout->seq.sum;
	pass_end(dc);
}

/* ---- moving ----------------------------------------------------------- */

static bool extent_move(
    struct datacache *dc, const struct file *f, struct extent *x)
{
	struct segment *seg = segment_by_id(dc, x->owner);

	if (seg == evict_victim(dc) || seg->doomed ||
	    !(x->meta & EXT_VERIFIED) || !pend_move(dc, f, x, NULL))
		return false;
	seg->layout_moves++;
	dc->layout->moving++;
	return true;
}

/* Queue moves in the order of the plan, which the writer keeps. */
static uint64_t move_step(struct datacache *dc, uint64_t bytes)
{
	struct layout *ly = dc->layout;
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
	writer_kick(dc, SEGMENT_PINNED);
	writer_kick(dc, SEGMENT_LAYOUT);
	return moved;
}

void layout_moved(struct datacache *dc, struct segment *src)
{
	dc->layout->moving--;
	src->layout_moves--;
	if (!src->dead && !dc->closing && src->live_extents == 0 &&
	    src != evict_victim(dc) && segment_is_still(src))
		segment_retire(src);
}

/* No more is moved: what is not being written yet stays where it is. */
static void moves_end(struct datacache *dc, enum datacache_layout_end why)
{
	struct layout *ly = dc->layout;

	if (ly->phase == LAYOUT_MOVE || ly->phase == LAYOUT_LAND) {
		ly->end = why;
		ly->phase = LAYOUT_LAND;
	}
	writer_discard_layout(dc, SEGMENT_LAYOUT);
	writer_discard_layout(dc, SEGMENT_PINNED);
}

void layout_failed(struct datacache *dc, struct segment *seg, int err)
{
	log_warn("datacache server=%s: reordering ends: %s", dc->server,
	    strerror(-err));
	dc->layout->broken = true;
	if (seg && !seg->dead && seg->live_extents == 0 &&
	    segment_is_still(seg))
		segment_retire(seg);
	moves_end(dc, DATACACHE_LAYOUT_DISK);
}

void layout_mended(struct datacache *dc)
{
	dc->layout->broken = false;
}

static bool waits_for_room(const struct datacache *dc, enum segment_kind kind)
{
	return writer_waits(dc, kind) && writer_serves_layout(dc, kind);
}

void layout_check_room(struct datacache *dc)
{
	if ((waits_for_room(dc, SEGMENT_LAYOUT) ||
		waits_for_room(dc, SEGMENT_PINNED)) &&
	    !evict_has_spare_room(dc))
		moves_end(dc, DATACACHE_LAYOUT_ROOM);
}

/* ---- a pass ----------------------------------------------------------- */

uint64_t datacache_layout_step(struct datacache *dc, uint64_t bytes)
{
	struct layout *ly = dc->layout;

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
	return dc->layout->phase != LAYOUT_NONE;
}

void datacache_layout_stop(struct datacache *dc)
{
	if (dc->layout->phase == LAYOUT_NONE)
		return;
	moves_end(dc, DATACACHE_LAYOUT_STOPPED);
	dc->st.layout_end = DATACACHE_LAYOUT_STOPPED;
	plan_free(dc);
}

bool datacache_disk_idle(const struct datacache *dc)
{
	return requests_count(dc) == 0 && dc->st.pending_bytes == 0 &&
	       !evict_victim(dc);
}

bool layout_init(struct datacache *dc)
{
	dc->layout = dc_new(dc, sizeof(*dc->layout));
	if (dc->layout)
		dc->layout->use_next = dc->layout->run_first = 1;
	return dc->layout != NULL;
}

void layout_free(struct datacache *dc)
{
	if (dc->layout)
		datacache_layout_stop(dc);
	free(dc->layout);
}
