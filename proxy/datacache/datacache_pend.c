/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data on its way to a segment: where it goes, where its bytes come from, and
 * what becomes of its extents when it has arrived. */
#include "datacache/datacache_write.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"

struct pend *pend_new(struct datacache *dc)
{
	struct pend *p = dc_new(dc, sizeof(*p));
	int64_t at;

	if (!p)
		return NULL;
	at = id_add(dc, &dc->pends, p);
	if (at < 0) {
		dc_free(dc, p, sizeof(*p));
		return NULL;
	}
	p->id = (uint32_t)at;
	return p;
}

void pend_abandon(struct datacache *dc, struct pend *p)
{
	id_remove(&dc->pends, p->id);
	dc_free(dc, p, sizeof(*p));
}

enum segment_kind pend_kind(const struct pend *p)
{
	if (p->flags & EXT_PINNED)
		return SEGMENT_PINNED;
	if (p->by_layout)
		return SEGMENT_LAYOUT;
	/* Data that is moved on has been used. */
	return (p->flags & EXT_PREFETCHED) && !p->src ? SEGMENT_PREFETCH
						      : SEGMENT_DEMAND;
}

static void extent_settle(
    struct extent *x, struct segment *seg, uint32_t pos, uint32_t slot)
{
	x->owner = seg->id;
	x->pos += pos;
	x->slot = slot;
	x->meta &= ~(uint64_t)EXT_PENDING;
	segment_account(seg, x, x->len, 1);
}

/* Leave an extent in its old segment if the move failed and it is pinned, or
 * was moved for its place only. */
static bool extent_keep_in_place(const struct pend *p, struct extent *x)
{
	if (!p->src || p->src->dead || p->bad ||
	    !(p->by_layout || (x->meta & EXT_PINNED)))
		return false;
	extent_settle(
	    x, p->src, (uint32_t)(p->data - p->src->rb.data), p->src_slot);
	return true;
}

void pend_settle(struct datacache *dc, struct pend *p, bool lost)
{
	struct file *f = index_lookup(dc, &p->key);
	uint64_t end = p->offset + p->len;
	struct extent_cursor c;
	struct extent *x;

	if (!f || p->live_bytes == 0)
		return;
	index_seek(f, p->offset, &c);
	while ((x = cursor_get(&c)) && x->offset < end) {
		if (!(x->meta & EXT_PENDING) || x->owner != p->id) {
			cursor_next(&c);
		} else if (!lost) {
			extent_settle(x, p->seg, p->pos, p->slot);
			x->meta |= EXT_VERIFIED;
			cursor_next(&c);
		} else if (extent_keep_in_place(p, x)) {
			cursor_next(&c);
		} else {
			index_remove(dc, &c);
		}
	}
	index_tidy(dc, f);
}

/* Read the old entry of what the layout moves. It moves whole entries only, so
 * that it can overwrite them. */
static bool pend_read_entry(struct pend *p)
{
	struct seg_entry e;

	if (segment_read_entries(p->src, p->src_slot, &e, 1) < 0 ||
	    !entry_is_sound(&e, p->src->dc->id) ||
	    !(entry_kind(&e) & ENTRY_DATA) || entry_len(&e) != p->len ||
	    e.pos != (uint32_t)(p->data - p->src->rb.data) ||
	    e.offset != p->offset ||
	    memcmp(&e.key, &p->key, sizeof(e.key)) != 0)
		return false;
	p->src_pos = e.pos;
	p->src_len = p->len;
	p->src_sum = e.extra;
	return true;
}

/* Read what is moved from the old segment; NULL if that is not what was written
 * there. */
static void *pend_read_source(const struct pend *p)
{
	char *buf = malloc(p->src_len);
	int fd;

	if (!buf)
		return NULL;
	fd = segment_open(p->src->dc, p->src->number, "seg", O_RDONLY);
	if (fd < 0 || read_all(fd, buf, p->src_len, p->src_pos) < 0 ||
	    XXH3_64bits(buf, p->src_len) != p->src_sum) {
		free(buf);
		buf = NULL;
	}
	if (fd >= 0)
		close(fd);
	return buf;
}

const unsigned char *pend_bytes(struct pend *p, void **scratch)
{
	*scratch = NULL;
	if (!p->src)
		return p->data;
	if (!p->by_layout || pend_read_entry(p))
		*scratch = pend_read_source(p);
	/* An extent that the layout cannot move may still be valid in its old
	 * place. */
	p->kept_in_place = p->by_layout && !*scratch;
	p->bad = !p->by_layout && !*scratch;
	if (!*scratch)
		return NULL;
	return (unsigned char *)*scratch + (size_t)(p->data - p->src->rb.data) -
	       p->src_pos;
}
