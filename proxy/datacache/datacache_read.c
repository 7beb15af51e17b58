/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding. What lies in a mapping goes out only where it is in memory and,
 * once a start, was compared with its checksum; else a request has the pool
 * read it first, with pread, since a mapping that cannot be read kills.
 */
#include "datacache/datacache_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

void version_hash(const struct data_version *v, uint64_t hash[2])
{
	XXH128_hash_t h;

	_Static_assert(sizeof(*v) == 40, "padding would be hashed");
	h = XXH3_128bits(v, sizeof(*v));
	hash[0] = h.low64;
	hash[1] = h.high64;
}

bool version_is(const struct file *f, const struct data_version *v)
{
	uint64_t hash[2];

	version_hash(v, hash);
	return f->version[0] == hash[0] && f->version[1] == hash[1];
}

static bool extent_valid(
    const struct extent *x, const struct datacache_read *rd)
{
	return (x->meta & EXT_FIRM) || x->meta >> 8 >= rd->valid_us;
}

/* Whether one answer may hold bytes of both: those that are firm, or were
 * before the same change, are of one moment; others may straddle a change
 * that met the same tick of the server's clock. */
static bool extents_agree(const struct extent *x, const struct extent *y)
{
	if (x->meta & y->meta & EXT_FIRM)
		return true;
	return (x->meta & y->meta & EXT_MOVED) &&
	       !((x->meta | y->meta) & EXT_FIRM) &&
	       x->meta >> 8 == y->meta >> 8;
}

/* Where the extent's bytes from `at` on are in memory, or are mapped. */
static void piece_of(struct datacache *dc, const struct extent *x, uint64_t at,
    uint64_t end, struct rbuf_piece *piece)
{
	uint32_t skip = (uint32_t)(at - x->offset);
	uint32_t len = x->len - skip;

	if (len > end - at)
		len = (uint32_t)(end - at);
	piece->len = len;
	if (x->meta & EXT_PENDING) {
		struct pend *p = dc->pends[x->owner];

		piece->data = p->data + x->pos + skip;
		piece->hold = p->hold;
	} else {
		struct segment *seg = dc->segs[x->owner];

		piece->data = seg->rb.data + x->pos + skip;
		piece->hold = &seg->rb;
	}
}

static bool piece_put(
    struct rbuf_piece *pieces, unsigned *n, const struct rbuf_piece *piece)
{
	struct rbuf_piece *last = *n > 0 ? &pieces[*n - 1] : NULL;

	if (last && last->hold == piece->hold &&
	    (const char *)last->data + last->len == piece->data) {
		last->len += piece->len;
		return true;
	}
	if (*n == DATA_PIECES_MAX)
		return false;
	pieces[(*n)++] = *piece;
	return true;
}

/* All of the range, or false; `unverified` counts what is to be verified. */
static bool find_pieces(struct datacache *dc, struct file *f,
    const struct datacache_read *rd, struct rbuf_piece *pieces, unsigned *n,
    unsigned *unverified)
{
	uint64_t at = rd->offset, end = rd->offset + rd->len;
	struct rbuf_piece piece;
	const struct extent *first = NULL;
	struct cursor c;
	struct extent *x;

	*n = 0;
	*unverified = 0;
	for (index_seek(f, at, &c); at < end; cursor_next(&c)) {
		x = cursor_get(&c);
		if (!x || x->offset > at || !extent_valid(x, rd) ||
		    (first && !extents_agree(first, x)))
			return false;
		/* Moved on before anybody has compared it. */
		if ((x->meta & (EXT_PENDING | EXT_VERIFIED)) == EXT_PENDING &&
		    dc->pends[x->owner]->src)
			return false;
		first = x;
		piece_of(dc, x, at, end, &piece);
		if (!piece_put(pieces, n, &piece))
			return false;
		*unverified += !(x->meta & (EXT_PENDING | EXT_VERIFIED));
		at += piece.len;
	}
	return true;
}

static bool is_resident(const struct rbuf_piece *piece)
{
	uintptr_t at = (uintptr_t)piece->data, end = at + piece->len;
	unsigned char pages[512];

	at &= ~(uintptr_t)(DATACACHE_PAGE - 1);
	while (at < end) {
		size_t n = (end - at + DATACACHE_PAGE - 1) / DATACACHE_PAGE;

		if (n > sizeof(pages))
			n = sizeof(pages);
		/* Whoever may not ask takes it to be there. */
		if (mincore((void *)at, n * DATACACHE_PAGE, pages) < 0)
			return true;
		for (size_t i = 0; i < n; i++)
			if (!(pages[i] & 1))
				return false;
		at += n * DATACACHE_PAGE;
	}
	return true;
}

static bool all_resident(const struct rbuf_piece *pieces, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (segment_of(pieces[i].hold) && !is_resident(&pieces[i]))
			return false;
	return true;
}

/* The extent as it was written, which its checksum is of. */
static int item_entry(const struct request *rq, const struct request_item *it,
    struct seg_entry *e)
{
	uint64_t delta;
	int rc = segment_read_entries(it->seg, it->slot, e, 1);

	if (rc < 0)
		return rc;
	delta = it->offset - e->offset;
	if (e->sum != entry_sum(e, rq->dc->id) ||
	    !(entry_kind(e) & ENTRY_DATA) ||
	    memcmp(&e->key, &rq->key, sizeof(e->key)) != 0 ||
	    it->offset < e->offset || delta != it->pos - e->pos ||
	    delta + it->len > entry_len(e) ||
	    (uint64_t)e->pos + entry_len(e) > it->seg->bytes)
		return -EBADMSG;
	return 0;
}

/* Where reads and mappings do not share their pages (ZFS, DAX, 9p), pread does
 * not bring what is sent from the mapping. */
static int item_fault(const struct request_item *it)
{
	int rc = mapping_fault(it->seg->rb.data + it->pos, it->len);

	return rc == -EIO ? rc : 0;
}

static int item_check(
    const struct request *rq, const struct request_item *it, int fd)
{
	struct seg_entry e = {.pos = it->pos, .len_kind = it->len};
	int rc = it->verify ? item_entry(rq, it, &e) : 0;
	struct sum_window w;
	uint64_t sum;

	if (rc < 0)
		return rc;
	w.fd = fd;
	w.from = w.len = 0;
	w.end = (uint64_t)e.pos + entry_len(&e);
	rc = window_sum(&w, e.pos, entry_len(&e), &sum);
	if (rc == 0 && it->verify && sum != e.extra)
		rc = -EBADMSG;
	return rc < 0 ? rc : item_fault(it);
}

static void request_run(struct iopool_job *job)
{
	struct request *rq = (struct request *)job;
	const struct segment *seg = NULL;
	char name[SEGMENT_NAME_MAX];
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
			segment_name(name, seg->number, "seg");
			fd = openat(rq->dc->dirfd, name,
			    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
			err = fd < 0 ? -errno : 0;
		}
		/* In one go with what is looked at behind it: the kernel's own
		 * readahead begins anew with every descriptor. */
		if (err == 0 && i + 1 == rq->n && rq->ahead_to > it->pos)
			posix_fadvise(fd, it->pos, rq->ahead_to - it->pos,
			    POSIX_FADV_WILLNEED);
		it->err = err < 0 ? err : item_check(rq, it, fd);
	}
	/* It may be verified in part only, so its end is not known here. */
	if (fd >= 0 && err == 0 && rq->ahead_to > 0 && !rq->given_up)
		rq->ahead = ahead_run(rq->dc, seg,
		    rq->items[rq->n - 1].slot + 1, rq->ahead_from, fd);
	if (fd >= 0)
		close(fd);
}

/* What of the item is still there: verified now, or gone. */
static void item_apply(struct datacache *dc, const struct request *rq,
    const struct request_item *it)
{
	struct file *f = index_lookup(dc, &rq->key);
	uint64_t end = it->offset + it->len;
	struct cursor c;
	struct extent *x;

	if (!f || it->err == -ECANCELED)
		return;
	index_seek(f, it->offset, &c);
	while ((x = cursor_get(&c)) && x->offset < end) {
		uint64_t from = x->offset, to = from + x->len;

		if (!extent_is_of(x, it->seg->index, it->slot)) {
			cursor_next(&c);
		} else if (it->err == 0) {
			x->meta |= it->verify ? EXT_VERIFIED : 0;
			cursor_next(&c);
		} else {
			dc->st.bad_extents++;
			index_carve(dc, f, from, to, true);
			index_seek(f, to, &c);
		}
	}
	index_tidy(dc, f);
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

	TAILQ_REMOVE(&dc->requests, rq, link);
	dc->request_count--;
	for (unsigned i = 0; i < rq->n; i++) {
		struct request_item *it = &rq->items[i];

		item_apply(dc, rq, it);
		if (it->err == -EIO)
			failed = it->err;
		dc->st.verified_extents += it->verify && it->err == 0;
	}
	ahead_done(dc, rq->ahead);
	if (failed)
		datacache_failed(dc, "read", failed);
	for (unsigned i = 0; i < rq->n; i++)
		rbuf_unref(&rq->items[i].seg->rb);
	request_wake(rq, false);
	dc_free(dc, rq, request_bytes(rq->n));
}

/* The data is in a mapping: not on its way from memory. */
static bool is_mapped(const struct datacache *dc, const struct extent *x)
{
	return !(x->meta & EXT_PENDING) || dc->pends[x->owner]->src;
}

static unsigned count_items(
    const struct datacache *dc, struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	struct cursor c;
	struct extent *x;
	unsigned n = 0;

	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c))
		n += is_mapped(dc, x);
	return n;
}

/* Verify what lies behind the last item, unless that is being done or was. */
static void request_look_ahead(struct request *rq)
{
	const struct request_item *last = &rq->items[rq->n - 1];
	struct segment *seg = last->seg;
	uint32_t from = last->pos + last->len;

	if (!last->verify || (from >= seg->ahead_from && from < seg->ahead_to))
		return;
	rq->ahead_from = seg->ahead_from = from;
	rq->ahead_to = seg->ahead_to = from + AHEAD_BYTES;
}

/* Data on its way to the disk needs no help: if it lies in a mapping, being
 * moved on, the move reads it. */
static struct request *request_start(
    struct datacache *dc, struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	unsigned n = count_items(dc, f, rd);
	struct request *rq = dc_realloc(dc, NULL, 0, request_bytes(n));
	struct cursor c;
	struct extent *x;

	if (!rq)
		return NULL;
	memset(rq, 0, request_bytes(n));
	rq->job.run = request_run;
	rq->job.done = request_on_done;
	rq->dc = dc;
	rq->key = rd->key;
	rq->offset = rd->offset;
	rq->end = end;
	TAILQ_INIT(&rq->waiters);
	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c)) {
		struct request_item *it = &rq->items[rq->n];

		const struct pend *p =
		    x->meta & EXT_PENDING ? dc->pends[x->owner] : NULL;

		if (!is_mapped(dc, x))
			continue;
		it->seg = p ? p->src : dc->segs[x->owner];
		it->offset = x->offset;
		it->pos = x->pos;
		if (p)
			it->pos += (uint32_t)(p->data - p->src->rb.data);
		it->len = x->len;
		it->slot = p ? p->src_slot : x->slot;
		/* What the page cache gave up may never have been written, and
		 * nobody was told. Without an index there is no checksum. */
		it->verify = !(x->meta & EXT_VERIFIED) || !it->seg->doomed;
		rbuf_ref(&it->seg->rb);
		rq->n++;
		/* An extent is verified whole. */
		if (x->offset < rq->offset)
			rq->offset = x->offset;
		if (x->offset + x->len > rq->end)
			rq->end = x->offset + x->len;
	}
	if (rq->n > 0)
		request_look_ahead(rq);
	TAILQ_INSERT_TAIL(&dc->requests, rq, link);
	dc->request_count++;
	iopool_submit(dc->pool, &rq->job);
	return rq;
}

/* Whether all that is not verified yet is looked at behind rq's own. */
static bool request_is_ahead(
    const struct request *rq, struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	struct cursor c;
	struct extent *x;

	if (rq->ahead_to == 0)
		return false;
	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c))
		if ((x->meta & EXT_PENDING) ||
		    (!(x->meta & EXT_VERIFIED) &&
			(x->owner != rq->items[rq->n - 1].seg->index ||
			    x->pos < rq->ahead_from ||
			    (uint64_t)x->pos + x->len > rq->ahead_to)))
			return false;
	return true;
}

/* What is under way and brings it; `unverified`: not just to be read in. */
static struct request *request_find(struct datacache *dc, struct file *f,
    const struct datacache_read *rd, bool unverified)
{
	struct request *rq;

	TAILQ_FOREACH (rq, &dc->requests, link)
		if (!rq->given_up && rq->offset <= rd->offset &&
		    rq->end >= rd->offset + rd->len &&
		    memcmp(&rq->key, &rd->key, sizeof(rq->key)) == 0)
			return rq;
	if (!unverified)
		return NULL;
	TAILQ_FOREACH (rq, &dc->requests, link)
		if (!rq->given_up && request_is_ahead(rq, f, rd))
			return rq;
	return NULL;
}

/* Once, and not for a disk that hangs, if there is a server to ask. */
static bool find_may_wait(const struct datacache *dc,
    const struct datacache_read *rd, const struct datacache_waiter *w)
{
	if (dc->hang.since_us > 0 && !rd->patient)
		return false;
	return !w || !w->woken || (w->late && rd->patient);
}

/* One request for a range, however many wait for it. */
static enum datacache_found find_wait(struct datacache *dc, struct file *f,
    const struct datacache_read *rd, bool unverified,
    struct datacache_waiter *w)
{
	bool may = find_may_wait(dc, rd, w);
	struct request *rq = may ? request_find(dc, f, rd, unverified) : NULL;

	if (!rq && may && dc->request_count < REQUESTS_MAX)
		rq = request_start(dc, f, rd);
	if (!rq) {
		dc->st.misses++;
		return DATACACHE_MISS;
	}
	if (w) {
		w->request = rq;
		TAILQ_INSERT_TAIL(&rq->waiters, w, link);
	}
	dc->st.waits++;
	return DATACACHE_WAIT;
}

/* Whether it may be sent as it is, or has to be waited for, once: what was
 * verified is served even if the kernel says that it is gone again. */
static bool find_ready(const struct rbuf_piece *pieces, unsigned n,
    bool unverified, const struct datacache_waiter *w)
{
	return !unverified &&
	       ((w && w->woken && !w->late) || all_resident(pieces, n));
}

static void mark_used(struct file *f, const struct datacache_read *rd)
{
	uint64_t end = rd->offset + rd->len;
	struct cursor c;
	struct extent *x;

	for (index_seek(f, rd->offset, &c);
	     (x = cursor_get(&c)) && x->offset < end; cursor_next(&c)) {
		x->meta |= EXT_USED;
		x->meta &= ~(uint64_t)EXT_PREFETCHED;
	}
}

enum datacache_found datacache_find(struct datacache *dc,
    const struct datacache_read *rd, struct rbuf_piece *pieces, unsigned *n,
    struct datacache_waiter *w)
{
	struct file *f = dc->off ? NULL : index_lookup(dc, &rd->key);
	unsigned unverified;

	if (f && !version_is(f, rd->version)) {
		index_carve(dc, f, 0, UINT64_MAX, false);
		index_tidy(dc, f);
		f = NULL;
	}
	if (!f || !find_pieces(dc, f, rd, pieces, n, &unverified)) {
		dc->st.misses++;
		return DATACACHE_MISS;
	}
	layout_use(dc, f, rd);
	if (!find_ready(pieces, *n, unverified > 0, w))
		return find_wait(dc, f, rd, unverified > 0, w);
	mark_used(f, rd);
	dc->st.hits++;
	dc->st.hit_bytes += rd->len;
	return DATACACHE_HIT;
}

void datacache_touch(struct datacache *dc, const struct datacache_read *rd)
{
	struct file *f = dc->off ? NULL : index_lookup(dc, &rd->key);
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	unsigned n, unverified;

	/* Half of the places are for those who wait. */
	if (!f || dc->hang.since_us > 0 || !version_is(f, rd->version) ||
	    dc->request_count >= REQUESTS_MAX / 2 ||
	    !find_pieces(dc, f, rd, pieces, &n, &unverified) ||
	    unverified == 0 || request_find(dc, f, rd, true))
		return;
	(void)request_start(dc, f, rd);
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

uint64_t datacache_have(struct datacache *dc, const struct datacache_read *rd)
{
	struct file *f = dc->off ? NULL : index_lookup(dc, &rd->key);
	uint64_t at = rd->offset, end = at + rd->len, have = 0;
	struct cursor c;
	struct extent *x;

	if (!f || !version_is(f, rd->version))
		return 0;
	for (index_seek(f, at, &c); (x = cursor_get(&c)) && x->offset < end;
	     cursor_next(&c)) {
		uint64_t to = x->offset + x->len;

		if (x->offset > at)
			at = x->offset;
		if (extent_valid(x, rd))
			have += (to < end ? to : end) - at;
		at = to;
	}
	return have;
}

uint64_t datacache_have_file(struct datacache *dc, const struct data_key *key,
    const struct data_version *version, uint64_t valid_us, unsigned max)
{
	struct file *f = dc->off ? NULL : index_lookup(dc, key);
	const struct datacache_read rd = {
	    .key = *key, .version = version, .valid_us = valid_us};
	uint64_t at = 0, have = 0;
	struct cursor c;
	struct extent *x;

	if (!f || !version_is(f, version))
		return 0;
	for (index_seek(f, 0, &c); max > 0 && (x = cursor_get(&c));
	     cursor_next(&c), max--) {
		uint64_t from = x->offset > at ? x->offset : at;

		at = x->offset + x->len;
		if (extent_valid(x, &rd))
			have += at - from;
	}
	return have;
}

uint32_t datacache_prefix(struct datacache *dc, const struct datacache_read *rd)
{
	struct file *f = dc->off ? NULL : index_lookup(dc, &rd->key);
	uint64_t at = rd->offset, end = at + rd->len;
	const struct extent *first = NULL;
	struct cursor c;
	struct extent *x;

	if (!f || !version_is(f, rd->version))
		return 0;
	for (index_seek(f, at, &c); at < end && (x = cursor_get(&c));
	     cursor_next(&c)) {
		if (x->offset > at || !extent_valid(x, rd) ||
		    (first && !extents_agree(first, x)))
			break;
		first = x;
		at = x->offset + x->len;
	}
	return (uint32_t)((at < end ? at : end) - rd->offset);
}

void read_give_up(struct datacache *dc)
{
	struct request *rq;

	TAILQ_FOREACH (rq, &dc->requests, link)
		rq->given_up = true;
	/* Who is woken asks again, but nobody waits again now. */
	TAILQ_FOREACH (rq, &dc->requests, link)
		request_wake(rq, true);
}

void read_forget_waiters(struct datacache *dc)
{
	struct request *rq;

	TAILQ_FOREACH (rq, &dc->requests, link)
		while (!TAILQ_EMPTY(&rq->waiters))
			datacache_cancel(dc, TAILQ_FIRST(&rq->waiters));
}
