/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data on its way to a segment, and the writers, of which each fills the
 * segments of one kind.
 */
#ifndef FOREFETCH_DATACACHE_WRITE_H
#define FOREFETCH_DATACACHE_WRITE_H

#include "datacache/datacache_segment.h"

struct extent;
struct file;
struct seg_entry;

enum { BATCH_MAX = 64 /* pends of one write */ };

/*
 * Data that comes from memory (`src` is NULL), or is moved on from an older
 * segment by eviction or by the layout. It is found meanwhile. It is for the
 * files that add, write and account; the others know of it what extent_place()
 * says.
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

static inline struct pend *pend_by_id(const struct datacache *dc, uint32_t id)
{
	return dc->pends.v[id];
}

/* ---- datacache_pend.c ------------------------------------------------- */

/* Zeros, with an id; NULL without memory. */
struct pend *pend_new(struct datacache *dc);
/* Free one that was not queued. */
void pend_abandon(struct datacache *dc, struct pend *p);
/* The kind of segments that it goes to. */
enum segment_kind pend_kind(const struct pend *p);
/* Its extents are in the segment now; or, if it is `lost`, removed. */
void pend_settle(struct datacache *dc, struct pend *p, bool lost);
/* In a thread: its bytes; `*scratch` is to be freed. NULL: they are damaged, or
 * it stays where it is. */
const unsigned char *pend_bytes(struct pend *p, void **scratch);

/* ---- datacache_write.c ------------------------------------------------ */

void pend_queue(struct datacache *dc, struct pend *p);
/* Queue a pend that moves the extent to another segment; until it is written,
 * the extent is served from where it was. `e` is the entry that it was written
 * with; NULL: the layout moves it, whose entry the writer reads. */
bool pend_move(struct datacache *dc, const struct file *f, struct extent *x,
    const struct seg_entry *e);
/* No extent refers to it any more. */
void pend_free(struct datacache *dc, struct pend *p);

bool writers_init(struct datacache *dc);
/* Begins to write what waits for more. */
void writers_flush(struct datacache *dc);
/* Drop what waits to be written, of all kinds. */
void writers_discard(struct datacache *dc);
/* The same of one kind; only what comes from segments. */
void writer_discard_moves(struct datacache *dc, enum segment_kind kind);
/* Drop the moves of the layout; what they were to move stays in its place. */
void writer_discard_layout(struct datacache *dc, enum segment_kind kind);
/* The writer takes up the pend, which was queued: it writes it with others, at
 * the next tick at the latest. */
void writer_give(struct datacache *dc, const struct pend *p);
/* Begin to write the next batch, if that can be done now. */
void writer_kick(struct datacache *dc, enum segment_kind kind);
/* Begin to make the segment that it waits for. */
void writer_prepare(struct datacache *dc, enum segment_kind kind);
/* The new segment is there; NULL: it could not be made, `err` says why. */
void writer_prepared(
    struct datacache *dc, enum segment_kind kind, struct segment *seg, int err);
/* End its wait for a segment that will not come: what it has is dropped. */
void writer_give_up(struct datacache *dc, enum segment_kind kind);

/* It wants a segment which is not being made. */
bool writer_waits(const struct datacache *dc, enum segment_kind kind);
bool writer_is_preparing(const struct datacache *dc, enum segment_kind kind);
bool writer_has_moves(const struct datacache *dc, enum segment_kind kind);
/* Whether its first move is one of the layout. */
bool writer_serves_layout(const struct datacache *dc, enum segment_kind kind);
/* Bytes that it can take in moves without another segment. */
uint64_t writer_room_bytes(const struct datacache *dc, enum segment_kind kind);
/* The segment that it fills, unless a job writes to it now; or NULL. */
struct segment *writer_idle_segment(
    const struct datacache *dc, enum segment_kind kind);
/* It fills the segment, or writes to it. */
bool writer_has(const struct segment *seg);
/* It fills the segment no more; whether its files may be closed now. */
bool writer_leave(struct segment *seg);
/* Since when the oldest job of a writer is under way that began `us` before
 * `now_us` or earlier; `now_us`: none is. */
uint64_t writers_late_since(struct datacache *dc, uint64_t now_us, uint64_t us);

#endif
