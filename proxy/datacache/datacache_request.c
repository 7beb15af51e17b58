/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to the disk: a job of the pool that reads extents, so that they are
 * in memory, and compares them with their checksums, so that they may be sent.
 *
 *   datacache_find() ─▶ request_find(): one that is under way will do
 *                    └▶ request_start() ─▶ pool: request_run()
 *                                          loop: request_on_done() ─▶ waiters
 *
 * It reads with pread, since a mapping that cannot be read kills the process.
 */
#include "datacache/datacache_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_segment.h"

/* An extent that a request reads. */
struct request_item {
	struct segment *seg;
	uint64_t offset;
	uint32_t pos, len, slot;
	/* -EBADMSG: not what was written; -ECANCELED: not looked at */
	int err;
};

struct request {
	struct iopool_job job;
	struct datacache *dc;
	TAILQ_ENTRY(request) link;
	TAILQ_HEAD(, datacache_waiter) waiters;
	struct data_key key;
	uint64_t begun_us; /* see requests_late_since() */
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

struct requests {
	TAILQ_HEAD(, request) list;
	unsigned count;
};

bool requests_init(struct datacache *dc)
{
	dc->requests = dc_new(dc, sizeof(*dc->requests));
	if (dc->requests)
		TAILQ_INIT(&dc->requests->list);
	return dc->requests != NULL;
}

unsigned requests_count(const struct datacache *dc)
{
	return dc->requests->count;
}

/* Read the entry that the extent was written with, as the checksum is of all of
 * that; the extent may be a part of it. */
static int item_entry(const struct request *rq, const struct request_item *it,
    struct seg_entry *e)
{
	uint64_t delta;
	int rc = segment_read_entries(it->seg, it->slot, e, 1);

	if (rc < 0)
		return rc;
	delta = it->offset - e->offset;
	if (!entry_is_sound(e, rq->dc->id) || !(entry_kind(e) & ENTRY_DATA) ||
	    memcmp(&e->key, &rq->key, sizeof(e->key)) != 0 ||
	    it->offset < e->offset || delta != it->pos - e->pos ||
	    delta + it->len > entry_len(e) ||
	    (uint64_t)e->pos + entry_len(e) > it->seg->bytes)
		return -EBADMSG;
	return 0;
}

/* Bring the mapping's pages into memory: on file systems whose mappings do not
 * share pages with pread (ZFS, DAX, 9p), pread has not done so. */
static int item_fault(const struct request_item *it)
{
	int rc = mapping_fault(it->seg->rb.data + it->pos, it->len);

	return rc == -EIO ? rc : 0;
}

static int item_check(
    const struct request *rq, const struct request_item *it, int fd)
{
	struct sum_window w;
	struct seg_entry e;
	uint64_t sum;
	int rc = item_entry(rq, it, &e);

	if (rc < 0)
		return rc;
	w.fd = fd;
	w.from = w.len = 0;
	w.end = (uint64_t)e.pos + entry_len(&e);
	rc = window_sum(&w, e.pos, entry_len(&e), &sum);
	if (rc == 0 && sum != e.extra)
		rc = -EBADMSG;
	return rc < 0 ? rc : item_fault(it);
}

static void request_run(struct iopool_job *job)
{
	struct request *rq = (struct request *)job;
	const struct segment *seg = NULL;
	int fd = -1, err = 0;

	for (unsigned i = 0; i < rq->n; i++) {
		struct request_item *it = &rq->items[i];

		it->err = -ECANCELED;
		if (rq->given_up)
			continue;
		if (it->seg != seg) {
			if (fd >= 0)
				close(fd);
			seg = it->seg;
			fd = segment_open(rq->dc, seg->number, "seg", O_RDONLY);
			err = fd < 0 ? fd : 0;
		}
		/* Have the kernel read this item and what is verified behind
		 * it at once: its own readahead begins anew with every
		 * descriptor. */
		if (err == 0 && i + 1 == rq->n && rq->ahead_to > it->pos)
			posix_fadvise(fd, it->pos, rq->ahead_to - it->pos,
			    POSIX_FADV_WILLNEED);
		it->err = err < 0 ? err : item_check(rq, it, fd);
	}
	/* The last extent may be a part of its entry, so it is not known here
	 * where the next entry's payload begins. */
	if (fd >= 0 && err == 0 && rq->ahead_to > 0 && !rq->given_up)
		rq->ahead = ahead_run(rq->dc, seg,
		    rq->items[rq->n - 1].slot + 1, rq->ahead_from, fd);
	if (fd >= 0)
		close(fd);
}

static void request_wake(struct request *rq, bool late)
{
	struct datacache_waiter *w;

	while ((w = TAILQ_FIRST(&rq->waiters))) {
		TAILQ_REMOVE(&rq->waiters, w, link);
		w->request = NULL;
		w->woken = true;
		w->late = late;
		w->on_ready(w);
	}
}

static size_t request_bytes(unsigned n)
{
	return sizeof(struct request) + n * sizeof(struct request_item);
}

static void request_on_done(struct iopool_job *job)
{
	struct request *rq = (struct request *)job;
	struct datacache *dc = rq->dc;
	int failed = 0;

	TAILQ_REMOVE(&dc->requests->list, rq, link);
	dc->requests->count--;
	for (unsigned i = 0; i < rq->n; i++) {
		struct request_item *it = &rq->items[i];

		if (it->err != -ECANCELED)
			index_judge(dc, &rq->key, it->offset, it->len, it->seg,
			    it->slot, it->err == 0);
		if (it->err == -EIO)
			failed = it->err;
	}
	ahead_done(dc, rq->ahead);
	if (failed)
		datacache_failed(dc, "read", failed);
	for (unsigned i = 0; i < rq->n; i++)
		rbuf_unref(&rq->items[i].seg->rb);
	request_wake(rq, false);
	dc_free(dc, rq, request_bytes(rq->n));
}

static unsigned count_items(
    const struct datacache *dc, struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	struct extent_cursor c;
	struct extent *x;
	unsigned n = 0;

	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c))
		n += extent_place(dc, x).seg != NULL;
	return n;
}

/* Have what lies behind the last item verified too, unless that was begun. */
static void request_look_ahead(struct request *rq)
{
	const struct request_item *last = &rq->items[rq->n - 1];
	struct segment *seg = last->seg;
	uint32_t from = last->pos + last->len;

	if (from >= seg->ahead_from && from < seg->ahead_to)
		return;
	rq->ahead_from = seg->ahead_from = from;
	rq->ahead_to = seg->ahead_to = from + AHEAD_BYTES;
}

static void request_add(
    struct request *rq, const struct extent *x, const struct extent_place *at)
{
	struct request_item *it = &rq->items[rq->n++];

	it->seg = at->seg;
	it->offset = x->offset;
	it->pos = (uint32_t)(at->data - at->seg->rb.data);
	it->len = x->len;
	it->slot = at->slot;
	rbuf_ref(&it->seg->rb);
	/* An extent is verified whole. */
	if (x->offset < rq->offset)
		rq->offset = x->offset;
	if (x->offset + x->len > rq->end)
		rq->end = x->offset + x->len;
}

/* All extents of the range that lie in mappings, moved on or not. Data that is
 * on its way from memory needs no request. */
struct request *request_start(
    struct datacache *dc, struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	unsigned n = count_items(dc, f, rd);
	struct request *rq = dc_new(dc, request_bytes(n));
	struct extent_place at;
	struct extent_cursor c;
	struct extent *x;

	if (!rq)
		return NULL;
	rq->job.run = request_run;
	rq->job.done = request_on_done;
	rq->dc = dc;
	rq->key = rd->key;
	rq->offset = rd->offset;
	rq->end = end;
	TAILQ_INIT(&rq->waiters);
	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c)) {
		at = extent_place(dc, x);
		if (at.seg)
			request_add(rq, x, &at);
	}
	if (rq->n > 0)
		request_look_ahead(rq);
	TAILQ_INSERT_TAIL(&dc->requests->list, rq, link);
	dc->requests->count++;
	iopool_submit(dc->pool, &rq->job);
	return rq;
}

/* Whether everything in the range that is not verified yet is verified ahead by
 * `rq`. */
static bool request_is_ahead(
    const struct request *rq, struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	struct extent_cursor c;
	struct extent *x;

	if (rq->ahead_to == 0)
		return false;
	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c))
		if ((x->meta & EXT_PENDING) ||
		    (!(x->meta & EXT_VERIFIED) &&
			(x->owner != rq->items[rq->n - 1].seg->id ||
			    x->pos < rq->ahead_from ||
			    (uint64_t)x->pos + x->len > rq->ahead_to)))
			return false;
	return true;
}

struct request *request_find(struct datacache *dc, struct file *f,
    const struct datacache_read *rd, bool unverified)
{
	struct request *rq;

	TAILQ_FOREACH (rq, &dc->requests->list, link)
		if (!rq->given_up && rq->offset <= rd->offset &&
		    rq->end >= rd->offset + rd->len &&
		    memcmp(&rq->key, &rd->key, sizeof(rq->key)) == 0)
			return rq;
	if (!unverified)
		return NULL;
	TAILQ_FOREACH (rq, &dc->requests->list, link)
		if (!rq->given_up && request_is_ahead(rq, f, rd))
			return rq;
	return NULL;
}

void request_await(struct request *rq, struct datacache_waiter *w)
{
	w->request = rq;
	TAILQ_INSERT_TAIL(&rq->waiters, w, link);
}

void datacache_cancel(struct datacache *dc, struct datacache_waiter *w)
{
	struct request *rq = w->request;

	(void)dc;
	if (!rq)
		return;
	TAILQ_REMOVE(&rq->waiters, w, link);
	w->request = NULL;
}

void requests_give_up(struct datacache *dc)
{
	struct request *rq;

	TAILQ_FOREACH (rq, &dc->requests->list, link)
		rq->given_up = true;
	/* They ask again, and get a MISS, since the disk hangs. */
	TAILQ_FOREACH (rq, &dc->requests->list, link)
		request_wake(rq, true);
}

void requests_forget_waiters(struct datacache *dc)
{
	struct request *rq;

	TAILQ_FOREACH (rq, &dc->requests->list, link)
		while (!TAILQ_EMPTY(&rq->waiters))
			datacache_cancel(dc, TAILQ_FIRST(&rq->waiters));
}

uint64_t requests_late_since(struct datacache *dc, uint64_t now_us, uint64_t us)
{
	uint64_t oldest = now_us;
	struct request *rq;

	TAILQ_FOREACH (rq, &dc->requests->list, link)
		oldest = job_late_since(&rq->begun_us, now_us, us, oldest);
	return oldest;
}
