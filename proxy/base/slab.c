/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of items of one size. A page whose items are all free serves any size
 * again, or what is kept would be as large as the most that each size ever
 * took, all together. Chunks are mapped and never given back before the end;
 * references are grains from the first chunk on, so items never move. A chunk
 * is aligned to its size, and its first grain has its number: so whoever has an
 * item's address finds its reference.
 */
#include "base/slab.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	GRAIN = 8,
	CLASSES = SLAB_ITEM_MAX / GRAIN + 1,
	PAGE_SHIFT = 11, /* grains of a page: 16 KiB */
	PAGE_GRAINS = 1 << PAGE_SHIFT,
	CHUNK_SHIFT = 17, /* grains of what is mapped at a time: 1 MiB */
	CHUNK_GRAINS = 1 << CHUNK_SHIFT,
	CHUNK_BYTES = CHUNK_GRAINS * GRAIN,
	CHUNK_PAGES = CHUNK_GRAINS / PAGE_GRAINS,
	/* The number of a chunk stands in these grains at its beginning. */
	NUMBER_GRAINS = 1,
	/* The very first page stays unused: 0 is no item, and no page. */
	FIRST_PAGE = 1,
};

struct slab_page {
	/* The neighbours in the list that it is in; 0: none. */
	uint32_t prev, next;
	slab_ref idle; /* free items, each with the next one */
	uint16_t top;  /* grains given out so far */
	uint16_t used; /* items */
};

struct slab {
	unsigned char **chunks;
	struct slab_page *pages; /* of all chunks */
	size_t nchunks, room;
	uint32_t npages;        /* given out so far */
	uint32_t empty;         /* pages without an item */
	uint32_t some[CLASSES]; /* pages with room for more */
	size_t used;            /* bytes */
};

struct slab *slab_new(void)
{
	struct slab *s = calloc(1, sizeof(struct slab));

	if (s)
		s->npages = FIRST_PAGE;
	return s;
}

void slab_delete(struct slab *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nchunks; i++)
		munmap(s->chunks[i], CHUNK_BYTES);
	free(s->chunks);
	free(s->pages);
	free(s);
}

bool slab_shed(struct slab *s)
{
	if (s->nchunks == 0)
		return false;
	munmap(s->chunks[--s->nchunks], CHUNK_BYTES);
	return true;
}

void *slab_ptr(const struct slab *s, slab_ref ref)
{
	assert(ref != 0 && (ref >> CHUNK_SHIFT) < s->nchunks);
	return s->chunks[ref >> CHUNK_SHIFT] +
	       (size_t)(ref & (CHUNK_GRAINS - 1)) * GRAIN;
}

slab_ref slab_ref_of(const void *item)
{
	uintptr_t at = (uintptr_t)item % CHUNK_BYTES;
	uint32_t number;

	memcpy(&number, (const unsigned char *)item - at, sizeof(number));
	return number << CHUNK_SHIFT | (slab_ref)(at / GRAIN);
}

static size_t class_of(size_t size)
{
	assert(size > 0 && size <= SLAB_ITEM_MAX);
	return (size + GRAIN - 1) / GRAIN;
}

/* Makes room in both tables for one more chunk; false without memory. */
static bool slab_reserve(struct slab *s)
{
	size_t room = s->room ? s->room + s->room / 2 : 16;
	struct slab_page *pages;
	void *chunks;

	if (s->nchunks < s->room)
		return true;
	chunks = realloc(s->chunks, room * sizeof(*s->chunks));
	if (!chunks)
		return false;
	s->chunks = chunks;
	pages = realloc(s->pages, room * CHUNK_PAGES * sizeof(*pages));
	if (!pages)
		return false;
	s->pages = pages;
	s->room = room;
	return true;
}

/* Maps a chunk; NULL without memory. Twice its size is mapped, and what is not
 * of the aligned one is given back. */
static void *chunk_map(void)
{
	unsigned char *p = mmap(NULL, (size_t)2 * CHUNK_BYTES, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)p % CHUNK_BYTES;
	if (before > 0)
		munmap(p, before);
	p += before;
	munmap(p + CHUNK_BYTES, CHUNK_BYTES - before);
	if (mprotect(p, CHUNK_BYTES, PROT_READ | PROT_WRITE) == 0)
		return p;
	munmap(p, CHUNK_BYTES);
	return NULL;
}

/* Maps one more chunk; false without memory, or where references have no bit
 * left for it. */
static bool slab_grow(struct slab *s)
{
	uint32_t number = (uint32_t)s->nchunks;
	void *p;

	if (s->nchunks == (1u << (32 - CHUNK_SHIFT)) || !slab_reserve(s))
		return false;
	p = chunk_map();
	if (!p)
		return false;
	memcpy(p, &number, sizeof(number));
	s->chunks[s->nchunks++] = p;
	return true;
}

static void list_add(struct slab *s, uint32_t *list, uint32_t at)
{
	s->pages[at].prev = 0;
	s->pages[at].next = *list;
	if (*list)
		s->pages[*list].prev = at;
	*list = at;
}

static void list_remove(struct slab *s, uint32_t *list, uint32_t at)
{
	const struct slab_page *p = &s->pages[at];

	if (p->prev)
		s->pages[p->prev].next = p->next;
	else
		*list = p->next;
	if (p->next)
		s->pages[p->next].prev = p->prev;
}

static bool page_has_room(const struct slab_page *p, size_t c)
{
	return p->idle != 0 || p->top + c <= PAGE_GRAINS;
}

/* Returns a page for items of `c` grains, in the list of those with room; 0
 * where there is no memory. */
static uint32_t page_new(struct slab *s, size_t c)
{
	uint32_t at = s->empty;

	if (at) {
		list_remove(s, &s->empty, at);
	} else {
		if (s->npages >= s->nchunks * CHUNK_PAGES && !slab_grow(s))
			return 0;
		at = s->npages++;
	}
	s->pages[at] = (struct slab_page){
	    .top = at % CHUNK_PAGES == 0 ? NUMBER_GRAINS : 0};
	list_add(s, &s->some[c], at);
	return at;
}

slab_ref slab_alloc(struct slab *s, size_t size)
{
	size_t c = class_of(size);
	uint32_t at = s->some[c] ? s->some[c] : page_new(s, c);
	struct slab_page *p;
	slab_ref ref;

	if (!at)
		return 0;
	p = &s->pages[at];
	ref = p->idle;
	if (ref) {
		memcpy(&p->idle, slab_ptr(s, ref), sizeof(ref));
	} else {
		ref = (slab_ref)(at << PAGE_SHIFT) + p->top;
		p->top += (uint16_t)c;
	}
	memset(slab_ptr(s, ref), 0, c * GRAIN);
	p->used++;
	if (!page_has_room(p, c))
		list_remove(s, &s->some[c], at);
	s->used += c * GRAIN;
	return ref;
}

void slab_free(struct slab *s, slab_ref ref, size_t size)
{
	size_t c = class_of(size);
	uint32_t at = ref >> PAGE_SHIFT;
	struct slab_page *p = &s->pages[at];

	assert(p->used > 0);
	s->used -= c * GRAIN;
	if (!page_has_room(p, c))
		list_add(s, &s->some[c], at);
	memcpy(slab_ptr(s, ref), &p->idle, sizeof(ref));
	p->idle = ref;
	if (--p->used > 0)
		return;
	list_remove(s, &s->some[c], at);
	list_add(s, &s->empty, at);
}

size_t slab_used_bytes(const struct slab *s)
{
	return s->used;
}
