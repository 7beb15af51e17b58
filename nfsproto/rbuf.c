/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pool of receive buffers in two sizes: a list of idle ones for each, from
 * which the one that was touched last is taken first. */
#include "nfsproto/rbuf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct rbuf_pool {
	struct rbuf *idle[2]; /* small, large */
	unsigned count[2];
	unsigned keep[2];
	unsigned out; /* buffers with a reference */
	int closed;   /* freed by its owner: goes with the last buffer */
};

/* 0 for small buffers, 1 for large ones. */
static int size_class(size_t size)
{
	return size > RBUF_SMALL;
}

/* Allocates a buffer; a record costs this only where the pool has no idle one.
 */
static struct rbuf *rbuf_new(struct rbuf_pool *pool, size_t size)
{
	struct rbuf *b = calloc(1, sizeof(*b));
	void *data = NULL;

	if (!b)
		return NULL;
	if (posix_memalign(&data, 64, size)) {
		free(b);
		return NULL;
	}
	b->data = data;
	b->size = size;
	b->pool = pool;
	return b;
}

static void rbuf_delete(struct rbuf *b)
{
	free(b->data);
	free(b);
}

static void pool_push(struct rbuf_pool *pool, struct rbuf *b)
{
	int c = size_class(b->size);

	b->next = pool->idle[c];
	pool->idle[c] = b;
	pool->count[c]++;
}

struct rbuf_pool *rbuf_pool_new(unsigned reserve, unsigned keep)
{
	struct rbuf_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->keep[0] = keep;
	pool->keep[1] = keep + reserve;
	for (unsigned i = 0; i < reserve; i++) {
		struct rbuf *b = rbuf_new(pool, RBUF_LARGE);

		if (!b)
			break;
		/* Touched now, since later there may be no page to be had. */
		memset(b->data, 0, b->size);
		pool_push(pool, b);
	}
	return pool;
}

static void pool_drain(struct rbuf_pool *pool)
{
	for (int c = 0; c < 2; c++) {
		while (pool->idle[c]) {
			struct rbuf *b = pool->idle[c];

			pool->idle[c] = b->next;
			rbuf_delete(b);
		}
	}
}

void rbuf_pool_free(struct rbuf_pool *pool)
{
	if (!pool)
		return;
	pool_drain(pool);
	pool->closed = 1;
	if (pool->out == 0)
		free(pool);
}

struct rbuf *rbuf_get(struct rbuf_pool *pool, size_t size)
{
	int c = size_class(size);
	struct rbuf *b = pool->idle[c];

	assert(size <= RBUF_LARGE);
	if (b) {
		pool->idle[c] = b->next;
		pool->count[c]--;
	} else {
		b = rbuf_new(pool, c ? RBUF_LARGE : RBUF_SMALL);
	}
	if (!b)
		return NULL;
	b->next = NULL;
	b->refs = 1;
	pool->out++;
	return b;
}

void rbuf_init_foreign(
    struct rbuf *b, void *data, size_t size, void (*release)(struct rbuf *b))
{
	memset(b, 0, sizeof(*b));
	b->data = data;
	b->size = size;
	b->refs = 1;
	b->release = release;
}

struct rbuf *rbuf_ref(struct rbuf *b)
{
	assert(b->refs > 0);
	b->refs++;
	return b;
}

void rbuf_unref(struct rbuf *b)
{
	struct rbuf_pool *pool;

	if (!b)
		return;
	assert(b->refs > 0);
	if (--b->refs > 0)
		return;
	if (b->release) {
		b->release(b);
		return;
	}
	pool = b->pool;
	pool->out--;
	if (!pool->closed &&
	    pool->count[size_class(b->size)] < pool->keep[size_class(b->size)])
		pool_push(pool, b);
	else
		rbuf_delete(b);
	if (pool->closed && pool->out == 0)
		free(pool);
}
