/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the data cache share; for datacache*.c and their tests.
 *
 *   datacache.c          opening, closing; add, drop, cut, rebind, flush
 *   datacache_index.c    files and their extents, in memory
 *   datacache_segment.c  segment files: made, mapped, given up
 *   datacache_write.c    from the queue to a segment
 *   datacache_tomb.c     what must not come back after a start
 *   datacache_read.c     find; verifying and reading in
 *   datacache_sum.c      checksums of what is on disk
 *   datacache_hang.c     a disk that does not answer
 *   datacache_ahead.c    verifying what will be wanted next
 *   datacache_evict.c    room: which segment goes, what of it is moved on
 *   datacache_pin.c      files that are to stay
 *   datacache_layout.c   segments in the order of use
 *   datacache_load.c     the directory at start
 *
 * On disk: FORMAT, and for each segment NNNNNNNN.seg (payload only) and
 * NNNNNNNN.idx (entries of one size, the first of which is a head). An entry
 * is written after its payload. Entries count where their checksum is right,
 * in the order of `seq` over all segments.
 */
#ifndef FOREFETCH_DATACACHE_PRIVATE_H
#define FOREFETCH_DATACACHE_PRIVATE_H

#include <stdatomic.h>
#include <sys/uio.h>

#include "base/iopool.h"
#include "datacache/datacache.h"
#include "nfsproto/rbuf.h"

enum {
	SEGMENT_MIN = 2 << 20,
	SEGMENT_MAX = 64 << 20,
	SEGMENT_SHARE = 128,    /* of these make up the cache */
	SEGMENT_IDX_SHARE = 8,  /* index of a segment: at most 1/8 of it */
	SEGMENT_NAME_MAX = 16,  /* "NNNNNNNN.seg" */
	PENDING_MAX = 64 << 20, /* bytes held for the disk */
	COPY_SHARE = 16,        /* less than 1/16 of its buffer is copied */
	BATCH_MAX = 64,         /* extents of one write */
	BATCH_BYTES = 4 << 20,  /* of one write */
	REQUESTS_MAX = 256,     /* finds that wait for the disk */
	EVICT_CHUNK = 1024,     /* index entries looked at in one turn */
	EVICT_CREDIT = 8,       /* segments' worth that may be moved on */
	PREFETCH_SHARE = 16,    /* prefetched data is let have 1/16 */
	PIN_SHARE = 2,          /* pinned data may be 1/2 of the cache, */
	PIN_MEMORY_SHARE = 2,   /* its index 1/2 of all indexes, at */
	PIN_FILE_BYTES = 256,   /* so much a file */
	FAILURES_MAX = 3,       /* of the disk; then it is switched off */
	FAILURES_US = 60000000, /* after that, they are forgiven */
	DATACACHE_LAYOUT = 1,   /* of the files; change it with them */
	DATACACHE_PAGE = 4096,
	SUM_WINDOW = 32 << 10,
	AHEAD_BYTES = 256 << 10, /* verified behind what is wanted */
	LAYOUT_MAX = 1 << 17,    /* extents that are laid out, at most: those
				  * used last */
	LAYOUT_CHUNK = 1024,     /* files or extents looked at in one step */
	LAYOUT_GAP = 128 << 10,  /* the kernel's readahead bridges it */
	LAYOUT_RUN_SHARE = 32,   /* a run stays that is so many times as long
				  * as its first extent */
};

/* 72 bytes in the byte order of the machine. */
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

enum entry_kind {
	ENTRY_HEAD = 1,
	ENTRY_DATA = 2,
	ENTRY_TOMB = 4, /* the range is forgotten */
	ENTRY_FIRM = 8,
	ENTRY_PREFETCHED = 16, /* head: a segment of such */
};

static inline uint32_t entry_len(const struct seg_entry *e)
{
	return e->len_kind & 0xffffff;
}

static inline unsigned entry_kind(const struct seg_entry *e)
{
	return e->len_kind >> 24;
}

/* The first two are enum datacache_flags. */
enum extent_flags {
	EXT_FIRM = 1,
	EXT_PREFETCHED = 2,
	EXT_USED = 4,
	EXT_VERIFIED = 8,
	EXT_PENDING = 16,
	EXT_MOVED = 32, /* firm before a change of our own */
	EXT_PINNED = 64,
};

struct extent {
	uint64_t offset;
	/* In the lower 8 bits enum extent_flags; above, of firm ones: the
	 * place in the order of use (0: not used since the start); of others:
	 * sent_us. */
	uint64_t meta;
	uint32_t len;
	uint32_t pos;   /* in the segment; while pending, in the record */
	uint32_t owner; /* the segment; while pending, the pend */
	uint32_t slot;  /* of its entry in the segment's index */
};

struct leaf {
	uint32_t n, room;
	struct extent v[];
};

/* A sorted array in leaves, so that nothing moves more than a leaf. Most
 * files have one extent, which then lies here: `leaves` is 0, and len is 0
 * where there is none. */
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

/* All files: linear hashing, so that growing never takes a pause. */
struct index {
	struct file **buckets;
	size_t room;  /* allocated; a power of two */
	size_t level; /* buckets before this round of splits; likewise */
	size_t split; /* the next to be split */
	uint64_t files;
};

struct cursor {
	struct file *file;
	uint32_t leaf, at;
};

/* What is pinned goes to segments of its own, so that there is little else in
 * those that stay. On disk they are as those of SEGMENT_DEMAND: whether a
 * segment stays follows from what of it is pinned at present. So are those
 * that were laid out. */
enum segment_kind {
	SEGMENT_DEMAND,
	SEGMENT_PREFETCH,
	SEGMENT_PINNED,
	SEGMENT_LAID,
	SEGMENT_KINDS
};

struct segment {
	struct iopool_job job; /* making it, unlinking, unmapping */
	struct rbuf rb;        /* the mapping; one reference is the cache's */
	struct datacache *dc;  /* NULL: closed before the last reference */
	TAILQ_ENTRY(segment) link;
	uint32_t number; /* its name; rises with age */
	uint32_t index;  /* in dc->segs */
	enum segment_kind kind;
	bool dead;   /* given up */
	bool doomed; /* its index is full: tombstones cannot be kept */
	bool held;   /* unlinked, but somebody sends from it */
	uint32_t bytes, used;
	uint32_t slots;         /* index entries given out, the head too */
	uint64_t charged_bytes; /* its part of disk_bytes */
	uint64_t live_bytes, live_extents;
	uint64_t pinned_bytes; /* of the live ones */
	uint64_t dropped;      /* the last drop that it has a tombstone of */
	unsigned laying;       /* pends of the layout whose source it is */
	uint32_t ahead_from, ahead_to; /* bytes last verified ahead */
	int fd, idx_fd;                /* while it is written to */
	int err;                       /* of the job */
	struct seg_entry head;
};

TAILQ_HEAD(segment_list, segment);

/* Data on its way to a segment. */
struct pend {
	TAILQ_ENTRY(pend) link;
	struct data_key key;
	uint64_t version[2];
	uint64_t offset;
	const unsigned char *data;
	struct rbuf *hold;
	uint64_t cost_bytes; /* of what it holds */
	uint64_t live_bytes; /* that extents still refer to */
	uint32_t id, len;
	unsigned flags;
	bool busy;           /* a job has it */
	bool bad;            /* its source does not verify */
	bool laid;           /* moved by the layout: in vain, it stays */
	bool stays;          /* it cannot be */
	struct segment *seg; /* where it goes; known while it is busy */
	uint32_t pos, slot;
	struct segment *src; /* moved on from here; `data` is its mapping */
	uint32_t src_pos, src_len, src_slot;
	uint64_t src_sum;
};

TAILQ_HEAD(pend_list, pend);

struct writer {
	struct iopool_job job;
	struct datacache *dc;
	enum segment_kind kind;
	struct pend_list moves; /* to be moved on; they go first */
	struct pend_list queue;
	struct segment *seg; /* that is filled now */
	uint64_t begun_us;   /* see datacache_hang.c; 0: not known yet */
	bool busy;           /* the job runs */
	bool waiting;        /* for a new segment */
	bool preparing;      /* which is being made */
	int err;
	unsigned n;
	uint32_t pos, slot;
	struct pend *batch[BATCH_MAX];
	struct seg_entry entries[BATCH_MAX];
};

struct tomb {
	TAILQ_ENTRY(tomb) link;
	struct segment *seg;
	uint32_t slot;
	bool last; /* no more fit: the index goes instead */
	struct seg_entry entry;
};

TAILQ_HEAD(tomb_list, tomb);

struct evict {
	struct iopool_job job;
	struct datacache *dc;
	struct segment *victim; /* NULL: none at present */
	bool reading;           /* the job runs */
	uint32_t slot, n;
	int err;
	unsigned moving;       /* pends whose source is the victim */
	uint64_t credit_bytes; /* that may be moved on */
	struct seg_entry *entries;
};

/* Where the last read ended, for the sequential share. */
struct sequence {
	uint32_t segment; /* index */
	uint64_t end;     /* 0: there was none */
	struct datacache_sequence sum;
};

enum layout_phase {
	LAYOUT_NONE,
	LAYOUT_COLLECT, /* what was used, from all buckets of the index */
	LAYOUT_BEFORE,  /* how it lies now */
	LAYOUT_MOVE,
	LAYOUT_LAND, /* until the last move has arrived */
	LAYOUT_AFTER
};

/* An extent that was used; len is 0 where there is none. */
struct layout_item {
	struct data_key key;
	uint64_t offset;
	uint32_t len;
	bool stays;
};

struct layout {
	enum layout_phase phase;
	bool forced;
	bool broken;              /* the disk was full, or failed */
	struct layout_item *plan; /* in the order of use, from `first` on */
	uint64_t first;
	uint32_t n, at;
	size_t bucket;
	uint32_t run; /* item that the present run began with … */
	uint32_t run_first_bytes;
	uint64_t run_bytes;
	unsigned moving;
	uint64_t moved_bytes; /* of all passes, when this one began */
	uint64_t use_next;    /* … */
	uint64_t laid_next;   /* uses before it were looked at by a pass */
	struct sequence seq;
	enum datacache_layout_end end;
};

struct request_item {
	struct segment *seg;
	uint64_t offset;
	uint32_t pos, len, slot;
	bool verify;
	/* -EBADMSG: not what was written; -ECANCELED: not looked at */
	int err;
};

struct request {
	struct iopool_job job;
	struct datacache *dc;
	TAILQ_ENTRY(request) link;
	TAILQ_HEAD(, datacache_waiter) waiters;
	struct data_key key;
	uint64_t begun_us; /* as a writer's */
	/* Nobody waits any more: if it has not begun, it need not. */
	atomic_bool given_up;
	uint64_t offset, end;
	/* What is verified behind the last item: bytes of its segment; from 0
	 * to 0 where that is not done. */
	uint32_t ahead_from, ahead_to;
	struct ahead *ahead; /* its outcome */
	unsigned n;
	struct request_item items[];
};

TAILQ_HEAD(request_list, request);

/* A file that is to stay; `pins` is 0 where the place is free. */
struct pinned {
	struct data_key key;
	uint64_t bytes; /* its size, as it was said to be */
	uint32_t pins;  /* a bit for each pin that has it */
	uint32_t seen;  /* … and met it since datacache_pin_begin() */
};

/* Open addressing; the room is a power of two. */
struct pinned_table {
	struct pinned *v;
	size_t room;
	uint64_t files;
	uint64_t bytes;   /* sizes of all */
	uint32_t changed; /* see datacache_pins_changed() */
};

struct hang {
	uint64_t since_us; /* the disk does not answer; 0: it does */
	uint64_t over_us;  /* … but does again */
	uint64_t pause_us; /* that it is left alone for, then */
};

struct datacache {
	const char *server;
	struct iopool *pool;
	char *dir;
	int dirfd;
	uint64_t id; /* of this directory; made at random */
	uint64_t seq;
	uint64_t size_bytes;
	uint64_t cap_bytes; /* less, where the disk was full */
	uint64_t memory_max_bytes;
	uint32_t seg_bytes;
	uint32_t next_number;
	bool off;  /* the disk failed */
	bool full; /* it takes nothing */
	bool closing;
	unsigned failures; /* within FAILURES_US */
	int error;         /* the last of them, an errno */
	unsigned failures_seen;
	uint64_t failed_us; /* when the check saw it */
	uint64_t full_skipped_bytes;
	struct index index;
	struct index buried; /* flushed, and freed bit by bit */
	struct segment_list lists[SEGMENT_KINDS]; /* the oldest first */
	uint64_t kind_bytes[SEGMENT_KINDS];
	struct segment **segs; /* by index */
	uint32_t segs_room, segs_free;
	struct pend **pends; /* by id */
	uint32_t pends_room, pends_free;
	struct writer writers[SEGMENT_KINDS];
	uint64_t drops;
	bool dropping; /* a whole file: one tombstone a segment will do */
	struct tomb_list tombs;
	struct tomb_list tombs_busy;
	struct iopool_job tomb_job;
	struct evict evict;
	uint64_t use_next;  /* the next place in the order of use */
	uint64_t run_first; /* uses from here on are of the present run */
	bool run_new;       /* nothing was used in it yet */
	struct sequence run;
	struct layout layout;
	struct pinned_table pinned;
	struct request_list requests;
	unsigned request_count;
	struct hang hang;
	uint64_t dying_bytes; /* given up, about to be free */
	uint64_t held_bytes;  /* given up, somebody sends from it */
	struct datacache_stats st;
};

/* datacache.c */
/* Counts what is allocated, as malloc rounds it. NULL where there is none. */
void *dc_realloc(struct datacache *dc, void *p, size_t old, size_t size);
void dc_free(struct datacache *dc, void *p, size_t size);
/* The disk failed once more; perhaps the last time. */
void datacache_failed(struct datacache *dc, const char *what, int err);
uint32_t datacache_seg_bytes(uint64_t size_bytes);
/* A table of pointers that grows; -1 where there is no memory. */
int64_t table_add(
    struct datacache *dc, void ***table, uint32_t *room, uint32_t *hint);

/* datacache_index.c */
struct file *index_lookup(struct datacache *dc, const struct data_key *key);
struct file *index_make(struct datacache *dc, const struct data_key *key,
    const uint64_t version[2]);
/* Free the file if no extent is left in it. */
void index_tidy(struct datacache *dc, struct file *f);
void index_clear(struct datacache *dc);
/* The same, but that the memory is freed by datacache_bury(). */
void index_bury(struct datacache *dc);
/* To the first extent that ends behind `offset`. */
void index_seek(struct file *f, uint64_t offset, struct cursor *c);
struct extent *cursor_get(const struct cursor *c);
void cursor_next(struct cursor *c);
/* Nothing may overlap. */
bool index_insert(struct datacache *dc, struct file *f, const struct extent *x);
void index_remove(struct datacache *dc, struct cursor *c);
/* Take [offset, end) out; `kill`: it must not come back after a start. */
void index_carve(struct datacache *dc, struct file *f, uint64_t offset,
    uint64_t end, bool kill);
/* All that lies in a segment; looks at every extent there is. */
void index_drop_segment(struct datacache *dc, struct segment *seg, bool kill);
/* The extents of one entry of a segment, or of one pend. */
bool extent_is_of(const struct extent *x, uint32_t owner, uint32_t slot);

/* datacache_segment.c */
void segment_name(
    char name[SEGMENT_NAME_MAX], uint32_t number, const char *suffix);
struct segment *segment_new(
    struct datacache *dc, enum segment_kind kind, uint32_t number);
/* Into the tables, mapped and charged. */
void segment_adopt(struct segment *seg, void *map);
void segment_prepare(struct datacache *dc, enum segment_kind kind);
void segment_charge(struct segment *seg);
/* `bytes` and `extents` more, or less, of an extent in it. */
void segment_account(struct segment *seg, const struct extent *x, int64_t bytes,
    int64_t extents);
uint32_t segment_slots_max(const struct segment *seg);
/* No more is written to it. */
void segment_seal(struct segment *seg);
/* Nobody writes to it, nor moves data out of it. */
bool segment_is_still(const struct segment *seg);
/* Given up: unlinked now, unmapped with the last reference. */
void segment_retire(struct segment *seg);
void segment_detach(struct segment *seg);
/* The segment whose mapping this is, or NULL. */
struct segment *segment_of(const struct rbuf *b);
/* … in whose mapping this lies. */
struct segment *segment_at(const struct datacache *dc, const void *data);
/* Have these bytes of a mapping in memory; -EIO where the disk fails, -ENOSYS
 * where the kernel cannot say. May block. */
int mapping_fault(const void *data, size_t len);
/* Read or write all, at an offset; 0 or -errno (-ENODATA: it is shorter). */
int read_all(int fd, void *buf, size_t len, uint64_t pos);
int write_all(int fd, const void *buf, size_t len, uint64_t pos);
uint64_t entry_sum(const struct seg_entry *e, uint64_t id);
/* Of the idx file by number; for threads. */
int segment_read_entries(
    const struct segment *seg, uint32_t slot, struct seg_entry *e, uint32_t n);
/* Write one over what is there, or lose the index: better no segment after a
 * start than one with wrong bytes. This and the next two are for threads. */
void segment_put_entry(
    const struct segment *seg, uint32_t slot, const struct seg_entry *e);
void segment_drop_index(const struct segment *seg);
/* The entry is none from now on. */
void segment_forget_entry(const struct segment *seg, uint32_t slot);

/* datacache_sum.c */
/* 32 KiB of a segment file; for the stack of a thread. `from`, `len`: what is
 * in `buf`, nothing at first; nothing from `end` on is read. */
struct sum_window {
	int fd;
	uint64_t from, end;
	size_t len;
	unsigned char buf[SUM_WINDOW];
};
/* XXH3 of `len` bytes from `pos` of the file; 0 or -errno. */
int window_sum(struct sum_window *w, uint64_t pos, uint32_t len, uint64_t *sum);

/* datacache_ahead.c */
/* In a thread: verify the entries from `slot` on, whose payloads begin at
 * `from` of the segment file `fd`. NULL where there is no memory. */
struct ahead *ahead_run(struct datacache *dc, const struct segment *seg,
    uint32_t slot, uint32_t from, int fd);
/* On the loop: use and free it. NULL is allowed. */
void ahead_done(struct datacache *dc, struct ahead *a);

/* datacache_write.c */
void writer_init(struct datacache *dc);
struct pend *pend_new(struct datacache *dc);
void pend_queue(struct datacache *dc, struct pend *p);
struct writer *pend_writer(struct datacache *dc, const struct pend *p);
/* The extent, served from its segment's mapping until it is written to
 * another one. Not queued yet. */
struct pend *pend_move(
    struct datacache *dc, const struct file *f, struct extent *x);
void pend_free(struct datacache *dc, struct pend *p);
/* Give up what waits; `moved`: only what is moved on. */
void writer_discard(struct writer *w, bool moved);
/* … only what the layout moves: it stays where it was. */
void writer_discard_laid(struct writer *w);
void writer_kick(struct writer *w);
/* The segment is there, or cannot be had. */
void writer_prepared(struct writer *w, struct segment *seg, int err);

/* datacache_tomb.c */
void tomb_init(struct datacache *dc);
void tomb_add(struct datacache *dc, struct segment *seg,
    const struct data_key *key, uint64_t offset, uint64_t len);
void tomb_clear(struct datacache *dc);

/* datacache_read.c */
void version_hash(const struct data_version *v, uint64_t hash[2]);
bool version_is(const struct file *f, const struct data_version *v);
/* Nobody waits any more: all who did, miss. */
void read_give_up(struct datacache *dc);
void read_forget_waiters(struct datacache *dc);

/* datacache_evict.c */
/* Room for one more segment? */
bool evict_room(const struct datacache *dc);
/* … for one that nothing is given up for, ever? */
bool evict_room_spare(const struct datacache *dc);
/* So much in memory that giving up cannot keep pace. */
bool evict_memory_full(const struct datacache *dc);
/* Make room, and let go on what waits for it. */
void evict_init(struct datacache *dc);
void evict_kick(struct datacache *dc);
/* A pend whose source is the victim is gone. */
void evict_moved(struct datacache *dc);

/* datacache_pin.c */
/* Whether data of this file that comes in is to stay. */
bool pin_wants(
    const struct datacache *dc, const struct data_key *key, uint32_t len);
/* A pinned extent is gone, though not for want of room. */
void pin_lost(struct datacache *dc, const struct data_key *key);
void pin_free(struct datacache *dc);

/* datacache_layout.c */
void layout_init(struct datacache *dc);
/* A firm extent that comes in now; `ahead`: without being used. */
uint64_t layout_stamp(struct datacache *dc, bool ahead);
/* It is read. */
void layout_use(
    struct datacache *dc, struct file *f, const struct datacache_read *rd);
/* A pend of the layout is gone; its source was `src`. */
void layout_moved(struct datacache *dc, struct segment *src);
/* A segment for what is laid out cannot be had, or written to (NULL: none). */
void layout_failed(struct datacache *dc, struct segment *seg, int err);
/* Nothing waits for room that will not come. */
void layout_check_room(struct datacache *dc);

/* datacache_load.c */
int load_dir(struct datacache *dc, char *err, size_t errlen);
/* Segments in which nothing was found go. */
void load_retire(struct datacache *dc);
/* Without what is there; nobody else may use the disk meanwhile. */
int load_anew(struct datacache *dc, char *err, size_t errlen);

#endif
