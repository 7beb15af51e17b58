/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding. A range is a hit where extents cover it that may be used, and each
 * of them may be sent at once: it is still in memory on its way to the disk; or
 * it is mapped, its pages are in memory, and since the start it was compared
 * with its checksum, or the disk took it. Else whoever asks waits for a request
 * to the disk, once.
 */
#include "datacache/datacache_request.h"

#include <sys/mman.h>

#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_layout.h"
#include "datacache/datacache_segment.h"

static bool extent_valid(
    const struct extent *x, const struct datacache_read *rd)
{
	return (x->meta & EXT_FIRM) || extent_sent_us(x) >= rd->valid_us;
}

/* Whether one answer may hold bytes of both: those that are firm, or were
 * before the same change, are of one moment; others may straddle a change
 * that met the same tick of the server's clock. */
static bool extents_agree(const struct extent *x, const struct extent *y)
{
	if (x->meta & y->meta & EXT_FIRM)
		return true;
	return (x->meta & y->meta & EXT_WAS_FIRM) &&
	       !((x->meta | y->meta) & EXT_FIRM) &&
	       extent_sent_us(x) == extent_sent_us(y);
}

/* The extent's bytes from `at` on, up to `end`. */
static struct rbuf_piece piece_of(const struct extent *x,
    const struct extent_place *place, uint64_t at, uint64_t end)
{
	uint32_t skip = (uint32_t)(at - x->offset);
	uint32_t len = x->len - skip;

	if (len > end - at)
		len = (uint32_t)(end - at);
	return (struct rbuf_piece){
	    .data = place->data + skip, .len = len, .hold = place->hold};
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
	const struct extent *first = NULL;
	struct extent_place place;
	struct rbuf_piece piece;
	struct extent_cursor c;
	struct extent *x;

	*n = 0;
	*unverified = 0;
	for (index_seek(f, at, &c); at < end; cursor_next(&c)) {
		x = cursor_get(&c);
		if (!x || x->offset > at || !extent_valid(x, rd) ||
		    (first && !extents_agree(first, x)))
			return false;
		place = extent_place(dc, x);
		/* Moved on before anybody has compared it. */
		if ((x->meta & (EXT_PENDING | EXT_VERIFIED)) == EXT_PENDING &&
		    place.seg)
			return false;
		first = x;
		piece = piece_of(x, &place, at, end);
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

/* Once, and not for a disk that hangs, if there is a server to ask. */
static bool find_may_wait(const struct datacache *dc,
    const struct datacache_read *rd, const struct datacache_waiter *w)
{
	if (dc->st.hangs_since_us > 0 && !rd->patient)
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

	if (!rq && may && requests_count(dc) < REQUESTS_MAX)
		rq = request_start(dc, f, rd);
	if (!rq) {
		dc->st.misses++;
		return DATACACHE_MISS;
	}
	if (w)
		request_await(rq, w);
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
	struct extent_cursor c;
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
	struct file *f =
	    dc->off ? NULL : file_of_version(dc, &rd->key, rd->version);
	unsigned unverified;

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
	if (!f || dc->st.hangs_since_us > 0 || !version_is(f, rd->version) ||
	    requests_count(dc) >= REQUESTS_MAX / 2 ||
	    !find_pieces(dc, f, rd, pieces, &n, &unverified) ||
	    unverified == 0 || request_find(dc, f, rd, true))
		return;
	(void)request_start(dc, f, rd);
}

uint64_t datacache_have(struct datacache *dc, const struct datacache_read *rd)
{
	struct file *f = dc->off ? NULL : index_lookup(dc, &rd->key);
	uint64_t at = rd->offset, end = at + rd->len, have = 0;
	struct extent_cursor c;
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
	struct extent_cursor c;
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
	struct extent_cursor c;
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
