/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache consists of these files: FORMAT (datacache_dir.h), and for each
 * segment NNNNNNNN.seg (payload only) and NNNNNNNN.idx (entries of one size, of
 * which the first is a head). An entry is written after its payload. Entries
 * count where their checksum is right, in the order of `seq` over all segments.
 */
#ifndef FOREFETCH_DATACACHE_DISK_H
#define FOREFETCH_DATACACHE_DISK_H

#include "datacache/datacache_private.h"

enum {
	DATACACHE_LAYOUT = 1, /* version of the files; change it with them */
	DATACACHE_PAGE = 4096,
	SEGMENT_NAME_MAX = 16, /* "NNNNNNNN.seg" */
};

/*
 * One entry of a segment's index file: 72 bytes in the byte order of the
 * machine. The meaning of a field depends on the kind: a head (the first
 * entry), data, or a tombstone.
 */
struct seg_entry {
	uint64_t sum; /* XXH3 of what follows, seeded with the cache's id */
	uint64_t seq;
	struct data_key key;
	uint64_t version[2]; /* XXH3, 128 bits, of a data_version */
	uint64_t offset;     /* head: bytes of the segment file */
	uint64_t extra; /* data: XXH3 of the payload; tombstone: its length */
	uint32_t pos;   /* of the payload in the segment; head: its number */
	uint32_t len_kind; /* length; in the upper 8 bits enum entry_kind */
};

/* Bits: the first three exclude one another. */
enum entry_kind {
	ENTRY_HEAD = 1,
	ENTRY_DATA = 2,
	ENTRY_TOMB = 4,        /* all older entries of the range are void */
	ENTRY_FIRM = 8,        /* data: DATACACHE_FIRM */
	ENTRY_PREFETCHED = 16, /* data: it was; head: so is all of it */
};

static inline uint32_t entry_len(const struct seg_entry *e)
{
	return e->len_kind & 0xffffff;
}

static inline unsigned entry_kind(const struct seg_entry *e)
{
	return e->len_kind >> 24;
}

/* `bytes`, up to the end of the page. */
static inline uint64_t page_up(uint64_t bytes)
{
	return (bytes + DATACACHE_PAGE - 1) / DATACACHE_PAGE * DATACACHE_PAGE;
}

uint64_t entry_sum(const struct seg_entry *e, uint64_t id);
/* It is of the cache whose id this is, and whole. */
bool entry_is_sound(const struct seg_entry *e, uint64_t id);

/* All that follow may block. */

void segment_name(
    char name[SEGMENT_NAME_MAX], uint32_t number, const char *suffix);
/* Open "seg" or "idx" of a segment with `flags`; a descriptor or -errno. */
int segment_open(
    const struct datacache *dc, uint32_t number, const char *suffix, int flags);
/* Remove both files. */
void segment_unlink(const struct datacache *dc, uint32_t number);
/* Read or write all, at an offset; 0 or -errno (-ENODATA: it is shorter). */
int read_all(int fd, void *buf, size_t len, uint64_t pos);
int write_all(int fd, const void *buf, size_t len, uint64_t pos);
/* Have the disk take what was written there, and wait; 0, or -errno where it
 * did not. Nothing is flushed from the disk's own memory. */
int write_out(int fd, uint64_t pos, uint64_t len);
/* Bring these bytes of a mapping into memory; -EIO where the disk fails,
 * -ENOSYS where the kernel cannot say. */
int mapping_fault(const void *data, size_t len);

/* Read entries of the index file; those past its end are zeros, which are no
 * entry. */
int segment_read_entries(
    const struct segment *seg, uint32_t slot, struct seg_entry *e, uint32_t n);
/* Overwrite an entry, or unlink the index if that fails: after a start, no
 * segment is better than one with wrong bytes. */
void segment_put_entry(
    const struct segment *seg, uint32_t slot, const struct seg_entry *e);
void segment_drop_index(const struct segment *seg);
/* Overwrite the entry with zeros. */
void segment_forget_entry(const struct segment *seg, uint32_t slot);

#endif
