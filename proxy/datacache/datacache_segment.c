/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segment files: made, mapped, sealed, given up. Each job that works on a
 * segment holds a reference to its mapping, as does each reply that is sent
 * from it. The last one unmaps it, so a segment that is given up never changes
 * under anybody.
 *
 *   segment_prepare() ─▶ writer fills it ─▶ segment_seal() ─▶ evict, layout
 *                                     segment_retire(): unlink, then unmap ◀┘
 */
#include "datacache/datacache_segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/uint.h"
#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_write.h"

/* Those that are not given up, by kind; the oldest first. */
struct segments {
	TAILQ_HEAD(, segment) lists[SEGMENT_KINDS];
	uint64_t bytes[SEGMENT_KINDS]; /* that their files take */
};

bool segments_init(struct datacache *dc)
{
	dc->segments = dc_new(dc, sizeof(*dc->segments));
	for (int k = 0; dc->segments && k < SEGMENT_KINDS; k++)
		TAILQ_INIT(&dc->segments->lists[k]);
	return dc->segments != NULL;
}

uint32_t datacache_seg_bytes(uint64_t size_bytes)
{
	uint64_t n =
	    clamp_u64(size_bytes / SEGMENT_SHARE, SEGMENT_MIN, SEGMENT_MAX);

	return (uint32_t)(n / DATACACHE_PAGE * DATACACHE_PAGE);
}

void segments_each(struct datacache *dc, void (*each)(struct segment *seg))
{
	struct segment *seg, *next;

	for (int k = 0; k < SEGMENT_KINDS; k++) {
		for (seg = TAILQ_FIRST(&dc->segments->lists[k]); seg;
		     seg = next) {
			next = TAILQ_NEXT(seg, link);
			each(seg);
		}
	}
}

struct segment *segment_oldest(const struct datacache *dc,
    enum segment_kind kind, bool (*fits)(const struct segment *seg))
{
	struct segment *seg;

	TAILQ_FOREACH (seg, &dc->segments->lists[kind], link)
		if (fits(seg))
			return seg;
	return NULL;
}

uint64_t segments_bytes(const struct datacache *dc, enum segment_kind kind)
{
	return dc->segments->bytes[kind];
}

uint32_t segment_slots_max(const struct segment *seg)
{
	uint32_t most = seg->dc->seg_bytes / SEGMENT_IDX_SHARE;

	return (uint32_t)(most / sizeof(struct seg_entry));
}

void segment_charge(struct segment *seg)
{
	struct datacache *dc = seg->dc;
	uint64_t idx = (uint64_t)seg->slots * sizeof(struct seg_entry);
	uint64_t now = seg->bytes + page_up(idx);

	dc->st.disk_bytes += now - seg->charged_bytes;
	dc->segments->bytes[seg->kind] += now - seg->charged_bytes;
	seg->charged_bytes = now;
}

void segment_account(
    struct segment *seg, const struct extent *x, int64_t bytes, int64_t extents)
{
	seg->live_bytes += (uint64_t)bytes;
	seg->live_extents += (uint64_t)extents;
	if (x->meta & EXT_PINNED)
		seg->pinned_bytes += (uint64_t)bytes;
}

struct segment *segment_new(
    struct datacache *dc, enum segment_kind kind, uint32_t number)
{
	struct segment *seg = dc_new(dc, sizeof(*seg));
	int64_t at;

	if (!seg)
		return NULL;
	at = id_add(dc, &dc->segs, seg);
	if (at < 0) {
		dc_free(dc, seg, sizeof(*seg));
		return NULL;
	}
	seg->dc = dc;
	seg->kind = kind;
	seg->number = number;
	seg->id = (uint32_t)at;
	seg->slots = 1;
	seg->fd = seg->idx_fd = -1;
	return seg;
}

static void segment_close_files(struct segment *seg)
{
	if (seg->fd >= 0)
		close(seg->fd);
	if (seg->idx_fd >= 0)
		close(seg->idx_fd);
	seg->fd = seg->idx_fd = -1;
}

static void segment_free(struct segment *seg)
{
	struct datacache *dc = seg->dc;

	dc->st.disk_bytes -= seg->charged_bytes;
	id_remove(&dc->segs, seg->id);
	dc_free(dc, seg, sizeof(*seg));
}

static void segment_run_unmap(struct iopool_job *job)
{
	struct segment *seg = (struct segment *)job;

	segment_close_files(seg);
	munmap(seg->rb.data, seg->rb.size);
}

static void segment_on_unmapped(struct iopool_job *job)
{
	struct segment *seg = (struct segment *)job;
	struct datacache *dc = seg->dc;

	dc->dying_bytes -= seg->charged_bytes;
	segment_free(seg);
	evict_kick(dc);
}

static void segment_on_release(struct rbuf *rb)
{
	struct segment *seg = container_of(rb, struct segment, rb);
	struct datacache *dc = seg->dc;

	if (!dc) {
		munmap(rb->data, rb->size);
		free(seg);
		return;
	}
	if (seg->held) {
		dc->held_bytes -= seg->charged_bytes;
		dc->dying_bytes += seg->charged_bytes;
	}
	seg->job.run = segment_run_unmap;
	seg->job.done = segment_on_unmapped;
	iopool_submit(dc->pool, &seg->job);
}

struct segment *segment_of(const struct rbuf *b)
{
	if (b->release != segment_on_release)
		return NULL;
	return container_of(b, struct segment, rb);
}

struct segment *segment_at(const struct datacache *dc, const void *data)
{
	for (uint32_t i = 0; i < dc->segs.room; i++) {
		struct segment *seg = segment_by_id(dc, i);

		/* A segment that is being made has no references yet. */
		if (seg && seg->rb.refs > 0 &&
		    (const unsigned char *)data >= seg->rb.data &&
		    (const unsigned char *)data < seg->rb.data + seg->rb.size)
			return seg;
	}
	return NULL;
}

void segment_adopt(struct segment *seg, void *map)
{
	rbuf_init_foreign(&seg->rb, map, seg->bytes, segment_on_release);
	TAILQ_INSERT_TAIL(&seg->dc->segments->lists[seg->kind], seg, link);
	segment_charge(seg);
}

/* Take the space now, so that a full disk shows here and not at a write. */
static int segment_allocate(int fd, uint32_t bytes)
{
	if (fallocate(fd, 0, 0, (off_t)bytes) == 0)
		return 0;
	if (errno != EOPNOTSUPP)
		return -errno;
	return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
}

/* The first entry of its index. */
static struct seg_entry segment_head(const struct segment *seg)
{
	unsigned kind = seg->kind == SEGMENT_PREFETCH
			    ? ENTRY_HEAD | ENTRY_PREFETCHED
			    : ENTRY_HEAD;
	struct seg_entry e;

	memset(&e, 0, sizeof(e));
	e.seq = seg->head_seq;
	e.offset = seg->bytes;
	e.extra = seg->dc->id;
	e.pos = seg->number;
	e.len_kind = (uint32_t)kind << 24;
	e.sum = entry_sum(&e, seg->dc->id);
	return e;
}

static int segment_create(struct segment *seg)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL;
	struct seg_entry head = segment_head(seg);
	int rc;

	seg->fd = segment_open(seg->dc, seg->number, "seg", flags);
	if (seg->fd < 0)
		return seg->fd;
	seg->idx_fd = segment_open(seg->dc, seg->number, "idx", flags);
	if (seg->idx_fd < 0)
		return seg->idx_fd;
	rc = segment_allocate(seg->fd, seg->bytes);
	if (rc == 0)
		rc = write_all(seg->idx_fd, &head, sizeof(head), 0);
	if (rc < 0)
		return rc;
	seg->rb.data =
	    mmap(NULL, seg->bytes, PROT_READ, MAP_SHARED, seg->fd, 0);
	return seg->rb.data == MAP_FAILED ? -errno : 0;
}

static void segment_run_prepare(struct iopool_job *job)
{
	struct segment *seg = (struct segment *)job;

	seg->err = segment_create(seg);
	if (seg->err == 0)
		return;
	segment_close_files(seg);
	segment_unlink(seg->dc, seg->number);
}

static void segment_on_prepared(struct iopool_job *job)
{
	struct segment *seg = (struct segment *)job;
	struct datacache *dc = seg->dc;
	enum segment_kind kind = seg->kind;
	int err = seg->err;

	if (err < 0) {
		dc->segments->bytes[kind] -= seg->charged_bytes;
		segment_free(seg);
		writer_prepared(dc, kind, NULL, err);
		return;
	}
	segment_adopt(seg, seg->rb.data);
	writer_prepared(dc, kind, seg, 0);
}

bool segment_prepare(struct datacache *dc, enum segment_kind kind)
{
	struct segment *seg = segment_new(dc, kind, dc->next_number);

	if (!seg)
		return false;
	dc->next_number++;
	seg->bytes = dc->seg_bytes;
	seg->head_seq = dc->seq++;
	segment_charge(seg);
	seg->job.run = segment_run_prepare;
	seg->job.done = segment_on_prepared;
	iopool_submit(dc->pool, &seg->job);
	return true;
}

/* A job that still writes to them has them closed with the segment. */
void segment_seal(struct segment *seg)
{
	if (writer_leave(seg))
		segment_close_files(seg);
}

bool segment_is_still(const struct segment *seg)
{
	return seg->layout_moves == 0 && !writer_has(seg);
}

static void segment_run_unlink(struct iopool_job *job)
{
	const struct segment *seg = (struct segment *)job;

	segment_unlink(seg->dc, seg->number);
}

static void segment_on_unlinked(struct iopool_job *job)
{
	struct segment *seg = (struct segment *)job;
	struct datacache *dc = seg->dc;

	if (seg->rb.refs > 1) {
		seg->held = true;
		dc->dying_bytes -= seg->charged_bytes;
		dc->held_bytes += seg->charged_bytes;
	}
	rbuf_unref(&seg->rb);
	evict_kick(dc);
}

/* The cache's reference is handed to the job. */
void segment_retire(struct segment *seg)
{
	struct datacache *dc = seg->dc;

	assert(!seg->dead && seg->live_extents == 0);
	segment_seal(seg);
	seg->dead = true;
	TAILQ_REMOVE(&dc->segments->lists[seg->kind], seg, link);
	dc->segments->bytes[seg->kind] -= seg->charged_bytes;
	dc->dying_bytes += seg->charged_bytes;
	seg->job.run = segment_run_unlink;
	seg->job.done = segment_on_unlinked;
	iopool_submit(dc->pool, &seg->job);
}

static void segment_detach(struct segment *seg)
{
	struct datacache *dc = seg->dc;
	uint64_t used = page_up(seg->used);

	/* Give back the tail that was never written; nobody refers to it. */
	if (seg->fd >= 0 && !seg->dead && used < seg->bytes &&
	    ftruncate(seg->fd, (off_t)used) < 0)
		log_warn(
		    "datacache server=%s: %s", dc->server, strerror(errno));
	segment_close_files(seg);
	id_remove(&dc->segs, seg->id);
	seg->dc = NULL;
	if (!seg->dead)
		rbuf_unref(&seg->rb);
}

void segments_detach(struct datacache *dc)
{
	for (uint32_t i = 0; i < dc->segs.room; i++)
		if (dc->segs.v[i])
			segment_detach(dc->segs.v[i]);
}

void segments_retire(struct datacache *dc)
{
	struct segment *seg;

	for (uint32_t i = 0; i < dc->segs.room; i++) {
		seg = segment_by_id(dc, i);
		if (seg)
			seg->live_bytes = seg->live_extents =
			    seg->pinned_bytes = 0;
	}
	segments_each(dc, segment_retire);
}
