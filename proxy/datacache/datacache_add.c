/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes data from the caller, by reference or as a copy, into the queue to the
 * disk, where it is found at once. */
#include "datacache/datacache_write.h"

#include <stdlib.h>
#include <string.h>

#include "datacache/datacache_index.h"
#include "datacache/datacache_layout.h"

enum {
	PENDING_MAX = 64 << 20, /* bytes in memory that wait for the disk */
	/* A reply that fills less than 1/16 of its buffer is copied, so that
	 * the rest of the buffer is not kept. */
	COPY_SHARE = 16,
};

struct copy {
	struct rbuf rb;
	unsigned char data[];
};

static void copy_on_release(struct rbuf *rb)
{
	free(rb);
}

/* Take a reference to the caller's buffer, or copy: a few bytes would keep all
 * of a large buffer in memory. */
static bool pend_hold(struct pend *p, const struct datacache_add *add)
{
	struct copy *c;

	if (add->hold && add->len >= add->hold->size / COPY_SHARE) {
		p->hold = rbuf_ref(add->hold);
		p->data = add->data;
		p->cost_bytes = add->hold->size;
		return true;
	}
	c = malloc(sizeof(*c) + add->len);
	if (!c)
		return false;
	memcpy(c->data, add->data, add->len);
	rbuf_init_foreign(&c->rb, c->data, add->len, copy_on_release);
	p->hold = &c->rb;
	p->data = c->data;
	p->cost_bytes = sizeof(*c) + add->len;
	return true;
}

/* Whether a full disk is left alone. It is tried again each time that a whole
 * segment's worth of data was refused. */
static bool full_skips(struct datacache *dc, uint32_t len)
{
	if (!dc->full || dc->st.disk_bytes - dc->dying_bytes > 0)
		return false;
	dc->full_skipped_bytes += len;
	if (dc->full_skipped_bytes < dc->seg_bytes)
		return true;
	dc->full_skipped_bytes = 0;
	dc->cap_bytes = UINT64_MAX;
	return false;
}

static bool add_allowed(struct datacache *dc, const struct datacache_add *add)
{
	uint64_t cost = add->len;

	if (add->hold && add->len >= add->hold->size / COPY_SHARE)
		cost = add->hold->size;
	return !dc->off && !dc->closing && add->len > 0 &&
	       add->len <= RBUF_LARGE && add->len <= dc->seg_bytes &&
	       add->offset <= UINT64_MAX - add->len && !evict_memory_full(dc) &&
	       dc->st.pending_bytes + cost <= PENDING_MAX &&
	       !full_skips(dc, add->len);
}

static struct pend *pend_make(
    struct datacache *dc, const struct datacache_add *add)
{
	struct pend *p = pend_new(dc);

	if (!p)
		return NULL;
	p->key = add->key;
	version_hash(add->version, p->version);
	p->offset = add->offset;
	p->len = add->len;
	p->flags = add->flags & (EXT_FIRM | EXT_PREFETCHED);
	/* Pinned data is wanted for good, however it came in. */
	if (pin_wants(dc, &add->key, add->len))
		p->flags = (p->flags & EXT_FIRM) | EXT_PINNED;
	if (pend_hold(p, add)) {
		if (p->hold != add->hold)
			dc->st.copied_bytes += p->len;
		pend_queue(dc, p);
		return p;
	}
	pend_abandon(dc, p);
	return NULL;
}

/* A write is measured into the page cache. From there the kernel brings the
 * bytes to the disk, and some time back from it. */
uint64_t datacache_cost_us(const struct datacache *dc, uint64_t bytes)
{
	enum { PASSES = 3, BULK = WRITE_UNIT / 8 };

	if (!dc || bytes < BULK)
		return 0;
	return PASSES * dc->write_us * bytes / WRITE_UNIT;
}

bool datacache_is_behind(const struct datacache *dc)
{
	return dc && dc->st.pending_bytes > PENDING_MAX / 4;
}

/* Whether the server would send it again sooner. One in so many is kept all the
 * same, so that a disk that was slow for a while is found to be faster. */
static bool is_spared(struct datacache *dc, const struct datacache_add *add)
{
	enum { MEASURED = 32 };

	return add->again_us != 0 &&
	       add->again_us < datacache_cost_us(dc, add->len) &&
	       !pin_wants(dc, &add->key, add->len) &&
	       ++dc->spare_turns % MEASURED != 0;
}

/* Queues the bytes for the disk. Returns NULL where the cache does not keep
 * them, and counts that. */
static struct pend *pend_kept(
    struct datacache *dc, const struct datacache_add *add)
{
	struct pend *p;

	if (is_spared(dc, add)) {
		dc->st.spared_bytes += add->len;
		return NULL;
	}
	p = add_allowed(dc, add) ? pend_make(dc, add) : NULL;
	if (!p)
		dc->st.refused_bytes += add->len;
	return p;
}

/* The client gets bytes that are not kept, so it must not find older ones here
 * later: those of the range go, but for firm ones where its own are firm, since
 * these are the same. */
static void supersede(
    struct datacache *dc, struct file *f, const struct datacache_add *add)
{
	uint64_t end = add->offset + add->len;

	if (!f || dc->off || dc->closing)
		return;
	if (add->flags & DATACACHE_FIRM)
		index_carve_loose(dc, f, add->offset, end);
	else
		index_carve(dc, f, add->offset, end, true);
	index_tidy(dc, f);
}

void datacache_add(struct datacache *dc, const struct datacache_add *add)
{
	uint64_t when = add->sent_us;
	struct extent x;
	struct file *f;
	struct pend *p;

	/* The index grows here. Disk space is looked at when a new segment is
	 * wanted. */
	if (dc->st.memory_bytes > dc->memory_max_bytes)
		evict_kick(dc);
	f = file_of_version(dc, &add->key, add->version);
	p = pend_kept(dc, add);
	if (!p) {
		supersede(dc, f, add);
		return;
	}
	if (f)
		index_carve(dc, f, add->offset, add->offset + add->len, true);
	else
		f = index_make(dc, &add->key, p->version);
	if (add->flags & DATACACHE_FIRM)
		when = layout_stamp(dc, add->flags & DATACACHE_PREFETCHED);
	x = (struct extent){.offset = add->offset,
	    .meta = when << 8 | p->flags | EXT_PENDING,
	    .len = add->len,
	    .owner = p->id};
	if (!f || !index_insert(dc, f, &x)) {
		if (f)
			index_tidy(dc, f);
		pend_free(dc, p);
		return;
	}
	dc->st.added_bytes += add->len;
	writer_give(dc, p);
}
