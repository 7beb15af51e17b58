/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the indexes at the start. All index files are merged by sequence
 * number, with a heap, so that newer entries win. Payload is not looked at
 * before it is used.
 *
 *   dir_scan() ─▶ heads, sorted ─▶ heap: the oldest entry ─▶ index in memory
 */
#include "datacache/datacache_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "datacache/datacache_dir.h"
#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"

/* A segment whose index is being merged. */
struct datacache_load_source {
	uint64_t base; /* sequence number of its head: its entries are newer */
	uint64_t last; /* sequence number of the one before `at` */
	struct segment *seg;
	struct seg_entry *entries; /* NULL until it is its turn */
	uint32_t at, n;
	uint32_t number;
	uint32_t bytes;
	enum segment_kind kind;
};

struct load {
	struct segment_dir dir;
	struct datacache *dc;
	struct datacache_load_source *sources;
	uint32_t n, room;
	struct datacache_load_source *
	    *heap; /* by the sequence number of their next entry */
	uint32_t heap_n;
};

static int add_source(void *ctx, uint32_t number)
{
	struct load *ld = ctx;

	if (ld->n == ld->room) {
		uint32_t room = 2 * ld->room + 64;
		struct datacache_load_source *p =
		    realloc(ld->sources, room * sizeof(*ld->sources));

		if (!p)
			return dir_refuse(&ld->dir, "", strerror(ENOMEM));
		ld->sources = p;
		ld->room = room;
	}
	memset(&ld->sources[ld->n], 0, sizeof(ld->sources[0]));
	ld->sources[ld->n++].number = number;
	return 0;
}

static int check_format(struct load *ld)
{
	struct datacache *dc = ld->dc;

	if (dir_format_read(dc))
		return 0;
	if (ld->n > 0)
		log_info("datacache server=%s: the files have another format; "
			 "starting with an empty cache",
		    dc->server);
	for (uint32_t i = 0; i < ld->n; i++)
		segment_unlink(dc, ld->sources[i].number);
	ld->n = 0;
	return dir_format_write(&ld->dir);
}

static int by_number(const void *a, const void *b)
{
	const struct datacache_load_source *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int by_base(const void *a, const void *b)
{
	const struct datacache_load_source *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return by_number(a, b);
}

static int open_file(const struct datacache *dc, uint32_t number,
    const char *suffix, int flags, uint64_t *size)
{
	int fd = segment_open(dc, number, suffix, flags);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

/* Read the head of the index; false: the segment is of no use. */
static bool source_head(
    const struct datacache *dc, struct datacache_load_source *s)
{
	struct seg_entry e;
	uint64_t idx, most = (uint64_t)SEGMENT_MAX / SEGMENT_IDX_SHARE * 4;
	int fd = open_file(dc, s->number, "idx", O_RDONLY, &idx);
	bool ok;

	if (fd < 0)
		return false;
	ok = read_all(fd, &e, sizeof(e), 0) == 0 &&
	     entry_is_sound(&e, dc->id) && (entry_kind(&e) & ENTRY_HEAD) &&
	     e.pos == s->number && e.offset <= SEGMENT_MAX && idx <= most;
	close(fd);
	s->base = e.seq;
	s->last = e.seq;
	s->n = (uint32_t)(idx / sizeof(e));
	s->kind = ok && (entry_kind(&e) & ENTRY_PREFETCHED) ? SEGMENT_PREFETCH
							    : SEGMENT_DEMAND;
	return ok;
}

/* Read the index file. Entries that are torn or out of order do not count. */
static bool source_read(
    const struct datacache *dc, struct datacache_load_source *s)
{
	uint64_t size;
	int fd = open_file(dc, s->number, "idx", O_RDONLY, &size);
	size_t bytes = s->n * sizeof(struct seg_entry);

	if (fd < 0)
		return false;
	s->entries = malloc(bytes ? bytes : 1);
	if (!s->entries || read_all(fd, s->entries, bytes, 0) < 0)
		s->n = 0;
	close(fd);
	s->at = 0;
	return s->entries != NULL;
}

static bool entry_sound(
    const struct datacache *dc, const struct datacache_load_source *s)
{
	const struct seg_entry *e = &s->entries[s->at];

	if (!entry_is_sound(e, dc->id) || e->seq <= s->last)
		return false;
	if (entry_kind(e) & ENTRY_TOMB)
		return e->offset <= UINT64_MAX - e->extra;
	return (entry_kind(e) & ENTRY_DATA) && entry_len(e) > 0 &&
	       entry_len(e) <= RBUF_LARGE &&
	       e->offset <= UINT64_MAX - entry_len(e);
}

/* Go to the next sound entry; false: there is none. */
static bool source_next(
    const struct datacache *dc, struct datacache_load_source *s)
{
	for (s->at++; s->at < s->n; s->at++) {
		if (entry_sound(dc, s)) {
			s->last = s->entries[s->at].seq;
			return true;
		}
	}
	free(s->entries);
	s->entries = NULL;
	return false;
}

static void heap_down(struct load *ld, uint32_t at)
{
	struct datacache_load_source **h = ld->heap;

	for (;;) {
		uint32_t kid = 2 * at + 1;
		struct datacache_load_source *s = h[at];

		if (kid >= ld->heap_n)
			return;
		if (kid + 1 < ld->heap_n && h[kid + 1]->last < h[kid]->last)
			kid++;
		if (s->last <= h[kid]->last)
			return;
		h[at] = h[kid];
		h[kid] = s;
		at = kid;
	}
}

static void heap_push(struct load *ld, struct datacache_load_source *s)
{
	uint32_t at = ld->heap_n++;

	while (at > 0 && ld->heap[(at - 1) / 2]->last > s->last) {
		ld->heap[at] = ld->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	ld->heap[at] = s;
}

static bool entry_fits(
    const struct datacache_load_source *s, const struct seg_entry *e)
{
	return e->pos <= s->bytes && entry_len(e) <= s->bytes - e->pos;
}

/* A kill may leave what the layout has moved in its old place, too. Forget that
 * one, or it would be found when the new one is gone. */
static void forget_double(
    struct datacache *dc, struct file *f, const struct seg_entry *e)
{
	struct extent_cursor c;
	const struct extent *x;

	index_seek(f, e->offset, &c);
	x = cursor_get(&c);
	if (x && x->offset == e->offset && x->len == entry_len(e))
		segment_forget_entry(segment_by_id(dc, x->owner), x->slot);
}

/* Apply a data entry. It replaces older entries of the range even if it is not
 * firm, and so is not kept itself. */
static void load_data(struct datacache *dc,
    const struct datacache_load_source *s, const struct seg_entry *e)
{
	struct file *f = index_lookup(dc, &e->key);
	uint32_t len = entry_len(e);
	struct extent x = {.offset = e->offset,
	    .meta = EXT_FIRM,
	    .len = len,
	    .pos = e->pos,
	    .owner = s->seg->id,
	    .slot = s->at};

	if (entry_kind(e) & ENTRY_PREFETCHED)
		x.meta |= EXT_PREFETCHED;
	if (f && memcmp(f->version, e->version, sizeof(f->version)) != 0) {
		index_carve(dc, f, 0, UINT64_MAX, false);
		memcpy(f->version, e->version, sizeof(f->version));
	} else if (f) {
		forget_double(dc, f, e);
		index_carve(dc, f, e->offset, e->offset + len, false);
	}
	/* The segment file may be shorter than its index says. */
	if ((entry_kind(e) & ENTRY_FIRM) && entry_fits(s, e)) {
		if (!f)
			f = index_make(dc, &e->key, e->version);
		if (f)
			index_insert(dc, f, &x);
	}
	if (f)
		index_tidy(dc, f);
}

static void load_entry(struct datacache *dc, struct datacache_load_source *s)
{
	const struct seg_entry *e = &s->entries[s->at];
	struct file *f;

	if (e->seq >= dc->seq)
		dc->seq = e->seq + 1;
	if (!(entry_kind(e) & ENTRY_TOMB)) {
		if (entry_fits(s, e) && s->seg->used < e->pos + entry_len(e))
			s->seg->used = e->pos + entry_len(e);
		load_data(dc, s, e);
		return;
	}
	f = index_lookup(dc, &e->key);
	if (!f)
		return;
	index_carve(dc, f, e->offset, e->offset + e->extra, false);
	index_tidy(dc, f);
}

/* Map the segment and put it into the tables. */
static bool source_adopt(struct datacache *dc, struct datacache_load_source *s)
{
	uint64_t size;
	void *map;
	int fd = open_file(dc, s->number, "seg", O_RDONLY, &size);

	if (fd < 0)
		return false;
	map = size > 0 && size <= SEGMENT_MAX
		  ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0)
		  : MAP_FAILED;
	close(fd);
	if (map == MAP_FAILED)
		return false;
	s->bytes = (uint32_t)size;
	s->seg = segment_new(dc, s->kind, s->number);
	if (!s->seg) {
		munmap(map, size);
		return false;
	}
	s->seg->bytes = s->bytes;
	s->seg->slots = s->n;
	segment_adopt(s->seg, map);
	return true;
}

/* Read all heads: they say in what order to read the rest. */
static int load_heads(struct load *ld)
{
	struct datacache *dc = ld->dc;
	uint32_t kept = 0, number = 0;

	if (ld->n > 0)
		qsort(ld->sources, ld->n, sizeof(ld->sources[0]), by_number);
	for (uint32_t i = 0; i < ld->n; i++) {
		struct datacache_load_source *s = &ld->sources[i];

		/* A segment was found twice, by each of its two files. */
		if (i > 0 && s->number == number)
			continue;
		number = s->number;
		if (source_head(dc, s))
			ld->sources[kept++] = *s;
		else
			segment_unlink(dc, s->number);
	}
	ld->n = kept;
	if (kept > 0)
		qsort(ld->sources, kept, sizeof(ld->sources[0]), by_base);
	ld->heap =
	    calloc(kept ? kept : 1, sizeof(struct datacache_load_source *));
	return ld->heap ? 0 : dir_refuse(&ld->dir, "", strerror(ENOMEM));
}

static void load_source(struct load *ld, struct datacache_load_source *s)
{
	struct datacache *dc = ld->dc;

	if (s->base >= dc->seq)
		dc->seq = s->base + 1;
	if (!source_adopt(dc, s)) {
		segment_unlink(dc, s->number);
		return;
	}
	if (source_read(dc, s) && source_next(dc, s))
		heap_push(ld, s);
}

/* Merge. An index is read into memory only when its head is older than all
 * entries that are left of the others. */
static void load_merge(struct load *ld)
{
	uint32_t next = 0;

	while (next < ld->n || ld->heap_n > 0) {
		struct datacache_load_source *s =
		    ld->heap_n > 0 ? ld->heap[0] : NULL;

		if (next < ld->n && (!s || ld->sources[next].base < s->last)) {
			load_source(ld, &ld->sources[next++]);
			continue;
		}
		load_entry(ld->dc, s);
		if (!source_next(ld->dc, s))
			ld->heap[0] = ld->heap[--ld->heap_n];
		heap_down(ld, 0);
	}
}

/* Give back the space that was allocated behind the last payload. */
static void trim_tail(struct segment *seg)
{
	uint32_t used = (uint32_t)page_up(seg->used);
	uint64_t size;
	int fd;

	if (used >= seg->bytes || seg->live_extents == 0)
		return;
	fd = open_file(seg->dc, seg->number, "seg", O_RDWR, &size);
	if (fd < 0)
		return;
	if (ftruncate(fd, (off_t)used) == 0) {
		munmap(seg->rb.data + used, seg->bytes - used);
		seg->bytes = used;
		seg->rb.size = used;
		segment_charge(seg);
	}
	close(fd);
}

static void retire_empty(struct segment *seg)
{
	if (seg->live_extents == 0)
		segment_retire(seg);
}

void load_retire(struct datacache *dc)
{
	segments_each(dc, retire_empty);
}

/*
 * After the disk has failed, nobody knows which tombstones are missing, so all
 * segments are unlinked. Jobs that began before it failed have the number of
 * the directory's descriptor, which is kept; what they do to segments that are
 * gone has no effect.
 */
int datacache_renew(struct datacache *dc, char *err, size_t errlen)
{
	struct datacache now = {
	    .dir = dc->dir, .server = dc->server, .id = dc->id, .dirfd = -1};
	struct load ld = {.dir = {&now, err, errlen}, .dc = &now};
	int rc = dir_open(&ld.dir);

	if (rc == 0)
		rc = dir_scan(&ld.dir, add_source, &ld);
	for (uint32_t i = 0; rc == 0 && i < ld.n; i++)
		segment_unlink(&now, ld.sources[i].number);
	if (rc == 0)
		rc = dir_format_write(&ld.dir);
	if (rc == 0 && dup3(now.dirfd, dc->dirfd, O_CLOEXEC) < 0)
		rc = dir_refuse(&ld.dir, "", strerror(errno));
	if (now.dirfd >= 0)
		close(now.dirfd);
	free(ld.sources);
	return rc;
}

int load_dir(struct datacache *dc, char *err, size_t errlen)
{
	struct load ld = {.dir = {dc, err, errlen}, .dc = dc};
	int rc = dir_open(&ld.dir);

	if (rc == 0)
		rc = dir_scan(&ld.dir, add_source, &ld);
	if (rc == 0)
		rc = check_format(&ld);
	if (rc == 0)
		rc = load_heads(&ld);
	if (rc == 0) {
		load_merge(&ld);
		segments_each(dc, trim_tail);
		dc->st.loaded_extents = dc->st.extents;
	}
	free(ld.heap);
	free(ld.sources);
	return rc;
}
