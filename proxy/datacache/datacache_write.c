/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing: from the queue to a segment. For each kind of segment there is a
 * writer, of which one job at a time writes a batch; what comes meanwhile is in
 * the next one. Positions and index entries are given out on the loop, so the
 * order of what is on disk is known before it is there.
 *
 *   pend_queue() ─▶ writer_kick(): a batch ─▶ job: payload, then entries
 *                     │ no room                ─▶ writer_on_written()
 *                     ▼
 *                  evict_kick() ─▶ segment_prepare() ─▶ writer_prepared()
 */
#include "datacache/datacache_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/log.h"

struct pend *pend_new(struct datacache *dc)
{
	struct pend *p = dc_realloc(dc, NULL, 0, sizeof(*p));
	int64_t at;

	if (!p)
		return NULL;
	at = table_add(
	    dc, (void ***)&dc->pends, &dc->pends_room, &dc->pends_free);
	if (at < 0) {
		dc_free(dc, p, sizeof(*p));
		return NULL;
	}
	memset(p, 0, sizeof(*p));
	p->id = (uint32_t)at;
	dc->pends[at] = p;
	return p;
}

struct writer *pend_writer(struct datacache *dc, const struct pend *p)
{
	if (p->flags & EXT_PINNED)
		return &dc->writers[SEGMENT_PINNED];
	if (p->by_layout)
		return &dc->writers[SEGMENT_LAYOUT];
	/* Data that is moved on has been used. */
	return &dc->writers[(p->flags & EXT_PREFETCHED) && !p->src
				? SEGMENT_PREFETCH
				: SEGMENT_DEMAND];
}

static struct pend_list *pend_list(struct datacache *dc, const struct pend *p)
{
	struct writer *w = pend_writer(dc, p);

	return p->src ? &w->moves : &w->queue;
}

struct pend *pend_move(
    struct datacache *dc, const struct file *f, struct extent *x)
{
	struct segment *seg = dc->segs[x->owner];
	struct pend *p = pend_new(dc);

	if (!p)
		return NULL;
	p->key = f->key;
	memcpy(p->version, f->version, sizeof(p->version));
	p->offset = x->offset;
	p->len = x->len;
	p->flags = x->meta & (EXT_FIRM | EXT_PINNED);
	p->data = seg->rb.data + x->pos;
	p->hold = rbuf_ref(&seg->rb);
	p->src = seg;
	p->src_slot = x->slot;
	p->live_bytes = x->len;
	segment_account(seg, x, -(int64_t)x->len, -1);
	x->meta |= EXT_PENDING;
	x->owner = p->id;
	x->pos = 0;
	return p;
}

void pend_queue(struct datacache *dc, struct pend *p)
{
	dc->st.pending_bytes += p->cost_bytes;
	TAILQ_INSERT_TAIL(pend_list(dc, p), p, link);
}

static struct pend *writer_first(struct writer *w)
{
	struct pend *p = TAILQ_FIRST(&w->moves);

	return p ? p : TAILQ_FIRST(&w->queue);
}

/* No extent refers to it any more. */
void pend_free(struct datacache *dc, struct pend *p)
{
	struct segment *src = p->src;
	bool by_layout = p->by_layout;

	if (!p->busy)
		TAILQ_REMOVE(pend_list(dc, p), p, link);
	dc->st.pending_bytes -= p->cost_bytes;
	dc->pends[p->id] = NULL;
	if (p->id < dc->pends_free)
		dc->pends_free = p->id;
	/* If this was its last reference, a segment is freed by a job, later.
	 */
	rbuf_unref(p->hold);
	dc_free(dc, p, sizeof(*p));
	if (by_layout)
		layout_moved(dc, src);
	else if (src)
		evict_moved(dc);
}

static void extent_settle(
    struct extent *x, struct segment *seg, uint32_t pos, uint32_t slot)
{
	x->owner = seg->id;
	x->pos += pos;
	x->slot = slot;
	x->meta &= ~(uint64_t)EXT_PENDING;
	segment_account(seg, x, x->len, 1);
}

/* Leave an extent in its old segment if the move failed and it is pinned, or
 * was moved for its place only. */
static bool extent_keep_in_place(const struct pend *p, struct extent *x)
{
	if (!p->src || p->src->dead || p->bad ||
	    !(p->by_layout || (x->meta & EXT_PINNED)))
		return false;
	extent_settle(
	    x, p->src, (uint32_t)(p->data - p->src->rb.data), p->src_slot);
	return true;
}

/* Its extents are in the segment now; or, if it is `lost`, removed. */
static void pend_settle(struct datacache *dc, struct pend *p, bool lost)
{
	struct file *f = index_lookup(dc, &p->key);
	uint64_t end = p->offset + p->len;
	struct extent_cursor c;
	struct extent *x;

	if (!f || p->live_bytes == 0)
		return;
	index_seek(f, p->offset, &c);
	while ((x = cursor_get(&c)) && x->offset < end) {
		if (!(x->meta & EXT_PENDING) || x->owner != p->id) {
			cursor_next(&c);
		} else if (!lost) {
			extent_settle(x, p->seg, p->pos, p->slot);
			x->meta |= EXT_VERIFIED;
			cursor_next(&c);
		} else if (extent_keep_in_place(p, x)) {
			cursor_next(&c);
		} else {
			index_remove(dc, &c);
		}
	}
	index_tidy(dc, f);
}

void writer_discard(struct writer *w, bool moved)
{
	struct pend *p;

	while ((p = moved ? TAILQ_FIRST(&w->moves) : writer_first(w))) {
		if (!p->src)
			w->dc->st.refused_bytes += p->len;
		pend_settle(w->dc, p, true);
		pend_free(w->dc, p);
	}
}

void writer_discard_layout(struct writer *w)
{
	struct pend *p, *next;

	for (p = TAILQ_FIRST(&w->moves); p; p = next) {
		next = TAILQ_NEXT(p, link);
		if (!p->by_layout)
			continue;
		pend_settle(w->dc, p, true);
		pend_free(w->dc, p);
	}
	if (!writer_first(w))
		w->waiting = false;
}

/* Read the old entry of what the layout moves. It moves whole entries only, so
 * that it can overwrite them. */
static bool pend_read_entry(struct pend *p)
{
	struct seg_entry e;

	if (segment_read_entries(p->src, p->src_slot, &e, 1) < 0 ||
	    e.sum != entry_sum(&e, p->src->dc->id) ||
	    !(entry_kind(&e) & ENTRY_DATA) || entry_len(&e) != p->len ||
	    e.pos != (uint32_t)(p->data - p->src->rb.data) ||
	    e.offset != p->offset ||
	    memcmp(&e.key, &p->key, sizeof(e.key)) != 0)
		return false;
	p->src_pos = e.pos;
	p->src_len = p->len;
	p->src_sum = e.extra;
	return true;
}

/* Read what is moved from the old segment; NULL if that is not what was written
 * there. */
static void *pend_read_source(const struct pend *p)
{
	char name[SEGMENT_NAME_MAX], *buf = malloc(p->src_len);
	int fd;

	if (!buf)
		return NULL;
	segment_name(name, p->src->number, "seg");
	fd = openat(p->src->dc->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || read_all(fd, buf, p->src_len, p->src_pos) < 0 ||
	    XXH3_64bits(buf, p->src_len) != p->src_sum) {
		free(buf);
		buf = NULL;
	}
	if (fd >= 0)
		close(fd);
	return buf;
}

static int writev_all(int fd, struct iovec *iov, int n, uint64_t pos)
{
	while (n > 0) {
		ssize_t done = pwritev(fd, iov, n, (off_t)pos);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		pos += (uint64_t)done;
		while (n > 0 && (size_t)done >= iov->iov_len) {
			done -= (ssize_t)iov->iov_len;
			iov++;
			n--;
		}
		if (n > 0) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= (size_t)done;
		}
	}
	return 0;
}

/* The bytes of a pend; `*scratch` is to be freed. NULL: they are damaged, or it
 * stays where it is. */
static const unsigned char *pend_bytes(struct pend *p, void **scratch)
{
	*scratch = NULL;
	if (!p->src)
		return p->data;
	if (!p->by_layout || pend_read_entry(p))
		*scratch = pend_read_source(p);
	/* An extent that the layout cannot move may still be valid in its old
	 * place. */
	p->kept_in_place = p->by_layout && !*scratch;
	p->bad = !p->by_layout && !*scratch;
	if (!*scratch)
		return NULL;
	return (unsigned char *)*scratch + (size_t)(p->data - p->src->rb.data) -
	       p->src_pos;
}

/* Write side by side what goes side by side; a pend whose bytes are damaged
 * leaves a hole, and gets no entry. */
static int writer_write_data(struct writer *w, int fd, void **scratch)
{
	struct iovec iov[BATCH_MAX];
	uint64_t pos = w->pos;
	int rc = 0, k = 0;

	for (unsigned i = 0; rc == 0 && i < w->n; i++) {
		struct pend *p = w->batch[i];
		struct seg_entry *e = &w->entries[i];
		const unsigned char *data = pend_bytes(p, &scratch[i]);

		if (!data) {
			memset(e, 0, sizeof(*e));
			rc = writev_all(fd, iov, k, pos);
			pos = (uint64_t)p->pos + p->len;
			k = 0;
			continue;
		}
		e->extra = XXH3_64bits(data, p->len);
		e->sum = entry_sum(e, w->dc->id);
		iov[k].iov_base = (void *)(uintptr_t)data;
		iov[k++].iov_len = p->len;
	}
	return rc < 0 ? rc : writev_all(fd, iov, k, pos);
}

/* In a thread. The entries are written after their data, so an entry that is on
 * disk can be relied on. */
static void writer_run(struct iopool_job *job)
{
	struct writer *w = (struct writer *)job;
	struct segment *seg = w->batch[0]->seg;
	void *scratch[BATCH_MAX] = {0};

	w->err = writer_write_data(w, seg->fd, scratch);
	if (w->err == 0)
		w->err = write_all(seg->idx_fd, w->entries,
		    w->n * sizeof(w->entries[0]),
		    (uint64_t)w->slot * sizeof(w->entries[0]));
	for (unsigned i = 0; i < w->n; i++) {
		const struct pend *p = w->batch[i];

		if (w->err == 0 && p->by_layout && !p->kept_in_place)
			segment_forget_entry(p->src, p->src_slot);
		free(scratch[i]);
	}
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

static void batch_settle(struct writer *w)
{
	struct datacache *dc = w->dc;
	unsigned n = w->n;

	for (unsigned i = 0; i < n; i++) {
		struct pend *p = w->batch[i];

		if (p->by_layout && w->err == 0 && !p->kept_in_place)
			dc->st.layout_moved_bytes += p->len;
		pend_settle(dc, p, w->err < 0 || p->bad || p->kept_in_place);
	}
	/* The batch is empty before its pends are freed. */
	w->n = 0;
	for (unsigned i = 0; i < n; i++)
		pend_free(dc, w->batch[i]);
}

static void writer_on_written(struct iopool_job *job)
{
	struct writer *w = (struct writer *)job;
	struct datacache *dc = w->dc;
	struct segment *seg = w->batch[0]->seg;

	batch_settle(w);
	w->busy = false;
	w->begun_us = 0;
	/* If the segment was given up or sealed meanwhile, its files were left
	 * open for this job. */
	if (w->err < 0 && !seg->dead)
		segment_seal(seg);
	if (w->err < 0 && w->kind == SEGMENT_LAYOUT)
		layout_failed(dc, seg, w->err);
	else if (w->err < 0 && !seg->dead && !is_full(w->err))
		datacache_failed(dc, "write", w->err);
	/* Eviction moves no pinned data while the disk is full. */
	else if (is_full(w->err))
		dc->full = true;
	rbuf_unref(&seg->rb);
	writer_kick(w);
}

static void writer_add(struct writer *w, struct pend *p)
{
	struct segment *seg = w->seg;
	struct seg_entry *e = &w->entries[w->n];
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
	w->batch[w->n++] = p;
}

static bool writer_fits(const struct writer *w, const struct pend *p)
{
	return w->seg && p->len <= w->seg->bytes - w->seg->used &&
	       w->seg->slots < segment_slots_max(w->seg);
}

void writer_kick(struct writer *w)
{
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
		if (seg && w->kind == SEGMENT_LAYOUT &&
		    seg->live_extents == 0 && segment_is_still(seg))
			segment_retire(seg);
		w->waiting = true;
		evict_kick(w->dc);
		return;
	}
	/* Moved data goes first and may need all of a new segment, so wait
	 * until eviction knows what it moves. */
	if (w->kind == SEGMENT_DEMAND && w->seg->used == 0 &&
	    w->dc->evict.reading)
		return;
	w->pos = w->seg->used;
	w->slot = w->seg->slots;
	while (
	    p && w->n < BATCH_MAX && bytes < BATCH_BYTES && writer_fits(w, p)) {
		bytes += p->len;
		writer_add(w, p);
		p = writer_first(w);
	}
	segment_charge(w->seg);
	rbuf_ref(&w->seg->rb);
	w->busy = true;
	iopool_submit(w->dc->pool, &w->job);
}

/* The disk is full: the cache may have what it has now, and evicts to write. */
static void writer_no_space(struct writer *w, int err)
{
	struct datacache *dc = w->dc;

	dc->cap_bytes = dc->st.disk_bytes;
	if (!dc->full)
		log_warn("datacache server=%s used_bytes=%llu: %s", dc->server,
		    (unsigned long long)dc->st.disk_bytes, strerror(-err));
	dc->full = true;
	evict_kick(dc);
}

void writer_prepared(struct writer *w, struct segment *seg, int err)
{
	struct datacache *dc = w->dc;

	w->preparing = false;
	w->begun_us = 0;
	if (seg && (dc->off || w->seg)) {
		segment_retire(seg);
	} else if (seg) {
		w->seg = seg;
		w->waiting = false;
		dc->full = false;
		dc->layout.broken = false;
		if (dc->cap_bytes != UINT64_MAX)
			dc->cap_bytes += dc->seg_bytes / 8;
		evict_kick(dc);
	} else if (w->kind == SEGMENT_LAYOUT) {
		layout_failed(dc, NULL, err);
	} else if (is_full(err)) {
		writer_no_space(w, err);
		return;
	} else {
		writer_discard(w, false);
		/* These are not the disk's fault, and may pass. */
		if (err != -EMFILE && err != -ENFILE && err != -ENOMEM)
			datacache_failed(dc, "new segment", err);
	}
	writer_kick(w);
}

void writer_init(struct datacache *dc)
{
	for (int k = 0; k < SEGMENT_KINDS; k++) {
		struct writer *w = &dc->writers[k];

		w->job.run = writer_run;
		w->job.done = writer_on_written;
		w->dc = dc;
		w->kind = (enum segment_kind)k;
		TAILQ_INIT(&w->moves);
		TAILQ_INIT(&w->queue);
	}
}
