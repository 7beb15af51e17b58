/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verifying ahead. After a start each extent is compared with its checksum by a
 * thread before it is first sent, and the reply waits for that. The data behind
 * it in the segment was read after it the last time too, and is likely to be
 * wanted next. So the thread goes on for a while, and the next replies need not
 * wait.
 */
#include "datacache/datacache_request.h"

#include <stdlib.h>

#include "datacache/datacache_disk.h"
#include "datacache/datacache_index.h"
#include "datacache/datacache_segment.h"

enum { AHEAD_MAX = 64 /* extents */ };

struct ahead_item {
	struct data_key key;
	uint64_t offset;
	uint32_t len, slot;
	bool sound;
};

struct ahead {
	const struct segment *segment;
	unsigned n;
	struct ahead_item items[AHEAD_MAX];
};

/* Where the last of the entries ends whose payloads lie side by side in
 * [from, from + AHEAD_BYTES). */
static uint32_t ahead_end(const struct datacache *dc, const struct segment *seg,
    const struct seg_entry *e, uint32_t from)
{
	uint64_t end = from;

	for (unsigned i = 0; i < AHEAD_MAX; i++) {
		if (!entry_is_sound(&e[i], dc->id))
			break;
		if (!(entry_kind(&e[i]) & ENTRY_DATA))
			continue;
		if (e[i].pos < from ||
		    (uint64_t)e[i].pos + entry_len(&e[i]) >
			(uint64_t)from + AHEAD_BYTES ||
		    (uint64_t)e[i].pos + entry_len(&e[i]) > seg->bytes)
			break;
		if ((uint64_t)e[i].pos + entry_len(&e[i]) > end)
			end = (uint64_t)e[i].pos + entry_len(&e[i]);
	}
	return (uint32_t)end;
}

static void ahead_check(struct ahead *a, const struct datacache *dc,
    const struct seg_entry *e, uint32_t slot, struct sum_window *w,
    uint32_t from)
{
	uint64_t sum;

	for (unsigned i = 0; i < AHEAD_MAX; i++) {
		uint32_t len = entry_len(&e[i]);

		if (!entry_is_sound(&e[i], dc->id))
			return;
		if (!(entry_kind(&e[i]) & ENTRY_DATA))
			continue;
		if (e[i].pos < from || (uint64_t)e[i].pos + len > w->end)
			return;
		if (window_sum(w, e[i].pos, len, &sum) < 0)
			return;
		a->items[a->n++] = (struct ahead_item){.key = e[i].key,
		    .offset = e[i].offset,
		    .len = len,
		    .slot = slot + i,
		    .sound = sum == e[i].extra};
	}
}

struct ahead *ahead_run(struct datacache *dc, const struct segment *seg,
    uint32_t slot, uint32_t from, int fd)
{
	struct seg_entry *e = malloc(AHEAD_MAX * sizeof(*e));
	struct ahead *a = calloc(1, sizeof(*a));
	struct sum_window w;

	if (e && a && segment_read_entries(seg, slot, e, AHEAD_MAX) == 0) {
		a->segment = seg;
		w.fd = fd;
		w.from = w.len = 0;
		w.end = ahead_end(dc, seg, e, from);
		ahead_check(a, dc, e, slot, &w, from);
	}
	free(e);
	return a;
}

void ahead_done(struct datacache *dc, struct ahead *a)
{
	for (unsigned i = 0; a && i < a->n; i++) {
		const struct ahead_item *it = &a->items[i];

		index_judge(dc, &it->key, it->offset, it->len, a->segment,
		    it->slot, it->sound);
	}
	free(a);
}
