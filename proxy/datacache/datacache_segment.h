/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A segment: two files of some MiB, payload and index, that are written once,
 * front to back, mapped, and given up as a whole.
 */
#ifndef FOREFETCH_DATACACHE_SEGMENT_H
#define FOREFETCH_DATACACHE_SEGMENT_H

#include "datacache/datacache_private.h"

struct extent;

/*
 * Sizes of the files. A segment is evicted as a whole, so it is small beside
 * the cache; each takes two files and a mapping, so it is not too small.
 */
enum {
	SEGMENT_MIN = 2 << 20,
	SEGMENT_MAX = 64 << 20,
	SEGMENT_SHARE = 128, /* it is 1/128 of the cache, within MIN and MAX */
	SEGMENT_IDX_SHARE = 8, /* its index takes 1/8 of it at most */
};

/*
 * Each kind of data is written to segments of its own. Pinned data is not
 * evicted, so there should be little else in its segments; but whether a
 * segment is evicted depends on what of it is pinned at present. On disk only
 * SEGMENT_PREFETCH is marked; after a start all others are SEGMENT_DEMAND.
 */
enum segment_kind {
	SEGMENT_DEMAND,
	SEGMENT_PREFETCH,
	SEGMENT_PINNED,
	SEGMENT_LAYOUT, /* filled by the layout pass */
	SEGMENT_KINDS
};

struct segment {
	struct iopool_job job; /* making it, unlinking, unmapping */
	struct rbuf rb;        /* the mapping; one reference is the cache's */
	struct datacache *dc;  /* NULL: closed before the last reference */
	TAILQ_ENTRY(segment) link;
	uint32_t number; /* its name; rises with age */
	uint32_t id;     /* its place in dc->segs */
	enum segment_kind kind;
	bool dead; /* given up: nothing is found in it any more */
	/* A tombstone found no place in its index (which is unlinked then), or
	 * no memory: it is the next to be evicted. */
	bool doomed;
	bool held; /* unlinked, but somebody still sends from it */
	uint32_t bytes, used;
	uint32_t slots;         /* index entries given out, with the head */
	uint64_t charged_bytes; /* what it counts as in disk_bytes */
	uint64_t live_bytes, live_extents;
	uint64_t pinned_bytes; /* of the live ones */
	uint64_t last_drop;    /* the number of the last file dropped in it */
	unsigned
	    layout_moves; /* extents on their way out of it by the layout */
	uint32_t ahead_from, ahead_to; /* what was last verified ahead */
	int fd, idx_fd;                /* while it is written to */
	int err;                       /* of the job */
	uint64_t head_seq;             /* of the first entry of its index */
};

static inline struct segment *segment_by_id(
    const struct datacache *dc, uint32_t id)
{
	return dc->segs.v[id];
}

bool segments_init(struct datacache *dc);
/* How large the segments of a cache of that size are. */
uint32_t datacache_seg_bytes(uint64_t size_bytes);
/* Not mapped yet. NULL without memory. */
struct segment *segment_new(
    struct datacache *dc, enum segment_kind kind, uint32_t number);
/* Put it, mapped at `map`, into the lists; its bytes count from now on. */
void segment_adopt(struct segment *seg, void *map);
/* Have a job make the files of a new segment: writer_prepared(). False without
 * memory. */
bool segment_prepare(struct datacache *dc, enum segment_kind kind);

/* Call `each` with all that are not given up, kind by kind, the oldest first;
 * it may give up the one that it is called with. */
void segments_each(struct datacache *dc, void (*each)(struct segment *seg));
/* The oldest of a kind that `fits`, or NULL. */
struct segment *segment_oldest(const struct datacache *dc,
    enum segment_kind kind, bool (*fits)(const struct segment *seg));
/* Returns the bytes that the files of a kind take on disk. */
uint64_t segments_bytes(const struct datacache *dc, enum segment_kind kind);

/* Count again what its files take on disk. */
void segment_charge(struct segment *seg);
/* Its live data grew or shrank by these, which are of the extent `x`. */
void segment_account(struct segment *seg, const struct extent *x, int64_t bytes,
    int64_t extents);
/* How many entries its index may have. */
uint32_t segment_slots_max(const struct segment *seg);
/* Close its files: no more payload is written to it. */
void segment_seal(struct segment *seg);
/* Nobody writes to it, nor moves data out of it. */
bool segment_is_still(const struct segment *seg);
/* Give it up: its files are unlinked now, and it is unmapped when the last
 * reply that is sent from it has gone. Nothing may be alive in it. */
void segment_retire(struct segment *seg);
/* The cache is closed: replies that are still sent from segments keep them. */
void segments_detach(struct datacache *dc);
/* The cache is flushed: nothing is alive in any. */
void segments_retire(struct datacache *dc);
/* The segment whose mapping this is, or NULL. */
struct segment *segment_of(const struct rbuf *b);
/* The segment in whose mapping this address lies, or NULL. */
struct segment *segment_at(const struct datacache *dc, const void *data);

#endif
