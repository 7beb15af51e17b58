/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tombstones keep dropped data from coming back after a start. Each is appended
 * to the index of the segment that has the data, so that both are evicted
 * together. A segment whose index is full loses that index instead.
 */
#include "datacache/datacache_segment.h"

#include <string.h>

#include "datacache/datacache_disk.h"

/* A tombstone on its way to the index of `seg`, where the dropped data lies. */
struct tomb {
	TAILQ_ENTRY(tomb) link;
	struct segment *seg;
	uint32_t slot;
	bool last; /* it does not fit: the index file is unlinked instead */
	struct seg_entry entry;
};

TAILQ_HEAD(tomb_list, tomb);

struct tombs {
	struct iopool_job job; /* writes those of `busy` */
	struct datacache *dc;
	struct tomb_list waiting, busy;
	uint64_t drops; /* whole files that were dropped so far */
	bool dropping;  /* a whole file: one tombstone for each segment */
};

static void tomb_free(struct datacache *dc, struct tomb *t)
{
	rbuf_unref(&t->seg->rb);
	dc_free(dc, t, sizeof(*t));
}

static void tomb_run(struct iopool_job *job)
{
	struct tombs *ts = (struct tombs *)job;
	struct tomb *t;

	TAILQ_FOREACH (t, &ts->busy, link)
		if (t->last)
			segment_drop_index(t->seg);
		else
			segment_put_entry(t->seg, t->slot, &t->entry);
}

static void tomb_kick(struct datacache *dc)
{
	struct tombs *ts = dc->tombs;
	struct tomb *t;

	if (!TAILQ_EMPTY(&ts->busy) || TAILQ_EMPTY(&ts->waiting))
		return;
	TAILQ_CONCAT(&ts->busy, &ts->waiting, link);
	TAILQ_FOREACH (t, &ts->busy, link)
		t->entry.sum = entry_sum(&t->entry, dc->id);
	iopool_submit(dc->pool, &ts->job);
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
	struct tombs *ts = (struct tombs *)job;

	tomb_drain(ts->dc, &ts->busy);
	tomb_kick(ts->dc);
}

void tomb_clear(struct datacache *dc)
{
	tomb_drain(dc, &dc->tombs->waiting);
}

/* Each segment needs one tombstone for all of the file. */
void datacache_drop(struct datacache *dc, const struct data_key *key)
{
	dc->tombs->drops++;
	dc->tombs->dropping = true;
	datacache_cut(dc, key, 0, UINT64_MAX);
	dc->tombs->dropping = false;
}

/* Let a range that continues the last one share its entry. */
static bool tomb_extend(struct datacache *dc, const struct segment *seg,
    const struct data_key *key, uint64_t offset, uint64_t len)
{
	struct tomb *t = TAILQ_LAST(&dc->tombs->waiting, tomb_list);

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
	struct tombs *ts = dc->tombs;
	struct tomb *t;

	if (ts->dropping) {
		if (seg->last_drop == ts->drops)
			return;
		seg->last_drop = ts->drops;
		offset = 0;
		len = UINT64_MAX;
	}
	if (seg->dead || seg->doomed || tomb_extend(dc, seg, key, offset, len))
		return;
	t = dc_new(dc, sizeof(*t));
	if (!t) {
		seg->doomed = true;
		return;
	}
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
	TAILQ_INSERT_TAIL(&ts->waiting, t, link);
	tomb_kick(dc);
}

bool tomb_init(struct datacache *dc)
{
	struct tombs *ts = dc_new(dc, sizeof(*ts));

	dc->tombs = ts;
	if (!ts)
		return false;
	ts->dc = dc;
	TAILQ_INIT(&ts->waiting);
	TAILQ_INIT(&ts->busy);
	ts->job.run = tomb_run;
	ts->job.done = tomb_on_written;
	return true;
}
