/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directory at start. The indexes are read and merged by sequence number,
 * so that what was newer wins; payload is not looked at before it is used.
 */
#include "datacache/datacache_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/log.h"

#define FORMAT_MAGIC 0x3143444646464651ull

struct format {
	uint64_t magic;
	uint32_t layout;
	uint32_t entry_bytes;
	uint64_t server; /* XXH3 of its name */
	uint64_t id;
	uint64_t sum; /* of what precedes */
};

/* A segment whose index is being merged. */
struct source {
	uint64_t base; /* all its entries are newer */
	uint64_t last; /* sequence number of the one before `at` */
	struct segment *seg;
	struct seg_entry *entries; /* NULL until it is its turn */
	uint32_t at, n;
	uint32_t number;
	uint32_t bytes;
	enum segment_kind kind;
};

struct load {
	struct datacache *dc;
	char *err;
	size_t errlen;
	struct source *sources;
	uint32_t n, room;
	struct source **heap; /* by the sequence number of their next entry */
	uint32_t heap_n;
};

static int refuse(struct load *ld, const char *file, const char *cause)
{
	snprintf(ld->err, ld->errlen, "%s%s%s: %s", ld->dc->dir,
	    file[0] ? "/" : "", file, cause);
	return -EPERM;
}

static const char *unfit(const struct stat *st, bool dir)
{
	if (dir ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode))
		return dir ? "it is not a directory" : "it is not a file";
	if (st->st_uid != geteuid())
		return "it belongs to somebody else";
	if (st->st_mode & 022)
		return "others may write to it; chmod go-w it";
	return NULL;
}

static int open_dir(struct load *ld)
{
	struct datacache *dc = ld->dc;
	const char *cause;
	struct stat st;

	if (mkdir(dc->dir, 0700) < 0 && errno != EEXIST)
		return refuse(ld, "", strerror(errno));
	dc->dirfd =
	    open(dc->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dc->dirfd < 0 || fstat(dc->dirfd, &st) < 0)
		return refuse(ld, "", strerror(errno));
	cause = unfit(&st, true);
	return cause ? refuse(ld, "", cause) : 0;
}

static bool parse_name(const char *name, uint32_t *number, bool *idx)
{
	char again[SEGMENT_NAME_MAX], *end;
	unsigned long n = strtoul(name, &end, 16);

	*idx = strcmp(end, ".idx") == 0;
	*number = (uint32_t)n;
	segment_name(again, *number, *idx ? "idx" : "seg");
	return strcmp(again, name) == 0;
}

static int add_source(struct load *ld, uint32_t number)
{
	if (ld->n == ld->room) {
		uint32_t room = 2 * ld->room + 64;
		struct source *p =
		    realloc(ld->sources, room * sizeof(*ld->sources));

		if (!p)
			return refuse(ld, "", strerror(ENOMEM));
		ld->sources = p;
		ld->room = room;
	}
	memset(&ld->sources[ld->n], 0, sizeof(ld->sources[0]));
	ld->sources[ld->n++].number = number;
	return 0;
}

/* One name of the directory; what is not ours by its name is let be. */
static int scan_name(struct load *ld, const char *name)
{
	struct datacache *dc = ld->dc;
	const char *cause;
	uint32_t number;
	struct stat st;
	bool idx;
	bool seg = parse_name(name, &number, &idx);

	if (!seg && strcmp(name, "FORMAT") != 0 &&
	    strcmp(name, "FORMAT.new") != 0)
		return 0;
	if (fstatat(dc->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return refuse(ld, name, strerror(errno));
	cause = unfit(&st, false);
	if (cause)
		return refuse(ld, name, cause);
	if (!seg)
		return 0;
	if (number >= dc->next_number)
		dc->next_number = number + 1;
	/* A segment alone is to be unlinked as well. */
	return add_source(ld, number);
}

static int scan_dir(struct load *ld)
{
	int fd = openat(ld->dc->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	int rc = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return refuse(ld, "", strerror(errno));
	}
	while (rc == 0 && (de = readdir(dir)))
		rc = scan_name(ld, de->d_name);
	closedir(dir);
	return rc;
}

static uint64_t format_sum(const struct format *f)
{
	return XXH3_64bits(f, offsetof(struct format, sum));
}

static bool format_read(struct datacache *dc, const struct format *want)
{
	int fd = openat(dc->dirfd, "FORMAT", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct format f;
	bool ok;

	if (fd < 0)
		return false;
	ok = read_all(fd, &f, sizeof(f), 0) == 0 && f.sum == format_sum(&f) &&
	     memcmp(&f, want, offsetof(struct format, id)) == 0;
	close(fd);
	if (ok)
		dc->id = f.id;
	return ok;
}

static int format_write(struct load *ld, struct format *f)
{
	struct datacache *dc = ld->dc;
	int fd, rc;

	if (dc->id == 0 &&
	    getrandom(&dc->id, sizeof(dc->id), 0) != sizeof(dc->id))
		return refuse(ld, "FORMAT", strerror(errno));
	f->id = dc->id;
	f->sum = format_sum(f);
	fd = openat(dc->dirfd, "FORMAT.new",
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return refuse(ld, "FORMAT", strerror(errno));
	rc = write_all(fd, f, sizeof(*f), 0);
	if (rc == 0 && fdatasync(fd) < 0)
		rc = -errno;
	close(fd);
	if (rc == 0 && renameat(dc->dirfd, "FORMAT.new", dc->dirfd, "FORMAT"))
		rc = -errno;
	return rc < 0 ? refuse(ld, "FORMAT", strerror(-rc)) : 0;
}

static void unlink_source(struct datacache *dc, const struct source *s)
{
	char name[SEGMENT_NAME_MAX];

	segment_name(name, s->number, "idx");
	unlinkat(dc->dirfd, name, 0);
	segment_name(name, s->number, "seg");
	unlinkat(dc->dirfd, name, 0);
}

static struct format format_of(const struct datacache *dc)
{
	return (struct format){.magic = FORMAT_MAGIC,
	    .layout = DATACACHE_LAYOUT,
	    .entry_bytes = sizeof(struct seg_entry),
	    .server = XXH3_64bits(dc->server, strlen(dc->server))};
}

static int check_format(struct load *ld)
{
	struct datacache *dc = ld->dc;
	struct format f = format_of(dc);

	if (format_read(dc, &f))
		return 0;
	if (ld->n > 0)
		log_info("datacache server=%s: of another layout, begun anew",
		    dc->server);
	for (uint32_t i = 0; i < ld->n; i++)
		unlink_source(dc, &ld->sources[i]);
	ld->n = 0;
	return format_write(ld, &f);
}

static int by_number(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int by_base(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return by_number(a, b);
}

static int open_file(const struct datacache *dc, uint32_t number,
    const char *suffix, int flags, uint64_t *size)
{
	char name[SEGMENT_NAME_MAX];
	struct stat st;
	int fd;

	segment_name(name, number, suffix);
	fd = openat(dc->dirfd, name, flags | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

/* What the head says; false: nothing can be made of the segment. */
static bool source_head(const struct datacache *dc, struct source *s)
{
	struct seg_entry e;
	uint64_t idx, most = (uint64_t)SEGMENT_MAX / SEGMENT_IDX_SHARE * 4;
	int fd = open_file(dc, s->number, "idx", O_RDONLY, &idx);
	bool ok;

	if (fd < 0)
		return false;
	ok = read_all(fd, &e, sizeof(e), 0) == 0 &&
	     e.sum == entry_sum(&e, dc->id) && (entry_kind(&e) & ENTRY_HEAD) &&
	     e.pos == s->number && e.offset <= SEGMENT_MAX && idx <= most;
	close(fd);
	s->base = e.seq;
	s->last = e.seq;
	s->n = (uint32_t)(idx / sizeof(e));
	s->kind = ok && (entry_kind(&e) & ENTRY_PREFETCHED) ? SEGMENT_PREFETCH
							    : SEGMENT_DEMAND;
	return ok;
}

/* Read the index. An entry that is torn, or out of order, is none. */
static bool source_read(const struct datacache *dc, struct source *s)
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

static bool entry_sound(const struct datacache *dc, const struct source *s)
{
	const struct seg_entry *e = &s->entries[s->at];

	if (e->sum != entry_sum(e, dc->id) || e->seq <= s->last)
		return false;
	if (entry_kind(e) & ENTRY_TOMB)
		return e->offset <= UINT64_MAX - e->extra;
	return (entry_kind(e) & ENTRY_DATA) && entry_len(e) > 0 &&
	       entry_len(e) <= RBUF_LARGE &&
	       e->offset <= UINT64_MAX - entry_len(e);
}

/* To the next sound entry. */
static bool source_next(const struct datacache *dc, struct source *s)
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
	struct source **h = ld->heap;

	for (;;) {
		uint32_t kid = 2 * at + 1;
		struct source *s = h[at];

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

static void heap_push(struct load *ld, struct source *s)
{
	uint32_t at = ld->heap_n++;

	while (at > 0 && ld->heap[(at - 1) / 2]->last > s->last) {
		ld->heap[at] = ld->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	ld->heap[at] = s;
}

static bool entry_fits(const struct source *s, const struct seg_entry *e)
{
	return e->pos <= s->bytes && entry_len(e) <= s->bytes - e->pos;
}

/* What the layout moved, and a kill left in its old place too, must not be
 * found there when the new one is gone. */
static void forget_double(
    struct datacache *dc, struct file *f, const struct seg_entry *e)
{
	struct cursor c;
	const struct extent *x;

	index_seek(f, e->offset, &c);
	x = cursor_get(&c);
	if (x && x->offset == e->offset && x->len == entry_len(e))
		segment_forget_entry(dc->segs[x->owner], x->slot);
}

/* A range of a file as this entry has it; only what is firm is kept. */
static void load_data(
    struct datacache *dc, const struct source *s, const struct seg_entry *e)
{
	struct file *f = index_lookup(dc, &e->key);
	uint32_t len = entry_len(e);
	struct extent x = {.offset = e->offset,
	    .meta = EXT_FIRM,
	    .len = len,
	    .pos = e->pos,
	    .owner = s->seg->index,
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
	/* Where the file is shorter than it was, the data is not there. */
	if ((entry_kind(e) & ENTRY_FIRM) && entry_fits(s, e)) {
		if (!f)
			f = index_make(dc, &e->key, e->version);
		if (f)
			index_insert(dc, f, &x);
	}
	if (f)
		index_tidy(dc, f);
}

static void load_entry(struct datacache *dc, struct source *s)
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

/* Its files are sound as far as was looked: into the tables, mapped. */
static bool source_adopt(struct datacache *dc, struct source *s)
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

/* The heads first: they say in what order to read the rest. */
static int load_heads(struct load *ld)
{
	struct datacache *dc = ld->dc;
	uint32_t kept = 0, number = 0;

	if (ld->n > 0)
		qsort(ld->sources, ld->n, sizeof(ld->sources[0]), by_number);
	for (uint32_t i = 0; i < ld->n; i++) {
		struct source *s = &ld->sources[i];

		/* Both of its files have named it. */
		if (i > 0 && s->number == number)
			continue;
		number = s->number;
		if (source_head(dc, s))
			ld->sources[kept++] = *s;
		else
			unlink_source(dc, s);
	}
	ld->n = kept;
	if (kept > 0)
		qsort(ld->sources, kept, sizeof(ld->sources[0]), by_base);
	ld->heap = calloc(kept ? kept : 1, sizeof(struct source *));
	return ld->heap ? 0 : refuse(ld, "", strerror(ENOMEM));
}

static void load_source(struct load *ld, struct source *s)
{
	struct datacache *dc = ld->dc;

	if (s->base >= dc->seq)
		dc->seq = s->base + 1;
	if (!source_adopt(dc, s)) {
		unlink_source(dc, s);
		return;
	}
	if (source_read(dc, s) && source_next(dc, s))
		heap_push(ld, s);
}

/* An index is read when all that is left is newer than its head. */
static void load_merge(struct load *ld)
{
	uint32_t next = 0;

	while (next < ld->n || ld->heap_n > 0) {
		struct source *s = ld->heap_n > 0 ? ld->heap[0] : NULL;

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

/* Space that was taken for more than came; nobody refers to it yet. */
static void trim_tail(struct datacache *dc, struct segment *seg)
{
	uint32_t used =
	    (seg->used + DATACACHE_PAGE - 1) / DATACACHE_PAGE * DATACACHE_PAGE;
	uint64_t size;
	int fd;

	if (used >= seg->bytes)
		return;
	fd = open_file(dc, seg->number, "seg", O_RDWR, &size);
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

void load_retire(struct datacache *dc)
{
	struct segment *seg, *next;

	for (int k = 0; k < SEGMENT_KINDS; k++) {
		for (seg = TAILQ_FIRST(&dc->lists[k]); seg; seg = next) {
			next = TAILQ_NEXT(seg, link);
			if (seg->live_extents == 0)
				segment_retire(seg);
		}
	}
}

static void load_finish(struct load *ld)
{
	struct datacache *dc = ld->dc;
	struct segment *seg;

	for (int k = 0; k < SEGMENT_KINDS; k++)
		TAILQ_FOREACH (seg, &dc->lists[k], link)
			if (seg->live_extents > 0)
				trim_tail(dc, seg);
	dc->st.loaded_extents = dc->st.extents;
}

/* What is there belongs to before the disk failed: nobody knows which
 * tombstones are missing. Jobs from before know the descriptor by its number,
 * and the segments that they are about will not come back. */
int load_anew(struct datacache *dc, char *err, size_t errlen)
{
	struct datacache now = {
	    .dir = dc->dir, .server = dc->server, .id = dc->id, .dirfd = -1};
	struct load ld = {.dc = &now, .err = err, .errlen = errlen};
	struct format f = format_of(dc);
	int rc = open_dir(&ld);

	if (rc == 0)
		rc = scan_dir(&ld);
	for (uint32_t i = 0; rc == 0 && i < ld.n; i++)
		unlink_source(&now, &ld.sources[i]);
	if (rc == 0)
		rc = format_write(&ld, &f);
	if (rc == 0 && dup3(now.dirfd, dc->dirfd, O_CLOEXEC) < 0)
		rc = refuse(&ld, "", strerror(errno));
	if (now.dirfd >= 0)
		close(now.dirfd);
	free(ld.sources);
	return rc;
}

int load_dir(struct datacache *dc, char *err, size_t errlen)
{
	struct load ld = {.dc = dc, .err = err, .errlen = errlen};
	int rc = open_dir(&ld);

	if (rc == 0)
		rc = scan_dir(&ld);
	if (rc == 0)
		rc = check_format(&ld);
	if (rc == 0)
		rc = load_heads(&ld);
	if (rc == 0) {
		load_merge(&ld);
		load_finish(&ld);
	}
	free(ld.heap);
	free(ld.sources);
	return rc;
}
