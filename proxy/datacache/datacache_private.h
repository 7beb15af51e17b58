/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structs and functions that the parts of the data cache share; for the files
 * of this folder and their tests.
 *
 *   datacache.c          open and close; add, drop, cut, rebind, flush
 *   datacache_index.c    files and their extents, in memory
 *   datacache_segment.c  segment files: made, mapped, given up
 *   datacache_write.c    from the queue to a segment
 *   datacache_tomb.c     tombstones: what must not come back after a start
 *   datacache_read.c     find: what is there, and may it be sent at once?
 *   datacache_request.c  jobs that read and verify for find
 *   datacache_sum.c      checksums of what is on disk
 *   datacache_hang.c     a disk that does not answer
 *   datacache_ahead.c    verifying what will be wanted next
 *   datacache_evict.c    room: which segment goes, what of it is moved on
 *   datacache_pin.c      files that are not evicted
 *   datacache_layout.c   segments in the order of use; own header
 *   datacache_load.c     the indexes at start
 *   datacache_dir.c      the directory, and its file FORMAT
 *   compact.c            when the layout pass runs; own header
 *
 * Data moves like this:
 *
 *   add ─▶ pend ─▶ writer (a job) ─▶ segment ─▶ mapping ─▶ find ─▶ a reply
 *           │ found in memory           │ ▲
 *           ▼ until it is written       │ │ moved on: pinned, used or laid out
 *          find                         ▼ │
 *                                     evict: the oldest segment is unlinked
 *
 * On disk: FORMAT, and for each segment NNNNNNNN.seg (payload only) and
 * NNNNNNNN.idx (entries of one size, the first of which is a head). An entry
 * is written after its payload. Entries count where their checksum is right,
 * in the order of `seq` over all segments.
 *
 * The index of a segment is its .idx file. `struct index`, in memory, has all
 * files and their extents. Where a segment is in the table dc->segs is its id.
 */
#ifndef FOREFETCH_DATACACHE_PRIVATE_H
#define FOREFETCH_DATACACHE_PRIVATE_H

#include <stdatomic.h>
#include <sys/uio.h>

#include "base/iopool.h"
#include "datacache/datacache.h"
#include "datacache/datacache_layout.h"
#include "nfsproto/rbuf.h"

/*
 * Sizes of the files. A segment is evicted as a whole, so it is small beside
 * the cache; each takes two files and a mapping, so it is not too small.
 */
enum {
	SEGMENT_MIN = 2 << 20,
	SEGMENT_MAX = 64 << 20,
	SEGMENT_SHARE = 128, /* it is 1/128 of the cache, within MIN and MAX */
	SEGMENT_IDX_SHARE = 8, /* its index takes 1/8 of it at most */
	SEGMENT_NAME_MAX = 16, /* "NNNNNNNN.seg" */
	DATACACHE_LAYOUT = 1,  /* version of the files; change it with them */
	DATACACHE_PAGE = 4096,
};

/* Bounds of what is under way. */
enum {
	PENDING_MAX = 64 << 20, /* bytes in memory that wait for the disk */
	BATCH_MAX = 64,         /* pends of one write */
	BATCH_BYTES = 4 << 20,  /* of one write */
	REQUESTS_MAX = 256,     /* requests to the disk */
	EVICT_CHUNK = 1024,     /* index entries looked at in one turn */
	SUM_WINDOW =
	    32 << 10, /* bytes that a thread's checksum reads at once */
	AHEAD_BYTES = 256 << 10, /* verified behind what is wanted */
	/* A reply that fills less than 1/16 of its buffer is copied, so that
	 * the rest of the buffer is not kept. */
	COPY_SHARE = 16,
};

/* Who may have how much of the cache. */
enum {
	PREFETCH_SHARE = 16,  /* what nobody has used yet: 1/16 */
	PIN_SHARE = 2,        /* what is pinned: 1/2 */
	PIN_MEMORY_SHARE = 2, /* pins: 1/2 of the memory of all indexes */
	PIN_FILE_BYTES = 256, /* so much of that for each pinned file */
	PIN_KEPT_SHARE = 8,   /* 1/8 of both for the owner's pins alone */
	EVICT_CREDIT = 8,     /* segments' worth that eviction may move on */
};

/* The disk is switched off after three failures within a minute. */
enum { FAILURES_MAX = 3, FAILURES_US = 60000000 };

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

/* The first two are of enum datacache_flags, which says what firm is. */
enum extent_flags {
	EXT_FIRM = 1,
	EXT_PREFETCHED = 2,
	EXT_USED = 4,
	EXT_VERIFIED =
	    8, /* it was compared with its checksum since the start */
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

struct leaf {
	uint32_t n, room;
	struct extent v[];
};

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

/* All files, by key. Linear hashing (Litwin, VLDB 1980): it grows by one bucket
 * at a time, so that no call has to wait for a table to be copied. */
struct index {
	struct file **buckets;
	size_t room;  /* allocated; a power of two */
	size_t level; /* buckets before this round of splits; likewise */
	size_t split; /* the next to be split */
	uint64_t files;
};

/* A place among the extents of a file. */
struct extent_cursor {
	struct file *file;
	uint32_t leaf, at;
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

/* Two files: payload and index. It is written once, front to back. */
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
	uint64_t last_drop;    /* dc->drops at its last tombstone of a file */
	unsigned
	    layout_moves; /* extents on their way out of it by the layout */
	uint32_t ahead_from, ahead_to; /* what was last verified ahead */
	int fd, idx_fd;                /* while it is written to */
	int err;                       /* of the job */
	struct seg_entry head;
};

TAILQ_HEAD(segment_list, segment);

/*
 * Data on its way to a segment: from memory (`src` is NULL), or moved on from
 * an older segment by eviction or by the layout. It is found meanwhile.
 */
struct pend {
	TAILQ_ENTRY(pend) link;
	struct data_key key;
	uint64_t version[2];
	uint64_t offset;
	const unsigned char *data;
	struct rbuf *hold;
	uint64_t cost_bytes; /* memory that `hold` keeps for it */
	uint64_t live_bytes; /* of its bytes, what extents still refer to */
	uint32_t id, len;
	unsigned flags;
	bool busy;           /* a job is writing it */
	bool bad;            /* its source is not what was written there */
	bool by_layout;      /* if it cannot be moved, it stays in `src` */
	bool kept_in_place;  /* by_layout, and it could not be moved */
	struct segment *seg; /* where it goes; known while it is busy */
	uint32_t pos, slot;
	struct segment *src; /* where it comes from; `data` is its mapping */
	uint32_t src_pos, src_len, src_slot;
	uint64_t src_sum;
};

TAILQ_HEAD(pend_list, pend);

/* Fills the segments of one kind: one job at a time writes one batch. */
struct writer {
	struct iopool_job job;
	struct datacache *dc;
	enum segment_kind kind;
	struct pend_list moves; /* from other segments; they go first */
	struct pend_list queue; /* from memory */
	struct segment *seg;    /* being filled */
	uint64_t begun_us;      /* see datacache_hang.c; 0: not known yet */
	bool busy;              /* the job runs */
	bool waiting;           /* for a new segment, or for room for it */
	bool preparing;         /* the new segment is being made */
	int err;
	unsigned n;
	uint32_t pos, slot;
	struct pend *batch[BATCH_MAX];
	struct seg_entry entries[BATCH_MAX];
};

/* A tombstone on its way to the index of `seg`, where the dropped data lies. */
struct tomb {
	TAILQ_ENTRY(tomb) link;
	struct segment *seg;
	uint32_t slot;
	bool last; /* it does not fit: the index file is unlinked instead */
	struct seg_entry entry;
};

TAILQ_HEAD(tomb_list, tomb);

/* Eviction of one segment at a time; its job reads the victim's index. */
struct evict {
	struct iopool_job job;
	struct datacache *dc;
	struct segment *victim; /* NULL: none at present */
	bool reading;           /* the job runs */
	uint32_t slot, n;
	int err;
	unsigned moving;       /* pends whose source is the victim */
	uint64_t credit_bytes; /* what may be moved on for now */
	struct seg_entry *entries;
};

/* An extent that a request reads. */
struct request_item {
	struct segment *seg;
	uint64_t offset;
	uint32_t pos, len, slot;
	bool verify; /* compare it with its checksum, too */
	/* -EBADMSG: not what was written; -ECANCELED: not looked at */
	int err;
};

/* A read of the disk that somebody waits for; see datacache_request.c. */
struct request {
	struct iopool_job job;
	struct datacache *dc;
	TAILQ_ENTRY(request) link;
	TAILQ_HEAD(, datacache_waiter) waiters;
	struct data_key key;
	uint64_t begun_us; /* as a writer's */
	/* Nobody waits any more: the job skips what it has not begun. */
	atomic_bool given_up;
	uint64_t offset, end;
	/* The bytes of the segment behind the last item that are verified, too;
	 * both are 0 if none are. */
	uint32_t ahead_from, ahead_to;
	struct ahead *ahead; /* its outcome */
	unsigned n;
	struct request_item items[];
};

TAILQ_HEAD(request_list, request);

/* A pinned file; a place of the table is free where `pins` is 0. */
struct pinned {
	struct data_key key;
	uint64_t bytes; /* its size, as datacache_pin() was told */
	uint32_t pins;  /* a bit for each pin that it has */
	uint32_t seen;  /* bits of pins set since their datacache_pin_begin() */
};

/* Open addressing; the room is a power of two. */
struct pinned_table {
	struct pinned *v;
	size_t room;
	uint64_t files;
	uint64_t bytes;   /* sizes of all */
	uint32_t changed; /* see datacache_pins_changed() */
};

/* See datacache_hang.c. */
struct hang {
	uint64_t since_us; /* since when the disk does not answer; 0: it does */
	uint64_t over_us;  /* since when it does again */
	uint64_t pause_us; /* how long it is left alone after that */
};

struct datacache {
	const char *server;
	struct iopool *pool;
	char *dir;
	int dirfd;
	uint64_t id;         /* of this directory, made at random */
	uint64_t seq;        /* of the next entry of any index */
	uint64_t size_bytes; /* what the files may take */
	uint64_t cap_bytes;  /* the same, less where the disk was full */
	uint64_t memory_max_bytes;
	uint32_t seg_bytes;   /* of a new segment */
	uint32_t next_number; /* name of the next segment */
	bool off;             /* switched off, since the disk failed */
	bool full;            /* the disk takes nothing at present */
	bool closing;
	unsigned failures;      /* within FAILURES_US */
	int error;              /* the last of them, an errno */
	unsigned failures_seen; /* `failures` at the last tick */
	uint64_t failed_us;     /* the tick that saw the last one */
	uint64_t full_skipped_bytes;
	struct index index;
	struct index buried; /* flushed, and freed a little at a time */
	struct segment_list lists[SEGMENT_KINDS]; /* the oldest first */
	uint64_t kind_bytes[SEGMENT_KINDS];
	struct segment **segs; /* by id */
	uint32_t segs_room, segs_free;
	struct pend **pends; /* by id */
	uint32_t pends_room, pends_free;
	struct writer writers[SEGMENT_KINDS];
	uint64_t drops; /* whole files that were dropped so far */
	bool dropping;  /* a whole file: one tombstone for each segment */
	struct tomb_list tombs;
	struct tomb_list tombs_busy;
	struct iopool_job tomb_job;
	struct evict evict;
	uint64_t use_next;   /* the next place in the order of use */
	uint64_t run_first;  /* uses from here on are of the present run */
	bool run_new;        /* nothing was used in it yet */
	struct sequence run; /* how sequentially it reads the disk */
	struct layout layout;
	struct pinned_table pinned;
	struct request_list requests;
	unsigned request_count;
	struct hang hang;
	uint64_t dying_bytes; /* of segments that are being unlinked */
	uint64_t held_bytes;  /* of unlinked ones that somebody sends from */
	struct datacache_stats st;
};

/* datacache.c */
/* As realloc() and free(), but counted as malloc rounds it, in memory_bytes. */
void *dc_realloc(struct datacache *dc, void *p, size_t old, size_t size);
void dc_free(struct datacache *dc, void *p, size_t size);
/* The disk failed; the cache is switched off if that was once too often. */
void datacache_failed(struct datacache *dc, const char *what, int err);
/* How large the segments of a cache of that size are. */
uint32_t datacache_seg_bytes(uint64_t size_bytes);
/* The first free place from `*hint` on in a table of pointers, which grows if
 * there is none; -1 without memory. */
int64_t table_add(
    struct datacache *dc, void ***table, uint32_t *room, uint32_t *hint);

/* datacache_index.c */
struct file *index_lookup(struct datacache *dc, const struct data_key *key);
struct file *index_make(struct datacache *dc, const struct data_key *key,
    const uint64_t version[2]);
/* Free the file if no extent is left in it. */
void index_tidy(struct datacache *dc, struct file *f);
void index_clear(struct datacache *dc);
/* The same, but the memory is freed later, by datacache_bury(). */
void index_bury(struct datacache *dc);
/* To the first extent that ends behind `offset`. */
void index_seek(struct file *f, uint64_t offset, struct extent_cursor *c);
struct extent *cursor_get(const struct extent_cursor *c);
void cursor_next(struct extent_cursor *c);
/* No extent may overlap it. */
bool index_insert(struct datacache *dc, struct file *f, const struct extent *x);
void index_remove(struct datacache *dc, struct extent_cursor *c);
/* Remove what is known of [offset, end). `kill`: with a tombstone, so that it
 * does not come back after a start. */
void index_carve(struct datacache *dc, struct file *f, uint64_t offset,
    uint64_t end, bool kill);
/* The same for all that lies in a segment; looks at every extent there is. */
void index_drop_segment(struct datacache *dc, struct segment *seg, bool kill);
/* Whether it is (a part of) what one entry of a segment is about, or, pending,
 * what a pend is about. */
bool extent_is_of(const struct extent *x, uint32_t owner, uint32_t slot);

/* datacache_segment.c */
void segment_name(
    char name[SEGMENT_NAME_MAX], uint32_t number, const char *suffix);
struct segment *segment_new(
    struct datacache *dc, enum segment_kind kind, uint32_t number);
/* Put it, mapped at `map`, into the tables; its bytes count from now on. */
void segment_adopt(struct segment *seg, void *map);
/* Have a job make the files of a new segment: writer_prepared(). */
void segment_prepare(struct datacache *dc, enum segment_kind kind);
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
 * reply that is sent from it has gone. */
void segment_retire(struct segment *seg);
/* The cache is closed, and a reply still refers to it. */
void segment_detach(struct segment *seg);
/* The segment whose mapping this is, or NULL. */
struct segment *segment_of(const struct rbuf *b);
/* The segment in whose mapping this address lies, or NULL. */
struct segment *segment_at(const struct datacache *dc, const void *data);
/* Bring these bytes of a mapping into memory; -EIO where the disk fails,
 * -ENOSYS where the kernel cannot say. May block. */
int mapping_fault(const void *data, size_t len);
/* Read or write all, at an offset; 0 or -errno (-ENODATA: it is shorter). */
int read_all(int fd, void *buf, size_t len, uint64_t pos);
int write_all(int fd, const void *buf, size_t len, uint64_t pos);
uint64_t entry_sum(const struct seg_entry *e, uint64_t id);
/* Read entries of its index file; for threads. */
int segment_read_entries(
    const struct segment *seg, uint32_t slot, struct seg_entry *e, uint32_t n);
/* Overwrite an entry, or unlink the index if that fails: after a start, no
 * segment is better than one with wrong bytes. This and the next two are for
 * threads. */
void segment_put_entry(
    const struct segment *seg, uint32_t slot, const struct seg_entry *e);
void segment_drop_index(const struct segment *seg);
/* Overwrite the entry with zeros, which are no entry. */
void segment_forget_entry(const struct segment *seg, uint32_t slot);

/* datacache_sum.c */
/* A part of a segment file; for the stack of a thread. `from` and `len` say
 * which bytes are in `buf`, none at first; nothing from `end` on is read. */
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
/* On the loop: mark what was verified, and free it. NULL is allowed. */
void ahead_done(struct datacache *dc, struct ahead *a);

/* datacache_write.c */
void writer_init(struct datacache *dc);
/* Zeros, with an id; NULL without memory. */
struct pend *pend_new(struct datacache *dc);
void pend_queue(struct datacache *dc, struct pend *p);
struct writer *pend_writer(struct datacache *dc, const struct pend *p);
/* A pend that moves the extent to another segment; until it is written, the
 * extent is served from where it was. Not queued yet. */
struct pend *pend_move(
    struct datacache *dc, const struct file *f, struct extent *x);
void pend_free(struct datacache *dc, struct pend *p);
/* Drop what waits to be written; `moved`: only what comes from segments. */
void writer_discard(struct writer *w, bool moved);
/* Drop the moves of the layout; what they were to move stays in its place. */
void writer_discard_layout(struct writer *w);
/* Begin to write the next batch, if that can be done now. */
void writer_kick(struct writer *w);
/* The new segment is there; NULL: it could not be made, `err` says why. */
void writer_prepared(struct writer *w, struct segment *seg, int err);

/* datacache_tomb.c */
void tomb_init(struct datacache *dc);
void tomb_add(struct datacache *dc, struct segment *seg,
    const struct data_key *key, uint64_t offset, uint64_t len);
void tomb_clear(struct datacache *dc);

/* datacache_read.c */
void version_hash(const struct data_version *v, uint64_t hash[2]);
bool version_is(const struct file *f, const struct data_version *v);

/* datacache_request.c */
/* A request under way that brings all of the range, or NULL. `unverified`: the
 * range has to be verified, not just read. */
struct request *request_find(struct datacache *dc, struct file *f,
    const struct datacache_read *rd, bool unverified);
/* Begin one; NULL without memory. */
struct request *request_start(
    struct datacache *dc, struct file *f, const struct datacache_read *rd);
/* The disk hangs: all who wait are woken, and miss. */
void requests_give_up(struct datacache *dc);
/* The cache is closed: waiters are forgotten without a word. */
void requests_forget_waiters(struct datacache *dc);

/* datacache_evict.c */
/* Is there room for one more segment? */
bool evict_has_room(const struct datacache *dc);
/* Is there room for a segment for which nothing will ever be evicted? */
bool evict_has_spare_room(const struct datacache *dc);
/* The index has grown faster than eviction can make room. */
bool evict_memory_full(const struct datacache *dc);
void evict_init(struct datacache *dc);
/* Make room, and wake what waits for it. */
void evict_kick(struct datacache *dc);
/* A pend whose source is the victim is gone. */
void evict_moved(struct datacache *dc);

/* datacache_pin.c */
/* Whether data of this file that comes in is to be pinned. */
bool pin_wants(
    const struct datacache *dc, const struct data_key *key, uint32_t len);
/* A pinned extent was dropped, changed or damaged, not evicted. */
void pin_lost(struct datacache *dc, const struct data_key *key);
void pin_free(struct datacache *dc);

/* datacache_load.c */
/* Read the indexes of the directory; 0, or -errno and a sentence in `err`. */
int load_dir(struct datacache *dc, char *err, size_t errlen);
/* Give up the segments in which nothing was found. */
void load_retire(struct datacache *dc);
/* Empty the directory and begin anew; nobody else may use it meanwhile. */
int load_anew(struct datacache *dc, char *err, size_t errlen);

#endif
