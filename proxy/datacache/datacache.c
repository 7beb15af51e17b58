/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Implements the callers' operations on the data cache: open, add, drop,
 * rebind, flush, close. The other parts are listed in datacache_private.h. */
#include "datacache/datacache_private.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* The bytes that glibc's malloc uses for `size` bytes on 64-bit machines: 8
 * more, a multiple of 16, at least 32. */
static size_t malloc_bytes(size_t size)
{
	size_t chunk = (size + sizeof(size_t) + 15) / 16 * 16;

	return chunk < 32 ? 32 : chunk;
}

void *dc_realloc(struct datacache *dc, void *p, size_t old, size_t size)
{
	void *q = realloc(p, size);

	if (!q)
		return NULL;
	dc->st.memory_bytes += malloc_bytes(size) - (p ? malloc_bytes(old) : 0);
	return q;
}

void dc_free(struct datacache *dc, void *p, size_t size)
{
	free(p);
	dc->st.memory_bytes -= malloc_bytes(size);
}

int64_t table_add(
    struct datacache *dc, void ***table, uint32_t *room, uint32_t *hint)
{
	uint32_t at = *hint, more = *room + *room / 2 + 64;
	void **p;

	while (at < *room && (*table)[at])
		at++;
	*hint = at;
	if (at < *room)
		return at;
	p = dc_realloc(
	    dc, *table, *room * sizeof(*p), (size_t)more * sizeof(*p));
	if (!p)
		return -1;
	memset(p + *room, 0, (more - *room) * sizeof(*p));
	*table = p;
	*room = more;
	return at;
}

uint32_t datacache_seg_bytes(uint64_t size_bytes)
{
	uint64_t n = size_bytes / SEGMENT_SHARE;

	if (n < SEGMENT_MIN)
		n = SEGMENT_MIN;
	if (n > SEGMENT_MAX)
		n = SEGMENT_MAX;
	return (uint32_t)(n / DATACACHE_PAGE * DATACACHE_PAGE);
}

static void datacache_free(struct datacache *dc)
{
	if (dc->dirfd >= 0)
		close(dc->dirfd);
	datacache_layout_stop(dc);
	index_clear(dc);
	while (datacache_bury(dc, UINT_MAX))
		;
	pin_free(dc);
	free(dc->segs);
	free(dc->pends);
	free(dc->evict.entries);
	free(dc->dir);
	free(dc);
}

struct datacache *datacache_load(
    const struct datacache_params *p, char *err, size_t errlen)
{
	struct datacache *dc = calloc(1, sizeof(*dc));

	err[0] = '\0';
	if (!dc)
		return NULL;
	dc->st.memory_bytes = malloc_bytes(sizeof(*dc));
	dc->server = p->server;
	dc->pool = p->iopool;
	dc->dir = strdup(p->dir);
	dc->dirfd = -1;
	dc->size_bytes = p->size_bytes;
	dc->cap_bytes = UINT64_MAX;
	dc->memory_max_bytes = UINT64_MAX;
	dc->seg_bytes = datacache_seg_bytes(p->size_bytes);
	dc->seq = 1;
	for (int k = 0; k < SEGMENT_KINDS; k++)
		TAILQ_INIT(&dc->lists[k]);
	TAILQ_INIT(&dc->requests);
	writer_init(dc);
	tomb_init(dc);
	evict_init(dc);
	layout_init(dc);
	if (!dc->dir || load_dir(dc, err, errlen) < 0) {
		for (uint32_t i = 0; i < dc->segs_room; i++)
			if (dc->segs[i])
				segment_detach(dc->segs[i]);
		datacache_free(dc);
		return NULL;
	}
	return dc;
}

void datacache_begin(struct datacache *dc)
{
	load_retire(dc);
	/* It may have been larger; else there is no haste. */
	if (dc->st.disk_bytes > dc->size_bytes)
		evict_kick(dc);
}

struct datacache *datacache_open(
    const struct datacache_params *p, char *err, size_t errlen)
{
	struct datacache *dc = datacache_load(p, err, errlen);

	if (dc)
		datacache_begin(dc);
	return dc;
}

void datacache_close(struct datacache *dc)
{
	if (!dc)
		return;
	dc->closing = true;
	requests_forget_waiters(dc);
	iopool_drain(dc->pool);
	for (int k = 0; k < SEGMENT_KINDS; k++)
		writer_discard(&dc->writers[k], false);
	/* Discarded moves may have held segments, whose unlinking runs now. */
	iopool_drain(dc->pool);
	for (uint32_t i = 0; i < dc->segs_room; i++)
		if (dc->segs[i])
			segment_detach(dc->segs[i]);
	datacache_free(dc);
}

/* The file, of which everything is removed if its version is another one. */
static struct file *file_of_version(struct datacache *dc,
    const struct data_key *key, const struct data_version *version)
{
	struct file *f = index_lookup(dc, key);

	if (!f || version_is(f, version))
		return f;
	index_carve(dc, f, 0, UINT64_MAX, false);
	index_tidy(dc, f);
	return NULL;
}

struct copy {
	struct rbuf rb;
	unsigned char data[];
};

static void copy_on_release(struct rbuf *rb)
{
	free(rb);
}

/* Take a reference to the caller's buffer, or copy: a few bytes would keep all
 * of a large buffer in memory. */
static bool pend_hold(struct pend *p, const struct datacache_add *add)
{
	struct copy *c;

	if (add->hold && add->len >= add->hold->size / COPY_SHARE) {
		p->hold = rbuf_ref(add->hold);
		p->data = add->data;
		p->cost_bytes = add->hold->size;
		return true;
	}
	c = malloc(sizeof(*c) + add->len);
	if (!c)
		return false;
	memcpy(c->data, add->data, add->len);
	rbuf_init_foreign(&c->rb, c->data, add->len, copy_on_release);
	p->hold = &c->rb;
	p->data = c->data;
	p->cost_bytes = sizeof(*c) + add->len;
	return true;
}

/* Whether a full disk is left alone. It is tried again each time that a whole
 * segment's worth of data was refused. */
static bool full_skips(struct datacache *dc, uint32_t len)
{
	if (!dc->full || dc->st.disk_bytes - dc->dying_bytes > 0)
		return false;
	dc->full_skipped_bytes += len;
	if (dc->full_skipped_bytes < dc->seg_bytes)
		return true;
	dc->full_skipped_bytes = 0;
	dc->cap_bytes = UINT64_MAX;
	return false;
}

static bool add_allowed(struct datacache *dc, const struct datacache_add *add)
{
	uint64_t cost = add->len;

	if (add->hold && add->len >= add->hold->size / COPY_SHARE)
		cost = add->hold->size;
	return !dc->off && !dc->closing && add->len > 0 &&
	       add->len <= RBUF_LARGE && add->len <= dc->seg_bytes &&
	       add->offset <= UINT64_MAX - add->len && !evict_memory_full(dc) &&
	       dc->st.pending_bytes + cost <= PENDING_MAX &&
	       !full_skips(dc, add->len);
}

static struct pend *pend_make(
    struct datacache *dc, const struct datacache_add *add)
{
	struct pend *p = pend_new(dc);

	if (!p)
		return NULL;
	p->key = add->key;
	version_hash(add->version, p->version);
	p->offset = add->offset;
	p->len = add->len;
	p->flags = add->flags & (EXT_FIRM | EXT_PREFETCHED);
	/* Pinned data is wanted for good, however it came in. */
	if (pin_wants(dc, &add->key, add->len))
		p->flags = (p->flags & EXT_FIRM) | EXT_PINNED;
	if (pend_hold(p, add)) {
		if (p->hold != add->hold)
			dc->st.copied_bytes += p->len;
		pend_queue(dc, p);
		return p;
	}
	dc->pends[p->id] = NULL;
	if (p->id < dc->pends_free)
		dc->pends_free = p->id;
	dc_free(dc, p, sizeof(*p));
	return NULL;
}

void datacache_add(struct datacache *dc, const struct datacache_add *add)
{
	uint64_t when = add->sent_us;
	struct extent x;
	struct file *f;
	struct pend *p;

	/* The index grows here. Disk space is looked at when a new segment is
	 * wanted. */
	if (dc->st.memory_bytes > dc->memory_max_bytes)
		evict_kick(dc);
	f = file_of_version(dc, &add->key, add->version);
	p = add_allowed(dc, add) ? pend_make(dc, add) : NULL;
	if (!p) {
		dc->st.refused_bytes += add->len;
		return;
	}
	if (f)
		index_carve(dc, f, add->offset, add->offset + add->len, true);
	else
		f = index_make(dc, &add->key, p->version);
	if (add->flags & DATACACHE_FIRM)
		when = layout_stamp(dc, add->flags & DATACACHE_PREFETCHED);
	x = (struct extent){.offset = add->offset,
	    .meta = when << 8 | p->flags | EXT_PENDING,
	    .len = add->len,
	    .owner = p->id};
	if (!f || !index_insert(dc, f, &x)) {
		if (f)
			index_tidy(dc, f);
		pend_free(dc, p);
		return;
	}
	dc->st.added_bytes += add->len;
	writer_kick(pend_writer(dc, p));
}

void datacache_drop(struct datacache *dc, const struct data_key *key)
{
	dc->drops++;
	dc->dropping = true;
	datacache_cut(dc, key, 0, UINT64_MAX);
	dc->dropping = false;
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
	struct pend *p = x->meta & EXT_PENDING ? dc->pends[x->owner] : NULL;
	struct segment *seg = p ? p->seg : dc->segs[x->owner];

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

void datacache_flush(struct datacache *dc)
{
	struct segment *seg;

	datacache_layout_stop(dc);
	index_bury(dc);
	for (uint32_t i = 0; i < dc->pends_room; i++)
		if (dc->pends[i])
			dc->pends[i]->live_bytes = 0;
	for (uint32_t i = 0; i < dc->segs_room; i++)
		if (dc->segs[i])
			dc->segs[i]->live_bytes = dc->segs[i]->live_extents =
			    dc->segs[i]->pinned_bytes = 0;
	dc->pinned.changed = UINT32_MAX;
	for (int k = 0; k < SEGMENT_KINDS; k++) {
		while ((seg = TAILQ_FIRST(&dc->lists[k])))
			segment_retire(seg);
		writer_discard(&dc->writers[k], false);
	}
	tomb_clear(dc);
	dc->full = false;
	dc->cap_bytes = UINT64_MAX;
}

int datacache_renew(struct datacache *dc, char *err, size_t errlen)
{
	return load_anew(dc, err, errlen);
}

void datacache_renewed(struct datacache *dc)
{
	dc->off = dc->full = false;
	dc->failures = 0;
	dc->cap_bytes = UINT64_MAX;
}

uint64_t datacache_need_bytes(uint64_t size_bytes)
{
	uint64_t seg = datacache_seg_bytes(size_bytes);

	return seg + SEGMENT_KINDS * seg / SEGMENT_IDX_SHARE;
}

void datacache_failed(struct datacache *dc, const char *what, int err)
{
	log_warn(
	    "datacache server=%s: %s: %s", dc->server, what, strerror(-err));
	dc->error = -err;
	if (++dc->failures < FAILURES_MAX || dc->off)
		return;
	log_warn("datacache server=%s: off, the disk failed %u times",
	    dc->server, dc->failures);
	datacache_flush(dc);
	dc->off = true;
}

void datacache_disk_failed(struct datacache *dc, int error)
{
	if (!dc->off)
		datacache_failed(dc, "the disk", -error);
}

void datacache_resize(struct datacache *dc, uint64_t size_bytes)
{
	dc->size_bytes = size_bytes;
	dc->cap_bytes = UINT64_MAX;
	dc->seg_bytes = datacache_seg_bytes(size_bytes);
	evict_kick(dc);
}

void datacache_set_memory(struct datacache *dc, uint64_t memory_bytes)
{
	dc->memory_max_bytes = memory_bytes;
	evict_kick(dc);
}

uint64_t datacache_memory_bytes(const struct datacache *dc)
{
	return dc->st.memory_bytes;
}

bool datacache_suspect(struct datacache *dc, const void *data, size_t len)
{
	struct segment *seg = segment_at(dc, data);

	if (!seg || mapping_fault(data, len) == 0)
		return false;
	/* Another reply may have met the same bytes before, and the segment
	 * be given up already. */
	if (seg->live_extents == 0)
		return true;
	dc->st.bad_extents += seg->live_extents;
	index_drop_segment(dc, seg, true);
	segment_seal(seg);
	datacache_failed(dc, "read", -EIO);
	return true;
}

void datacache_get_stats(const struct datacache *dc, struct datacache_stats *st)
{
	*st = dc->st;
	st->on = !dc->off && !dc->full;
	st->failed = dc->off ? dc->error : 0;
	st->hangs_since_us = dc->hang.since_us;
	st->files = dc->index.files;
	st->run = dc->run.sum;
}
