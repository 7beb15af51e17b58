/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing: from the queue to a segment. For each kind of segment there is a
 * writer, of which one job at a time writes a batch; what comes meanwhile is in
 * the next one. Positions and index entries are given out on the loop, so the
 * order of what is on disk is known before it is there.
 *
 *   pend_queue() ─▶ writer_give(): enough, or the next tick
 *                     ▼
 *                  writer_kick(): a batch ─▶ job: payload, then entries
 *                     │ no room                ─▶ writer_on_written()
 *                     ▼
 *                  evict_kick() ─▶ segment_prepare() ─▶ writer_prepared()
 */
#include "datacache/datacache_write.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "datacache/datacache_batch.h"
#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_layout.h"

enum {
	BATCH_BYTES = 4 << 20, /* of one write */
	/* A batch costs a thread's waking and three calls to the kernel, which
	 * waits for the disk. A client that reads 4 KiB at a time would pay
	 * that for each reply, so what is queued waits for so much, or for the
	 * next tick. */
	GATHER_BYTES = 256 << 10,
};

TAILQ_HEAD(pend_list, pend);

/* Fills the segments of one kind: one job at a time writes one batch. */
struct writer {
	struct iopool_job job;
	struct datacache *dc;
	enum segment_kind kind;
	struct pend_list moves; /* from other segments; they go first */
	struct pend_list queue; /* from memory */
	struct segment *seg;    /* being filled */
	/* Of what is queued from memory, a small piece counts for more; 0:
	 * there is nothing. More than GATHER_BYTES does not matter. */
	uint32_t gather_bytes;
	uint64_t begun_us; /* see writers_late_since() */
	bool busy;         /* the job runs */
	bool waiting;      /* for a new segment, or for room for it */
	bool preparing;    /* the new segment is being made */
	struct data_batch batch;
};

static struct pend_list *pend_list(struct datacache *dc, const struct pend *p)
{
	struct writer *w = &dc->writers[pend_kind(p)];

	return p->src ? &w->moves : &w->queue;
}

void pend_queue(struct datacache *dc, struct pend *p)
{
	dc->st.pending_bytes += p->cost_bytes;
	TAILQ_INSERT_TAIL(pend_list(dc, p), p, link);
}

bool pend_move(struct datacache *dc, const struct file *f, struct extent *x,
    const struct seg_entry *e)
{
	struct segment *seg = segment_by_id(dc, x->owner);
	struct pend *p = pend_new(dc);

	if (!p)
		return false;
	p->key = f->key;
	memcpy(p->version, f->version, sizeof(p->version));
	p->offset = x->offset;
	p->len = x->len;
	p->flags = x->meta & (EXT_FIRM | EXT_PINNED);
	p->data = seg->rb.data + x->pos;
	p->hold = rbuf_ref(&seg->rb);
	p->src = seg;
	p->src_slot = x->slot;
	p->by_layout = !e;
	if (e) {
		p->src_pos = e->pos;
		p->src_len = entry_len(e);
		p->src_sum = e->extra;
	}
	p->live_bytes = x->len;
	segment_account(seg, x, -(int64_t)x->len, -1);
	x->meta |= EXT_PENDING;
	x->owner = p->id;
	x->pos = 0;
	pend_queue(dc, p);
	return true;
}

static struct pend *writer_first(struct writer *w)
{
	struct pend *p = TAILQ_FIRST(&w->moves);

	return p ? p : TAILQ_FIRST(&w->queue);
}

void pend_free(struct datacache *dc, struct pend *p)
{
	struct segment *src = p->src;
	bool by_layout = p->by_layout;

	if (!p->busy)
		TAILQ_REMOVE(pend_list(dc, p), p, link);
	dc->st.pending_bytes -= p->cost_bytes;
	/* If this was its last reference, a segment is freed by a job, later.
	 */
	rbuf_unref(p->hold);
	pend_abandon(dc, p);
	if (by_layout)
		layout_moved(dc, src);
	else if (src)
		evict_moved(dc);
}

/* Drop what waits to be written; `moved`: only what comes from segments. */
static void writer_discard(struct writer *w, bool moved)
{
	struct pend *p;

	while ((p = moved ? TAILQ_FIRST(&w->moves) : writer_first(w))) {
		if (!p->src)
			w->dc->st.refused_bytes += p->len;
		pend_settle(w->dc, p, true);
		pend_free(w->dc, p);
	}
}

void writers_discard(struct datacache *dc)
{
	for (int k = 0; k < SEGMENT_KINDS; k++)
		writer_discard(&dc->writers[k], false);
}

void writer_discard_moves(struct datacache *dc, enum segment_kind kind)
{
	writer_discard(&dc->writers[kind], true);
}

void writer_give_up(struct datacache *dc, enum segment_kind kind)
{
	writer_discard(&dc->writers[kind], false);
	dc->writers[kind].waiting = false;
}

void writer_discard_layout(struct datacache *dc, enum segment_kind kind)
{
	struct writer *w = &dc->writers[kind];
	struct pend *p, *next;

	for (p = TAILQ_FIRST(&w->moves); p; p = next) {
		next = TAILQ_NEXT(p, link);
		if (!p->by_layout)
			continue;
		pend_settle(dc, p, true);
		pend_free(dc, p);
	}
	if (!writer_first(w))
		w->waiting = false;
}

static void writer_run(struct iopool_job *job)
{
	batch_write(&((struct writer *)job)->batch);
}

/* Measures what bytes of clients take; moved ones were read from the disk in
 * the same time, and of few most is the system calls. A batch in which the disk
 * stalled counts little. */
static void measure(struct writer *w)
{
	enum {
		LEAST = WRITE_UNIT / 8,
		SHARE = 8,
		MOST = 4,
		FIRST_MOST_US = 100000,
	};
	struct datacache *dc = w->dc;
	uint64_t us, most_us, bytes = 0;

	for (unsigned i = 0; i < w->batch.n; i++) {
		if (w->batch.pends[i]->src)
			return;
		bytes += w->batch.pends[i]->len;
	}
	if (w->batch.err < 0 || bytes < LEAST)
		return;
	us = w->batch.took_us * WRITE_UNIT / bytes + 1;
	most_us = dc->write_us > 0 ? dc->write_us * MOST : FIRST_MOST_US;
	if (us > most_us)
		us = most_us;
	dc->write_us =
	    dc->write_us == 0 ? us : (dc->write_us * (SHARE - 1) + us) / SHARE;
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

static void batch_settle(struct writer *w)
{
	struct datacache *dc = w->dc;
	unsigned n = w->batch.n;

	for (unsigned i = 0; i < n; i++) {
		struct pend *p = w->batch.pends[i];

		if (p->by_layout && w->batch.err == 0 && !p->kept_in_place)
			dc->st.layout_moved_bytes += p->len;
		pend_settle(
		    dc, p, w->batch.err < 0 || p->bad || p->kept_in_place);
	}
	/* The batch is empty before its pends are freed. */
	w->batch.n = 0;
	for (unsigned i = 0; i < n; i++)
		pend_free(dc, w->batch.pends[i]);
}

/* Begins a batch, unless too little is queued for one. */
static void writer_gather(struct writer *w)
{
	if (!w->dc->gathers || !TAILQ_EMPTY(&w->moves) ||
	    w->gather_bytes >= GATHER_BYTES)
		writer_kick(w->dc, w->kind);
}

void writer_give(struct datacache *dc, const struct pend *p)
{
	/* Small pieces count for so much that BATCH_MAX of them are enough. */
	const uint32_t least = GATHER_BYTES / BATCH_MAX;
	struct writer *w = &dc->writers[pend_kind(p)];

	/* The count stops there: where the disk hangs, the queue is long. */
	if (w->gather_bytes < GATHER_BYTES)
		w->gather_bytes += p->len > least ? p->len : least;
	writer_gather(w);
}

static void writer_on_written(struct iopool_job *job)
{
	struct writer *w = (struct writer *)job;
	struct datacache *dc = w->dc;
	struct segment *seg = w->batch.pends[0]->seg;

	measure(w);
	batch_settle(w);
	w->busy = false;
	w->begun_us = 0;
	/* If the segment was given up or sealed meanwhile, its files were left
	 * open for this job. */
	if (w->batch.err < 0 && !seg->dead)
		segment_seal(seg);
	if (w->batch.err < 0 && w->kind == SEGMENT_LAYOUT)
		layout_failed(dc, seg, w->batch.err);
	else if (w->batch.err < 0 && !seg->dead && !is_full(w->batch.err))
		datacache_failed(dc, "write", w->batch.err);
	/* Eviction moves no pinned data while the disk is full. */
	else if (is_full(w->batch.err))
		dc->full = true;
	rbuf_unref(&seg->rb);
	writer_gather(w);
}

static void writer_add(struct writer *w, struct pend *p)
{
	struct segment *seg = w->seg;
	struct seg_entry *e = &w->batch.entries[w->batch.n];
	unsigned kind = ENTRY_DATA;

	if (p->flags & EXT_FIRM)
		kind |= ENTRY_FIRM;
	if ((p->flags & EXT_PREFETCHED) && !p->src)
		kind |= ENTRY_PREFETCHED;
	TAILQ_REMOVE(pend_list(w->dc, p), p, link);
	p->busy = true;
	p->seg = seg;
	p->pos = seg->used;
	p->slot = seg->slots;
	seg->used += p->len;
	seg->slots++;
	memset(e, 0, sizeof(*e));
	e->seq = w->dc->seq++;
	e->key = p->key;
	memcpy(e->version, p->version, sizeof(e->version));
	e->offset = p->offset;
	e->pos = p->pos;
	e->len_kind = p->len | (uint32_t)kind << 24;
	w->batch.pends[w->batch.n++] = p;
}

static bool writer_fits(const struct writer *w, const struct pend *p)
{
	return w->seg && p->len <= w->seg->bytes - w->seg->used &&
	       w->seg->slots < segment_slots_max(w->seg);
}

void writer_kick(struct datacache *dc, enum segment_kind kind)
{
	struct writer *w = &dc->writers[kind];
	struct pend *p = writer_first(w);
	struct segment *seg = w->seg;
	uint64_t bytes = 0;

	if (w->busy)
		return;
	w->waiting = false;
	if (!p)
		return;
	if (!writer_fits(w, p)) {
		if (seg)
			segment_seal(seg);
		/* Nothing could be moved there: all stays where it was. */
		if (seg && kind == SEGMENT_LAYOUT && seg->live_extents == 0 &&
		    segment_is_still(seg))
			segment_retire(seg);
		w->waiting = true;
		evict_kick(dc);
		return;
	}
	/* Moved data goes first and may need all of a new segment, so wait
	 * until eviction knows what it moves. */
	if (kind == SEGMENT_DEMAND && w->seg->used == 0 && evict_is_reading(dc))
		return;
	w->batch.pos = w->seg->used;
	w->batch.slot = w->seg->slots;
	while (p && w->batch.n < BATCH_MAX && bytes < BATCH_BYTES &&
	       writer_fits(w, p)) {
		bytes += p->len;
		writer_add(w, p);
		p = writer_first(w);
	}
	w->gather_bytes = TAILQ_EMPTY(&w->queue) ? 0 : GATHER_BYTES;
	segment_charge(w->seg);
	rbuf_ref(&w->seg->rb);
	w->busy = true;
	iopool_submit(dc->pool, &w->job);
}

void writer_prepare(struct datacache *dc, enum segment_kind kind)
{
	if (segment_prepare(dc, kind))
		dc->writers[kind].preparing = true;
}

/* The disk is full: the cache may have what it has now, and evicts to write. */
static void writer_no_space(struct datacache *dc, int err)
{
	dc->cap_bytes = dc->st.disk_bytes;
	if (!dc->full)
		log_warn("datacache server=%s used_bytes=%llu: %s", dc->server,
		    (unsigned long long)dc->st.disk_bytes, strerror(-err));
	dc->full = true;
	evict_kick(dc);
}

void writer_prepared(
    struct datacache *dc, enum segment_kind kind, struct segment *seg, int err)
{
	struct writer *w = &dc->writers[kind];

	w->preparing = false;
	w->begun_us = 0;
	if (seg && (dc->off || w->seg)) {
		segment_retire(seg);
	} else if (seg) {
		w->seg = seg;
		w->waiting = false;
		dc->full = false;
		layout_mended(dc);
		if (dc->cap_bytes != UINT64_MAX)
			dc->cap_bytes += dc->seg_bytes / 8;
		evict_kick(dc);
	} else if (kind == SEGMENT_LAYOUT) {
		layout_failed(dc, NULL, err);
	} else if (is_full(err)) {
		writer_no_space(dc, err);
		return;
	} else {
		writer_discard(w, false);
		/* These are not the disk's fault, and may pass. */
		if (err != -EMFILE && err != -ENFILE && err != -ENOMEM)
			datacache_failed(dc, "new segment", err);
	}
	writer_kick(dc, kind);
}

bool writer_waits(const struct datacache *dc, enum segment_kind kind)
{
	const struct writer *w = &dc->writers[kind];

	return w->waiting && !w->preparing;
}

bool writer_is_preparing(const struct datacache *dc, enum segment_kind kind)
{
	return dc->writers[kind].preparing;
}

bool writer_has_moves(const struct datacache *dc, enum segment_kind kind)
{
	return !TAILQ_EMPTY(&dc->writers[kind].moves);
}

bool writer_serves_layout(const struct datacache *dc, enum segment_kind kind)
{
	const struct pend *p = TAILQ_FIRST(&dc->writers[kind].moves);

	return p && p->by_layout;
}

uint64_t writer_room_bytes(const struct datacache *dc, enum segment_kind kind)
{
	const struct writer *w = &dc->writers[kind];
	const struct pend *p;
	uint64_t room;

	if (!w->seg && !w->preparing)
		return 0;
	room = w->seg ? w->seg->bytes - w->seg->used : dc->seg_bytes;
	TAILQ_FOREACH (p, &w->moves, link)
		room -= p->len < room ? p->len : room;
	return room;
}

struct segment *writer_idle_segment(
    const struct datacache *dc, enum segment_kind kind)
{
	return dc->writers[kind].busy ? NULL : dc->writers[kind].seg;
}

/* A sealed segment may still be the target of the last write. */
bool writer_has(const struct segment *seg)
{
	const struct writer *w = &seg->dc->writers[seg->kind];

	return w->seg == seg ||
	       (w->batch.n > 0 && w->batch.pends[0]->seg == seg);
}

bool writer_leave(struct segment *seg)
{
	struct writer *w = &seg->dc->writers[seg->kind];

	if (w->seg != seg)
		return false;
	w->seg = NULL;
	return !w->busy;
}

uint64_t writers_late_since(struct datacache *dc, uint64_t now_us, uint64_t us)
{
	uint64_t oldest = now_us;

	for (int k = 0; k < SEGMENT_KINDS; k++) {
		struct writer *w = &dc->writers[k];

		if (w->busy || w->preparing)
			oldest =
			    job_late_since(&w->begun_us, now_us, us, oldest);
	}
	return oldest;
}

bool writers_init(struct datacache *dc)
{
	dc->writers = dc_new(dc, SEGMENT_KINDS * sizeof(*dc->writers));
	for (int k = 0; dc->writers && k < SEGMENT_KINDS; k++) {
		struct writer *w = &dc->writers[k];

		w->job.run = writer_run;
		w->job.slow = true;
		w->job.done = writer_on_written;
		w->dc = dc;
		w->kind = (enum segment_kind)k;
		TAILQ_INIT(&w->moves);
		TAILQ_INIT(&w->queue);
	}
	return dc->writers != NULL;
}

void writers_flush(struct datacache *dc)
{
	for (int k = 0; k < SEGMENT_KINDS; k++)
		if (dc->writers[k].gather_bytes > 0)
			writer_kick(dc, (enum segment_kind)k);
}
