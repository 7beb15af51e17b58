/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	GRAIN = 8,
	CLASSES = SLAB_ITEM_MAX / GRAIN + 1,
	CHUNK_SHIFT = 17, /* grains of a chunk: 1 MiB */
	CHUNK_GRAINS = 1 << CHUNK_SHIFT,
};

struct slab {
	unsigned char **chunks;
	size_t nchunks;
	size_t room;  /* of `chunks` */
	uint32_t top; /* grains used of the newest chunk */
	slab_ref idle[CLASSES];
	size_t used;
};

struct slab *slab_new(void)
{
	return calloc(1, sizeof(struct slab));
}

void slab_delete(struct slab *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nchunks; i++)
		munmap(s->chunks[i], (size_t)CHUNK_GRAINS * GRAIN);
	free(s->chunks);
	free(s);
}

void *slab_ptr(const struct slab *s, slab_ref ref)
{
	assert(ref != 0 && (ref >> CHUNK_SHIFT) < s->nchunks);
	return s->chunks[ref >> CHUNK_SHIFT] +
	       (size_t)(ref & (CHUNK_GRAINS - 1)) * GRAIN;
}

static size_t class_of(size_t size)
{
	assert(size > 0 && size <= SLAB_ITEM_MAX);
	return (size + GRAIN - 1) / GRAIN;
}

static int slab_grow(struct slab *s)
{
	void *p;

	if (s->nchunks == (1u << (32 - CHUNK_SHIFT)))
		return -1;
	if (s->nchunks == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		void *more = realloc(s->chunks, room * sizeof(*s->chunks));

		if (!more)
			return -1;
		s->chunks = more;
		s->room = room;
	}
	p = mmap(NULL, (size_t)CHUNK_GRAINS * GRAIN, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	s->chunks[s->nchunks++] = p;
	/* The very first grain stays unused: 0 is no item. */
	s->top = s->nchunks == 1;
	return 0;
}

slab_ref slab_alloc(struct slab *s, size_t size)
{
	size_t c = class_of(size);
	slab_ref ref = s->idle[c];

	if (ref) {
		memcpy(&s->idle[c], slab_ptr(s, ref), sizeof(ref));
		memset(slab_ptr(s, ref), 0, c * GRAIN);
	} else {
		if (s->nchunks == 0 || s->top + c > CHUNK_GRAINS)
			if (slab_grow(s) < 0)
				return 0;
		ref = (slab_ref)((s->nchunks - 1) << CHUNK_SHIFT) + s->top;
		s->top += (uint32_t)c;
	}
	s->used += c * GRAIN;
	return ref;
}

void slab_free(struct slab *s, slab_ref ref, size_t size)
{
	size_t c = class_of(size);

	memcpy(slab_ptr(s, ref), &s->idle[c], sizeof(ref));
	s->idle[c] = ref;
	s->used -= c * GRAIN;
}

size_t slab_used_bytes(const struct slab *s)
{
	return s->used;
}
