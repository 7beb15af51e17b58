/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * struct datacache, and the doors of its rooms; for the files of this folder
 * and their tests. Each room keeps its own struct in its .c file.
 *
 *   datacache.c          open, close, flush, switch on and off
 *   datacache_add.c      add: from the caller to the queue
 *   datacache_index.c    files and their extents, in memory: the containers
 *   datacache_extent.c   the same with who owns an extent; drop, cut, rebind
 *   datacache_disk.c     names, entries and bytes of the files on disk
 *   datacache_segment.c  segment files: made, mapped, given up
 *   datacache_write.c    from the queue to a segment
 *   datacache_batch.c    what one job writes
 *   datacache_tomb.c     tombstones: what must not come back after a start
 *   datacache_read.c     find: what is there, and may it be sent at once?
 *   datacache_request.c  jobs that read and verify for find
 *   datacache_sum.c      checksums of what is on disk
 *   datacache_hang.c     a disk that does not answer, or fails
 *   datacache_ahead.c    verifying what will be wanted next
 *   datacache_evict.c    room: which segment goes, what of it is moved on
 *   datacache_pin.c      files that are not evicted
 *   datacache_layout.c   segments in the order of use
 *   datacache_load.c     the indexes at start
 *   datacache_dir.c      the directory, and its file FORMAT
 *   compact.c            when the layout pass runs
 *
 * The nouns have headers: datacache_index.h (extents and files),
 * datacache_segment.h, datacache_write.h (pends), datacache_batch.h,
 * datacache_request.h, datacache_disk.h (entries). Data moves like this:
 *
 *   add ─▶ pend ─▶ writer (a job) ─▶ segment ─▶ mapping ─▶ find ─▶ a reply
 *           │ found in memory           │ ▲
 *           ▼ until it is written       │ │ moved on: pinned, used or laid out
 *          find                         ▼ │
 *                                     evict: the oldest segment is unlinked
 */
#ifndef FOREFETCH_DATACACHE_PRIVATE_H
#define FOREFETCH_DATACACHE_PRIVATE_H

#include "base/iopool.h"
#include "datacache/datacache.h"

struct segment;

/* Pointers by number. A number that is free is given out again. */
struct id_table {
	void **v;
	uint32_t room;
	uint32_t free; /* no lower number is free */
};

enum { WRITE_UNIT = 1 << 20 };

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
	bool gathers; /* see datacache_params */
	uint64_t full_skipped_bytes;
	uint64_t dying_bytes;  /* of segments that are being unlinked */
	uint64_t held_bytes;   /* of unlinked ones that somebody sends from */
	struct id_table segs;  /* struct segment: an extent has its number */
	struct id_table pends; /* struct pend: so has a pending extent */
	struct index *index;
	struct segments *segments;
	struct writer *writers; /* one for each kind of segment */
	struct tombs *tombs;
	struct requests *requests;
	struct disk_health *health;
	struct evict *evict;
	struct layout *layout;
	struct pinned_table *pinned;
	/* The time that WRITE_UNIT bytes take, a mean of the last batches; 0:
	 * none was written yet. */
	uint64_t write_us;
	/* Counts adds that is_spared() could refuse; it lets one in 32 in. */
	unsigned spare_turns;
	struct datacache_stats st; /* datacache_get_stats() has the rest */
};

/* ---- datacache.c ------------------------------------------------------ */

/* As realloc() and free(), but counted as malloc rounds it, in memory_bytes. */
void *dc_realloc(struct datacache *dc, void *p, size_t old, size_t size);
void dc_free(struct datacache *dc, void *p, size_t size);
/* Zeros, counted likewise; NULL without memory. */
void *dc_new(struct datacache *dc, size_t size);
/* Give `p` a number; -1 without memory. */
int64_t id_add(struct datacache *dc, struct id_table *t, void *p);
void id_remove(struct id_table *t, uint32_t id);

/* ---- datacache_hang.c ------------------------------------------------- */

bool health_init(struct datacache *dc);
/* The disk failed; the cache is switched off if that was once too often. */
void datacache_failed(struct datacache *dc, const char *what, int err);
/* The earlier of `oldest` and since when a job is under way, if that is `us` or
 * longer. `*begun_us`, 0 at first, is set by the first call, since nobody else
 * knows the time. */
uint64_t job_late_since(
    uint64_t *begun_us, uint64_t now_us, uint64_t us, uint64_t oldest);

/* ---- datacache_tomb.c ------------------------------------------------- */

bool tomb_init(struct datacache *dc);
/* Void what the index of `seg` says of the range. */
void tomb_add(struct datacache *dc, struct segment *seg,
    const struct data_key *key, uint64_t offset, uint64_t len);
/* Drop those that wait to be written. */
void tomb_clear(struct datacache *dc);

/* ---- datacache_evict.c ------------------------------------------------ */

bool evict_init(struct datacache *dc);
void evict_free(struct datacache *dc);
/* Is there room for one more segment? */
bool evict_has_room(const struct datacache *dc);
/* Is there room for a segment for which nothing will ever be evicted? */
bool evict_has_spare_room(const struct datacache *dc);
/* The index has grown faster than eviction can make room. */
bool evict_memory_full(const struct datacache *dc);
/* The segment that is being evicted; NULL: none is. */
const struct segment *evict_victim(const struct datacache *dc);
/* A job reads its index: it is not known yet what will be moved. */
bool evict_is_reading(const struct datacache *dc);
/* Make room, and wake what waits for it. */
void evict_kick(struct datacache *dc);
/* A pend whose source is the victim is gone. */
void evict_moved(struct datacache *dc);

/* ---- datacache_pin.c -------------------------------------------------- */

bool pin_init(struct datacache *dc);
void pin_free(struct datacache *dc);
bool pin_any(const struct datacache *dc);
/* Whether data of this file that comes in is to be pinned. */
bool pin_wants(
    const struct datacache *dc, const struct data_key *key, uint32_t len);
/* A pinned extent was dropped, changed or damaged, not evicted. */
void pin_lost(struct datacache *dc, const struct data_key *key);
/* All of them were. */
void pin_lost_all(struct datacache *dc);

/* ---- datacache_load.c ------------------------------------------------- */

/* Read the indexes of the directory; 0, or -errno and a sentence in `err`. */
int load_dir(struct datacache *dc, char *err, size_t errlen);
/* Give up the segments in which nothing was found. */
void load_retire(struct datacache *dc);

#endif
