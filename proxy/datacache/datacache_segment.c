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
#include "datacache/datacache_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/uint.h"
#include "base/log.h"

void segment_name(
    char name[SEGMENT_NAME_MAX], uint32_t number, const char *suffix)
{
	snprintf(name, SEGMENT_NAME_MAX, "%08" PRIx32 ".%s", number, suffix);
}

int read_all(int fd, void *buf, size_t len, uint64_t pos)
{
	char *to = buf;

	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		to += n;
		len -= (size_t)n;
		pos += (uint64_t)n;
	}
	return 0;
}

int write_all(int fd, const void *buf, size_t len, uint64_t pos)
{
	const char *from = buf;

	while (len > 0) {
		ssize_t n = pwrite(fd, from, len, (off_t)pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		from += n;
		len -= (size_t)n;
		pos += (uint64_t)n;
	}
	return 0;
}

uint64_t entry_sum(const struct seg_entry *e, uint64_t id)
{
	return XXH3_64bits_withSeed(
	    (const char *)e + sizeof(e->sum), sizeof(*e) - sizeof(e->sum), id);
}

/* Entries past the end of the file are read as zeros, which are no entry. */
int segment_read_entries(
    const struct segment *seg, uint32_t slot, struct seg_entry *e, uint32_t n)
{
	char name[SEGMENT_NAME_MAX];
	int fd, rc = 0;

	segment_name(name, seg->number, "idx");
	fd = openat(seg->dc->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	memset(e, 0, n * sizeof(*e));
	rc = read_all(
	    fd, e, n * sizeof(*e), (uint64_t)slot * sizeof(struct seg_entry));
	close(fd);
	return rc == -ENODATA ? 0 : rc;
}

void segment_put_entry(
    const struct segment *seg, uint32_t slot, const struct seg_entry *e)
{
	char name[SEGMENT_NAME_MAX];
	int fd, rc;

	segment_name(name, seg->number, "idx");
	fd = openat(seg->dc->dirfd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	rc = fd < 0 ? -errno
		    : write_all(fd, e, sizeof(*e), (uint64_t)slot * sizeof(*e));
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		segment_drop_index(seg);
}

void segment_drop_index(const struct segment *seg)
{
	char name[SEGMENT_NAME_MAX];

	segment_name(name, seg->number, "idx");
	unlinkat(seg->dc->dirfd, name, 0);
}

void segment_forget_entry(const struct segment *seg, uint32_t slot)
{
	static const struct seg_entry none;

	segment_put_entry(seg, slot, &none);
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
	uint64_t now;

	idx = (idx + DATACACHE_PAGE - 1) / DATACACHE_PAGE * DATACACHE_PAGE;
	now = seg->bytes + idx;
	dc->st.disk_bytes += now - seg->charged_bytes;
	dc->kind_bytes[seg->kind] += now - seg->charged_bytes;
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
	struct segment *seg = dc_realloc(dc, NULL, 0, sizeof(*seg));
	int64_t at;

	if (!seg)
		return NULL;
	at = table_add(dc, (void ***)&dc->segs, &dc->segs_room, &dc->segs_free);
	if (at < 0) {
		dc_free(dc, seg, sizeof(*seg));
		return NULL;
	}
	memset(seg, 0, sizeof(*seg));
	seg->dc = dc;
	seg->kind = kind;
	seg->number = number;
	seg->id = (uint32_t)at;
	seg->slots = 1;
	seg->fd = seg->idx_fd = -1;
	dc->segs[at] = seg;
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
	dc->segs[seg->id] = NULL;
	if (seg->id < dc->segs_free)
		dc->segs_free = seg->id;
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
	for (uint32_t i = 0; i < dc->segs_room; i++) {
		struct segment *seg = dc->segs[i];

		/* A segment that is being made has no references yet. */
		if (seg && seg->rb.refs > 0 &&
		    (const unsigned char *)data >= seg->rb.data &&
		    (const unsigned char *)data < seg->rb.data + seg->rb.size)
			return seg;
	}
	return NULL;
}

/* madvise(MADV_POPULATE_READ), which kernels before 5.14 do not know and which
 * filters of system calls may refuse. */
int mapping_fault(const void *data, size_t len)
{
	uintptr_t at = (uintptr_t)data & ~(uintptr_t)(DATACACHE_PAGE - 1);
	size_t bytes = (uintptr_t)data + len - at;

	if (madvise((void *)at, bytes, MADV_POPULATE_READ) == 0)
		return 0;
	return errno == EFAULT || errno == EHWPOISON ? -EIO : -ENOSYS;
}

void segment_adopt(struct segment *seg, void *map)
{
	rbuf_init_foreign(&seg->rb, map, seg->bytes, segment_on_release);
	TAILQ_INSERT_TAIL(&seg->dc->lists[seg->kind], seg, link);
	segment_charge(seg);
}

static int segment_open(int dirfd, uint32_t number, const char *suffix)
{
	char name[SEGMENT_NAME_MAX];
	int fd;

	segment_name(name, number, suffix);
	fd = openat(dirfd, name,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

static void segment_unlink(const struct segment *seg)
{
	char name[SEGMENT_NAME_MAX];

	/* The index first: a payload file without one is removed at the next
	 * start. */
	segment_name(name, seg->number, "idx");
	unlinkat(seg->dc->dirfd, name, 0);
	segment_name(name, seg->number, "seg");
	unlinkat(seg->dc->dirfd, name, 0);
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

static int segment_create(struct segment *seg)
{
	int rc;

	seg->fd = segment_open(seg->dc->dirfd, seg->number, "seg");
	if (seg->fd < 0)
		return seg->fd;
	seg->idx_fd = segment_open(seg->dc->dirfd, seg->number, "idx");
	if (seg->idx_fd < 0)
		return seg->idx_fd;
	rc = segment_allocate(seg->fd, seg->bytes);
	if (rc == 0)
		rc = write_all(seg->idx_fd, &seg->head, sizeof(seg->head), 0);
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
	segment_unlink(seg);
}

static void segment_on_prepared(struct iopool_job *job)
{
	struct segment *seg = (struct segment *)job;
	struct datacache *dc = seg->dc;
	struct writer *w = &dc->writers[seg->kind];
	int err = seg->err;

	if (err < 0) {
		dc->kind_bytes[seg->kind] -= seg->charged_bytes;
		segment_free(seg);
		writer_prepared(w, NULL, err);
		return;
	}
	segment_adopt(seg, seg->rb.data);
	writer_prepared(w, seg, 0);
}

void segment_prepare(struct datacache *dc, enum segment_kind kind)
{
	struct segment *seg = segment_new(dc, kind, dc->next_number);

	if (!seg)
		return;
	dc->next_number++;
	dc->writers[kind].preparing = true;
	seg->bytes = dc->seg_bytes;
	seg->head.seq = dc->seq++;
	seg->head.offset = seg->bytes;
	seg->head.extra = dc->id;
	seg->head.pos = seg->number;
	seg->head.len_kind =
	    (uint32_t)(ENTRY_HEAD |
		       (kind == SEGMENT_PREFETCH ? ENTRY_PREFETCHED : 0))
	    << 24;
	seg->head.sum = entry_sum(&seg->head, dc->id);
	segment_charge(seg);
	seg->job.run = segment_run_prepare;
	seg->job.done = segment_on_prepared;
	iopool_submit(dc->pool, &seg->job);
}

void segment_seal(struct segment *seg)
{
	struct writer *w = &seg->dc->writers[seg->kind];

	if (w->seg != seg)
		return;
	w->seg = NULL;
	/* If a job still writes to them, they are closed with the segment. */
	if (!w->busy)
		segment_close_files(seg);
}

bool segment_is_still(const struct segment *seg)
{
	const struct writer *w = &seg->dc->writers[seg->kind];

	/* A sealed segment may still be the target of the last write. */
	return w->seg != seg && seg->layout_moves == 0 &&
	       !(w->n > 0 && w->batch[0]->seg == seg);
}

static void segment_run_unlink(struct iopool_job *job)
{
	segment_unlink((struct segment *)job);
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
	TAILQ_REMOVE(&dc->lists[seg->kind], seg, link);
	dc->kind_bytes[seg->kind] -= seg->charged_bytes;
	dc->dying_bytes += seg->charged_bytes;
	seg->job.run = segment_run_unlink;
	seg->job.done = segment_on_unlinked;
	iopool_submit(dc->pool, &seg->job);
}

/* Replies that are still sent from the segment keep it. */
void segment_detach(struct segment *seg)
{
	struct datacache *dc = seg->dc;
	uint32_t used =
	    (seg->used + DATACACHE_PAGE - 1) / DATACACHE_PAGE * DATACACHE_PAGE;

	/* Give back the tail that was never written; nobody refers to it. */
	if (seg->fd >= 0 && !seg->dead && used < seg->bytes &&
	    ftruncate(seg->fd, (off_t)used) < 0)
		log_warn(
		    "datacache server=%s: %s", dc->server, strerror(errno));
	segment_close_files(seg);
	dc->segs[seg->id] = NULL;
	seg->dc = NULL;
	if (!seg->dead)
		rbuf_unref(&seg->rb);
}
