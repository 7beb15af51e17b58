/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and their extents, in memory. datacache_index.c has the containers,
 * datacache_extent.c what happens to the owners of what is put in and taken
 * out.
 */
#ifndef FOREFETCH_DATACACHE_INDEX_H
#define FOREFETCH_DATACACHE_INDEX_H

#include "datacache/datacache_private.h"

/* The first two are of enum datacache_flags, which says what firm is. */
enum extent_flags {
	EXT_FIRM = 1,
	EXT_PREFETCHED = 2,
	EXT_USED = 4,
	/* It was compared with its checksum since the start, or written since;
	 * what lies in a segment has been taken by the disk. */
	EXT_VERIFIED = 8,
	EXT_PENDING = 16,  /* not written yet: `owner` is a pend */
	EXT_WAS_FIRM = 32, /* it was, before a change of our own */
	EXT_PINNED = 64,
};

/* A range of a file whose bytes lie in one piece, in a segment or in memory. */
struct extent {
	uint64_t offset;
	/* In the lower 8 bits enum extent_flags. Above them, what
	 * extent_order() gives of a firm one, and extent_sent_us() of another.
	 */
	uint64_t meta;
	uint32_t len;
	uint32_t pos;   /* in the segment; while pending, in the pend's data */
	uint32_t owner; /* id of the segment; while pending, of the pend */
	uint32_t slot;  /* number of its entry in the segment's index file */
};

/* Its place in the order of use; 0: it was not used since the start, or is not
 * firm. */
static inline uint64_t extent_order(const struct extent *x)
{
	return x->meta & EXT_FIRM ? x->meta >> 8 : 0;
}

/* When the call was sent that brought it; only where it is not firm. */
static inline uint64_t extent_sent_us(const struct extent *x)
{
	return x->meta >> 8;
}

static inline uint64_t extent_end(const struct extent *x)
{
	return x->offset + x->len;
}

/*
 * The extents of a file: an array sorted by offset, cut into leaves, so that an
 * insertion moves no more than one leaf. Most files have one extent; it lies in
 * the struct itself then: `leaves` is 0. Its len is 0 if there is no extent.
 */
struct file {
	struct file *next;
	struct data_key key;
	uint64_t version[2];
	uint32_t leaves, room;
	union {
		struct extent one;
		struct leaf **dir;
	};
};

/* A place among the extents of a file. */
struct extent_cursor {
	struct file *file;
	uint32_t leaf, at;
};

/* ---- datacache_index.c ------------------------------------------------ */

bool index_init(struct datacache *dc);
void index_free(struct datacache *dc);
struct file *index_lookup(struct datacache *dc, const struct data_key *key);
struct file *index_make(struct datacache *dc, const struct data_key *key,
    const uint64_t version[2]);
/* Free the file if no extent is left in it. */
void index_tidy(struct datacache *dc, struct file *f);
/* Forget all; the memory is freed later, by datacache_bury(). */
void index_bury(struct datacache *dc);
/* Call `each`, which may tidy it, with all files in `n` buckets from `*bucket`
 * on; false: there are no more. Where the index grows meanwhile, files move to
 * buckets at the end. */
bool index_walk(struct datacache *dc, size_t *bucket, size_t n,
    void (*each)(void *ctx, struct file *f), void *ctx);
/* To the first extent that ends behind `offset`. */
void index_seek(struct file *f, uint64_t offset, struct extent_cursor *c);
struct extent *cursor_get(const struct extent_cursor *c);
void cursor_next(struct extent_cursor *c);
/* Put one in, where none overlaps it, or take one out. Their owners do not hear
 * of it. */
bool index_put(struct datacache *dc, struct file *f, const struct extent *x);
void index_take(struct datacache *dc, struct extent_cursor *c);

/* ---- datacache_extent.c ----------------------------------------------- */

/* No extent may overlap it. */
bool index_insert(struct datacache *dc, struct file *f, const struct extent *x);
void index_remove(struct datacache *dc, struct extent_cursor *c);
/* Remove what is known of [offset, end). `kill`: with a tombstone, so that it
 * does not come back after a start. */
void index_carve(struct datacache *dc, struct file *f, uint64_t offset,
    uint64_t end, bool kill);
/* The same, with tombstones, for those extents alone that are not firm. */
void index_carve_loose(
    struct datacache *dc, struct file *f, uint64_t offset, uint64_t end);
/* The same as index_carve() for all that lies in a segment; looks at every
 * extent there is. */
void index_drop_segment(struct datacache *dc, struct segment *seg, bool kill);
/* The entry in `slot` of the segment was compared with its checksum: what
 * there still is of its extents, moved on or not, is verified, or removed. */
void index_judge(struct datacache *dc, const struct data_key *key,
    uint64_t offset, uint32_t len, const struct segment *seg, uint32_t slot,
    bool sound);
/* Whether it is (a part of) what one entry of a segment is about. */
bool extent_is_of(const struct extent *x, uint32_t owner, uint32_t slot);

/* Where an extent's bytes are. */
struct extent_place {
	const unsigned char *data;
	struct rbuf *hold;
	struct segment *seg; /* whose mapping has them; NULL: memory has */
	uint32_t slot;       /* the number of its entry there */
};
struct extent_place extent_place(
    const struct datacache *dc, const struct extent *x);

void version_hash(const struct data_version *v, uint64_t hash[2]);
bool version_is(const struct file *f, const struct data_version *v);
/* The file, of which everything is removed if its version is another one. */
struct file *file_of_version(struct datacache *dc, const struct data_key *key,
    const struct data_version *version);

#endif
