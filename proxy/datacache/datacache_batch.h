/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data that one job of a thread writes to one segment. */
#ifndef FOREFETCH_DATACACHE_BATCH_H
#define FOREFETCH_DATACACHE_BATCH_H

#include "datacache/datacache_disk.h"
#include "datacache/datacache_write.h"

struct data_batch {
	uint32_t pos, slot; /* where the segment has the first of them */
	unsigned n;
	struct pend *pends[BATCH_MAX];
	struct seg_entry entries[BATCH_MAX];
	/* The outcome: 0 or -errno, and the time that the payload took to the
	 * page cache. */
	int err;
	uint64_t took_us;
};

/* Writes it, in a thread. The entries are written after their data, so an entry
 * that is on disk can be relied on.
 *
 * The thread waits until the disk has the data. If the kernel failed to write a
 * page later, it would tell nobody, forget the page, and read zeros in its
 * place. A request for the extent beside it would bring these zeros into
 * memory, where datacache_find() would take them for verified data. */
void batch_write(struct data_batch *b);

#endif
