/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens, closes, flushes, resizes and describes a data cache. The other parts
 * are listed in datacache_private.h. */
#include "datacache/datacache_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_layout.h"
#include "datacache/datacache_request.h"

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

void *dc_new(struct datacache *dc, size_t size)
{
	void *p = dc_realloc(dc, NULL, 0, size);

	return p ? memset(p, 0, size) : NULL;
}

int64_t id_add(struct datacache *dc, struct id_table *t, void *p)
{
	uint32_t at = t->free, more = t->room + t->room / 2 + 64;
	void **v;

	while (at < t->room && t->v[at])
		at++;
	t->free = at;
	if (at == t->room) {
		v = dc_realloc(
		    dc, t->v, t->room * sizeof(*v), (size_t)more * sizeof(*v));
		if (!v)
			return -1;
		memset(v + t->room, 0, (more - t->room) * sizeof(*v));
		t->v = v;
		t->room = more;
	}
	t->v[at] = p;
	return at;
}

void id_remove(struct id_table *t, uint32_t id)
{
	t->v[id] = NULL;
	if (id < t->free)
		t->free = id;
}

static void datacache_free(struct datacache *dc)
{
	if (dc->dirfd >= 0)
		close(dc->dirfd);
	layout_free(dc);
	index_free(dc);
	pin_free(dc);
	evict_free(dc);
	free(dc->writers);
	free(dc->tombs);
	free(dc->requests);
	free(dc->health);
	free(dc->segments);
	free(dc->segs.v);
	free(dc->pends.v);
	free(dc->dir);
	free(dc);
}

static bool rooms_init(struct datacache *dc)
{
	return index_init(dc) && segments_init(dc) && writers_init(dc) &&
	       tomb_init(dc) && requests_init(dc) && health_init(dc) &&
	       evict_init(dc) && layout_init(dc) && pin_init(dc);
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
	dc->gathers = p->gathers;
	dc->dir = strdup(p->dir);
	dc->dirfd = -1;
	dc->size_bytes = p->size_bytes;
	dc->cap_bytes = UINT64_MAX;
	dc->memory_max_bytes = UINT64_MAX;
	dc->seg_bytes = datacache_seg_bytes(p->size_bytes);
	dc->seq = 1;
	if (!dc->dir || !rooms_init(dc) || load_dir(dc, err, errlen) < 0) {
		segments_detach(dc);
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

void datacache_settle(struct datacache *dc)
{
	dc->gathers = false;
	writers_flush(dc);
}

void datacache_close(struct datacache *dc)
{
	if (!dc)
		return;
	dc->closing = true;
	requests_forget_waiters(dc);
	datacache_settle(dc);
	iopool_drain(dc->pool);
	writers_discard(dc);
	/* Discarded moves may have held segments, whose unlinking runs now. */
	iopool_drain(dc->pool);
	segments_detach(dc);
	datacache_free(dc);
}

void datacache_flush(struct datacache *dc)
{
	datacache_layout_stop(dc);
	index_bury(dc);
	for (uint32_t i = 0; i < dc->pends.room; i++)
		if (dc->pends.v[i])
			pend_by_id(dc, i)->live_bytes = 0;
	pin_lost_all(dc);
	segments_retire(dc);
	writers_discard(dc);
	tomb_clear(dc);
	dc->full = false;
	dc->cap_bytes = UINT64_MAX;
}

uint64_t datacache_need_bytes(uint64_t size_bytes)
{
	uint64_t seg = datacache_seg_bytes(size_bytes);

	return seg + SEGMENT_KINDS * seg / SEGMENT_IDX_SHARE;
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
	if (!dc->off)
		st->failed = 0;
	st->run = layout_run(dc);
}
