/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tombstones keep dropped data from coming back after a start. Each is appended
 * to the index of the segment that has the data, so that both are evicted
 * together. A segment whose index is full loses that index instead.
 */
#include "datacache/datacache_private.h"
#include "base/uint.h"

#include <string.h>

static void tomb_free(struct datacache *dc, struct tomb *t)
{
	rbuf_unref(&t->seg->rb);
	dc_free(dc, t, sizeof(*t));
}

static void tomb_run(struct iopool_job *job)
{
	struct datacache *dc = container_of(job, struct datacache, tomb_job);
	struct tomb *t;

	TAILQ_FOREACH (t, &dc->tombs_busy, link)
		if (t->last)
			segment_drop_index(t->seg);
		else
			segment_put_entry(t->seg, t->slot, &t->entry);
}

static void tomb_kick(struct datacache *dc)
{
	struct tomb *t;

	if (!TAILQ_EMPTY(&dc->tombs_busy) || TAILQ_EMPTY(&dc->tombs))
		return;
	TAILQ_CONCAT(&dc->tombs_busy, &dc->tombs, link);
	TAILQ_FOREACH (t, &dc->tombs_busy, link)
		t->entry.sum = entry_sum(&t->entry, dc->id);
	iopool_submit(dc->pool, &dc->tomb_job);
}

static void tomb_drain(struct datacache *dc, struct tomb_list *list)
{
	struct tomb *t;

	while ((t = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, t, link);
		tomb_free(dc, t);
	}
}

static void tomb_on_written(struct iopool_job *job)
{
	struct datacache *dc = container_of(job, struct datacache, tomb_job);

	tomb_drain(dc, &dc->tombs_busy);
	tomb_kick(dc);
}

void tomb_clear(struct datacache *dc)
{
	tomb_drain(dc, &dc->tombs);
}

/* Let a range that continues the last one share its entry. */
static bool tomb_extend(struct datacache *dc, const struct segment *seg,
    const struct data_key *key, uint64_t offset, uint64_t len)
{
	struct tomb *t = TAILQ_LAST(&dc->tombs, tomb_list);

	if (!t || t->seg != seg || t->last ||
	    memcmp(&t->entry.key, key, sizeof(*key)) != 0 ||
	    t->entry.offset + t->entry.extra != offset)
		return false;
	/* No entry may have been made since: data that came in between is newer
	 * than this tombstone, which would not cover it. */
	if (t->entry.seq + 1 != dc->seq)
		return false;
	t->entry.extra += len;
	return true;
}

void tomb_add(struct datacache *dc, struct segment *seg,
    const struct data_key *key, uint64_t offset, uint64_t len)
{
	struct tomb *t;

	if (dc->dropping) {
		if (seg->last_drop == dc->drops)
			return;
		seg->last_drop = dc->drops;
		offset = 0;
		len = UINT64_MAX;
	}
	if (seg->dead || seg->doomed || tomb_extend(dc, seg, key, offset, len))
		return;
	t = dc_realloc(dc, NULL, 0, sizeof(*t));
	if (!t) {
		seg->doomed = true;
		return;
	}
	memset(t, 0, sizeof(*t));
	t->seg = seg;
	t->slot = seg->slots;
	t->last = seg->slots >= 2 * segment_slots_max(seg);
	t->entry.seq = dc->seq++;
	t->entry.key = *key;
	t->entry.offset = offset;
	t->entry.extra = len;
	t->entry.len_kind = (uint32_t)ENTRY_TOMB << 24;
	seg->doomed = t->last;
	seg->slots += !t->last;
	segment_charge(seg);
	rbuf_ref(&seg->rb);
	TAILQ_INSERT_TAIL(&dc->tombs, t, link);
	tomb_kick(dc);
}

void tomb_init(struct datacache *dc)
{
	TAILQ_INIT(&dc->tombs);
	TAILQ_INIT(&dc->tombs_busy);
	dc->tomb_job.run = tomb_run;
	dc->tomb_job.done = tomb_on_written;
}
