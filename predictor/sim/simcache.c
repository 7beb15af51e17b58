/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An array of entries by file, linked in the order of their use. */
#include "predictor/sim/simcache.h"

#include <assert.h>
#include <stdlib.h>

struct simcache {
	/* One a file, and one more: the head of a circular list, whose `newer`
	 * is the least recently used entry. */
	struct simcache_entry *entries;
	uint32_t head;
	size_t used_bytes, max_bytes;
	simcache_on_evict evict;
	void *ctx;
};

struct simcache *simcache_new(
    size_t nfiles, size_t max_bytes, simcache_on_evict evict, void *ctx)
{
	struct simcache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->entries = calloc(nfiles + 1, sizeof(*c->entries));
	if (!c->entries) {
		free(c);
		return NULL;
	}
	c->head = (uint32_t)nfiles;
	c->entries[c->head].newer = c->entries[c->head].older = c->head;
	c->max_bytes = max_bytes;
	c->evict = evict;
	c->ctx = ctx;
	return c;
}

void simcache_free(struct simcache *c)
{
	if (!c)
		return;
	free(c->entries);
	free(c);
}

struct simcache_entry *simcache_get(struct simcache *c, uint32_t file)
{
	return c->entries[file].bytes ? &c->entries[file] : NULL;
}

static void list_unlink(struct simcache *c, uint32_t file)
{
	struct simcache_entry *e = &c->entries[file];

	c->entries[e->newer].older = e->older;
	c->entries[e->older].newer = e->newer;
}

static void list_push(struct simcache *c, uint32_t file)
{
	struct simcache_entry *e = &c->entries[file];
	struct simcache_entry *head = &c->entries[c->head];

	e->newer = c->head;
	e->older = head->older;
	c->entries[head->older].newer = file;
	head->older = file;
}

void simcache_touch(struct simcache *c, uint32_t file)
{
	list_unlink(c, file);
	list_push(c, file);
}

void simcache_drop(struct simcache *c, uint32_t file)
{
	struct simcache_entry *e = &c->entries[file];

	list_unlink(c, file);
	c->used_bytes -= e->bytes;
	c->evict(c->ctx, file, e);
	e->bytes = 0;
}

struct simcache_entry *simcache_add(
    struct simcache *c, uint32_t file, uint32_t bytes, double arrival_s)
{
	struct simcache_entry *e = &c->entries[file];

	assert(e->bytes == 0 && bytes > 0);
	while (c->used_bytes + bytes > c->max_bytes &&
	       c->entries[c->head].newer != c->head)
		simcache_drop(c, c->entries[c->head].newer);
	e->bytes = bytes;
	e->arrival_s = arrival_s;
	e->issuer = SIMCACHE_DEMAND;
	e->unused = false;
	c->used_bytes += bytes;
	list_push(c, file);
	return e;
}

void simcache_flush(struct simcache *c)
{
	while (c->entries[c->head].newer != c->head)
		simcache_drop(c, c->entries[c->head].newer);
}
