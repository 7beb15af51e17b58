/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout pass: what was read is moved so that it lies on disk in the order
 * in which it was read, and the same job reads sequentially after a restart.
 * compact.h says when a pass runs, and is all that others need; this is for
 * the files of this folder and their tests.
 *
 * Each firm extent has a place in the order of use: a number that it is given
 * when it is read first in a run. A run is what clients read between two
 * pauses. Two reads are sequential where the second one begins in the segment
 * of the first, at most 128 KiB behind its end.
 *
 *   COLLECT  from the index: the extents that were used last, in order
 *   BEFORE   measure how sequential they are, and mark what is in long runs
 *   MOVE     append the others, in order, to a segment of their own
 *   LAND     wait until the last of these is on disk
 *   AFTER    measure again
 */
#ifndef FOREFETCH_DATACACHE_LAYOUT_H
#define FOREFETCH_DATACACHE_LAYOUT_H

#include "datacache/datacache.h"

struct file;
struct segment;

/* Begins another run: reads from now on belong to it. */
void datacache_new_run(struct datacache *dc);
/*
 * Begin a pass over the LAYOUT_MAX extents that were used last. `force`: also
 * where most is sequential, or nothing was used since the last pass. 0, or
 * -EALREADY; -ENODATA where nothing was used (since); -ENODEV where the cache
 * is switched off; -ENOSPC; -ENOMEM. A pass never evicts anything.
 */
int datacache_layout_begin(struct datacache *dc, bool force);
/* To be called again and again while it is busy: looks at some extents, or has
 * up to `bytes` (or one extent) moved. Returns the bytes that it has moved. */
uint64_t datacache_layout_step(struct datacache *dc, uint64_t bytes);
bool datacache_layout_busy(const struct datacache *dc);
/* End the pass early; what was moved stays in its new place. */
void datacache_layout_stop(struct datacache *dc);
/* Nothing waits for the disk, or is on its way to it. */
bool datacache_disk_idle(const struct datacache *dc);

/* ---- what the other parts of the data cache tell it ------------------- */

bool layout_init(struct datacache *dc);
void layout_free(struct datacache *dc);
/* How sequentially this run reads the disk. */
struct datacache_sequence layout_run(const struct datacache *dc);
/* The place of a firm extent that comes in now; `ahead`: it was not asked for,
 * so it has none (0). */
uint64_t layout_stamp(struct datacache *dc, bool ahead);
/* A range was read. */
void layout_use(
    struct datacache *dc, struct file *f, const struct datacache_read *rd);
/* A move out of `src` has ended, well or not. */
void layout_moved(struct datacache *dc, struct segment *src);
/* The segment that is moved to could not be written, or not be made (NULL). */
void layout_failed(struct datacache *dc, struct segment *seg, int err);
/* A segment could be made. */
void layout_mended(struct datacache *dc);
/* End the pass if it waits for room that it may not make. */
void layout_check_room(struct datacache *dc);

#endif
