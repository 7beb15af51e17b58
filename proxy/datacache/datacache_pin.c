/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pinned files, whose data is not evicted. A table has their keys, whether or
 * not there is data of them. Each of their extents has a mark, and each segment
 * counts the bytes that have one; eviction looks at that count. No more bytes
 * are marked than the limit allows, whatever the sizes were said to be, so that
 * eviction always finds something.
 */
#include "datacache/datacache_write.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "datacache/datacache_index.h"
#include "hashing/hash_key.h"

enum {
	ROOM_FIRST = 1024,
	PIN_SHARE = 2,        /* of the cache: 1/2 */
	PIN_MEMORY_SHARE = 2, /* 1/2 of the memory of all indexes */
	PIN_FILE_BYTES = 256, /* so much of that for each pinned file */
	PIN_KEPT_SHARE = 8,   /* 1/8 of both for the owner's pins alone */
};

/* A pinned file; a place of the table is free where `pins` is 0. */
struct pinned {
	struct data_key key;
	uint64_t bytes; /* its size, as datacache_pin() was told */
	uint32_t pins;  /* a bit for each pin that it has */
	uint32_t seen;  /* bits of pins set since their datacache_pin_begin() */
};

/* Open addressing; the room is a power of two. */
struct pinned_table {
	struct pinned *v;
	size_t room;
	uint64_t files;
	uint64_t bytes;   /* sizes of all */
	uint32_t changed; /* see datacache_pins_changed() */
};

bool pin_init(struct datacache *dc)
{
	dc->pinned = dc_new(dc, sizeof(*dc->pinned));
	return dc->pinned != NULL;
}

static size_t pinned_home(
    const struct pinned_table *t, const struct data_key *key)
{
	return hash_numbers(key->h[0], key->h[1]) & (t->room - 1);
}

static struct pinned *pinned_find(
    const struct pinned_table *t, const struct data_key *key)
{
	size_t mask = t->room - 1, at = pinned_home(t, key);

	if (t->room == 0)
		return NULL;
	while (t->v[at].pins != 0) {
		if (memcmp(&t->v[at].key, key, sizeof(*key)) == 0)
			return &t->v[at];
		at = (at + 1) & mask;
	}
	return NULL;
}

static struct pinned *pinned_put(
    struct pinned_table *t, const struct pinned *one)
{
	size_t mask = t->room - 1, at = pinned_home(t, &one->key);

	while (t->v[at].pins != 0)
		at = (at + 1) & mask;
	t->v[at] = *one;
	return &t->v[at];
}

/* Make the table anew, with `room` places. */
static bool pinned_remake(struct datacache *dc, size_t room)
{
	struct pinned_table *t = dc->pinned, old = *t;

	t->v = dc_new(dc, room * sizeof(*t->v));
	if (!t->v) {
		t->v = old.v;
		return false;
	}
	t->room = room;
	for (size_t i = 0; i < old.room; i++)
		if (old.v[i].pins != 0)
			(void)pinned_put(t, &old.v[i]);
	if (old.v)
		dc_free(dc, old.v, old.room * sizeof(*old.v));
	return true;
}

void pin_free(struct datacache *dc)
{
	if (dc->pinned)
		free(dc->pinned->v);
	free(dc->pinned);
}

bool pin_any(const struct datacache *dc)
{
	return dc->pinned->files > 0;
}

uint64_t datacache_pin_limit_bytes(const struct datacache *dc)
{
	return dc->size_bytes / PIN_SHARE;
}

uint64_t datacache_pinned_bytes(const struct datacache *dc)
{
	return dc->pinned->bytes;
}

/* The limit of files: the index of pinned data stays in memory, too. */
static uint64_t limit_files(const struct datacache *dc)
{
	return dc->memory_max_bytes / PIN_MEMORY_SHARE / PIN_FILE_BYTES;
}

bool pin_wants(
    const struct datacache *dc, const struct data_key *key, uint32_t len)
{
	return dc->pinned->files > 0 &&
	       dc->st.pinned_bytes + len <= datacache_pin_limit_bytes(dc) &&
	       pinned_find(dc->pinned, key);
}

void pin_lost(struct datacache *dc, const struct data_key *key)
{
	const struct pinned *one = pinned_find(dc->pinned, key);

	if (one)
		dc->pinned->changed |= one->pins;
}

void pin_lost_all(struct datacache *dc)
{
	dc->pinned->changed = UINT32_MAX;
}

uint32_t datacache_pins_changed(struct datacache *dc)
{
	uint32_t changed = dc->pinned->changed;

	dc->pinned->changed = 0;
	return changed;
}

/* ---- marks ------------------------------------------------------------ */

static void extent_mark(struct datacache *dc, struct extent *x, bool on)
{
	int64_t bytes = on ? x->len : -(int64_t)x->len;

	x->meta &= ~(uint64_t)EXT_PINNED;
	if (on)
		x->meta |= EXT_PINNED;
	dc->st.pinned_bytes += (uint64_t)bytes;
	/* A pending extent is counted when it arrives in its segment. */
	if (!(x->meta & EXT_PENDING))
		segment_by_id(dc, x->owner)->pinned_bytes += (uint64_t)bytes;
}

static void file_mark(struct datacache *dc, const struct data_key *key, bool on)
{
	struct file *f = index_lookup(dc, key);
	uint64_t most = datacache_pin_limit_bytes(dc);
	struct extent_cursor c;
	struct extent *x;

	if (!f)
		return;
	for (index_seek(f, 0, &c); (x = cursor_get(&c)); cursor_next(&c)) {
		if (!(x->meta & EXT_PINNED) != on ||
		    (on && dc->st.pinned_bytes + x->len > most))
			continue;
		extent_mark(dc, x, on);
	}
}

/* ---- pins ------------------------------------------------------------- */

static uint64_t limit_for(uint64_t all, bool owner)
{
	return owner ? all : all - all / PIN_KEPT_SHARE;
}

static struct pinned *pinned_add(
    struct datacache *dc, const struct data_key *key, uint32_t bit, bool owner)
{
	struct pinned_table *t = dc->pinned;
	struct pinned one = {.key = *key, .pins = bit};

	if (t->files >= limit_for(limit_files(dc), owner))
		return NULL;
	/* The table is never full, as a search ends at a free place. */
	if (t->files >= t->room / 4 * 3 &&
	    !pinned_remake(dc, t->room ? 2 * t->room : ROOM_FIRST))
		return NULL;
	t->files++;
	return pinned_put(t, &one);
}

bool datacache_pin(struct datacache *dc, const struct data_key *key,
    uint64_t bytes, unsigned pin, bool owner)
{
	struct pinned *one = pinned_find(dc->pinned, key);
	uint64_t others = dc->pinned->bytes - (one ? one->bytes : 0);
	uint64_t most = limit_for(datacache_pin_limit_bytes(dc), owner);
	uint32_t bit = UINT32_C(1) << pin;

	assert(pin < DATACACHE_PINS);
	/* A file that has grown beyond the limit keeps its pin and its former
	 * share of the limit. */
	if (others > most || bytes > most - others) {
		if (one)
			one->seen |= one->pins & bit;
		return false;
	}
	if (!one)
		one = pinned_add(dc, key, bit, owner);
	if (!one)
		return false;
	one->pins |= bit;
	one->seen |= bit;
	one->bytes = bytes;
	dc->pinned->bytes = others + bytes;
	file_mark(dc, key, true);
	return true;
}

bool datacache_is_pinned(
    const struct datacache *dc, const struct data_key *key, unsigned pin)
{
	const struct pinned *one = pinned_find(dc->pinned, key);

	return one && (one->pins & UINT32_C(1) << pin);
}

void datacache_pin_begin(struct datacache *dc, unsigned pin)
{
	for (size_t i = 0; i < dc->pinned->room; i++)
		dc->pinned->v[i].seen &= ~(UINT32_C(1) << pin);
}

/* Move entries behind the hole up to it, or searches would end there. */
static void pinned_remove(struct pinned_table *t, size_t hole)
{
	size_t mask = t->room - 1, at = hole;

	for (;;) {
		size_t home;

		t->v[hole].pins = 0;
		do {
			at = (at + 1) & mask;
			if (t->v[at].pins == 0)
				return;
			home = pinned_home(t, &t->v[at].key);
		} while (((at - home) & mask) < ((at - hole) & mask));
		t->v[hole] = t->v[at];
		hole = at;
	}
}

/* Seal the open segment of pinned data if nothing in it is pinned any more, so
 * that it can be evicted. */
static void seal_open(struct datacache *dc)
{
	struct segment *seg = writer_idle_segment(dc, SEGMENT_PINNED);

	if (seg && 2 * seg->pinned_bytes < seg->used)
		segment_seal(seg);
}

/* Take the pin from all files that have it; `unseen`: only from those that were
 * not given to datacache_pin() since datacache_pin_begin(). */
static void take_away(struct datacache *dc, unsigned pin, bool unseen)
{
	struct pinned_table *t = dc->pinned;
	uint32_t bit = UINT32_C(1) << pin;
	size_t room = t->room;

	/* After a removal another one may lie in the same place. */
	for (size_t i = 0; i < t->room;) {
		struct pinned *one = &t->v[i];

		if (!(one->pins & bit) || (unseen && (one->seen & bit))) {
			i++;
			continue;
		}
		one->pins &= ~bit;
		if (one->pins != 0)
			continue;
		file_mark(dc, &one->key, false);
		t->files--;
		t->bytes -= one->bytes;
		pinned_remove(t, i);
	}
	while (room > ROOM_FIRST && t->files < room / 4)
		room /= 2;
	if (room < t->room)
		(void)pinned_remake(dc, room);
	seal_open(dc);
	/* Eviction may begin with these now. */
	evict_kick(dc);
}

void datacache_pin_end(struct datacache *dc, unsigned pin)
{
	take_away(dc, pin, true);
}

void datacache_unpin(struct datacache *dc, unsigned pin)
{
	take_away(dc, pin, false);
}

/* ---- what there is ---------------------------------------------------- */

static uint64_t cached_bytes(
    struct datacache *dc, const struct data_key *key, size_t *extents)
{
	struct file *f = index_lookup(dc, key);
	uint64_t bytes = 0;
	struct extent_cursor c;
	const struct extent *x;

	if (!f)
		return 0;
	for (index_seek(f, 0, &c); (x = cursor_get(&c)); cursor_next(&c)) {
		bytes += x->len;
		++*extents;
	}
	return bytes;
}

static void count_file(struct datacache *dc, struct datacache_pin_walk *w,
    const struct pinned *one, size_t *extents)
{
	uint64_t cached = cached_bytes(dc, &one->key, extents);

	for (unsigned i = 0; i < DATACACHE_PINS; i++) {
		if (!(one->pins >> i & 1))
			continue;
		w->pins[i].files++;
		w->pins[i].bytes += one->bytes;
		w->pins[i].cached_bytes += cached;
	}
}

bool datacache_pin_stats_step(
    struct datacache *dc, struct datacache_pin_walk *w, size_t n)
{
	const struct pinned_table *t = dc->pinned;
	size_t done = 0;

	if (w->room != t->room)
		*w = (struct datacache_pin_walk){.room = t->room};
	for (; done < n && w->at < t->room; done++, w->at++)
		if (t->v[w->at].pins != 0)
			count_file(dc, w, &t->v[w->at], &done);
	return w->at >= t->room;
}

void datacache_each_pinned(const struct datacache *dc,
    void (*each)(
	void *ctx, const struct data_key *key, uint64_t bytes, uint32_t pins),
    void *ctx)
{
	for (size_t i = 0; i < dc->pinned->room; i++) {
		const struct pinned *one = &dc->pinned->v[i];

		if (one->pins != 0)
			each(ctx, &one->key, one->bytes, one->pins);
	}
}
