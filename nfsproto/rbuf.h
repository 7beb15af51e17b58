/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receive buffers, counted by reference.
 *
 * Records are received into buffers that they are never copied out of: a
 * payload is sent on by reference and keeps its buffer alive. Buffers come
 * in two sizes from a pool, so that a stream of large records neither
 * allocates nor touches fresh pages. A pool may set some aside at start, so
 * that writes go on while the machine is short of memory. An rbuf may also
 * stand for memory of somebody else's, a mapped file for one.
 */
#ifndef FOREFETCH_RBUF_H
#define FOREFETCH_RBUF_H

#include <stddef.h>
#include <stdint.h>

enum {
	RBUF_SMALL = 64 << 10,
	RBUF_LARGE = (1 << 20) + (64 << 10),
};

struct rbuf {
	size_t size; /* bytes at data */
	unsigned refs;
	struct rbuf_pool *pool;
	struct rbuf *next;   /* while it lies in the pool */
	unsigned char *data; /* of the pool's: starts on a 64-byte boundary */
	void (*release)(struct rbuf *b); /* NULL where it is the pool's */
};

/* Bytes that go out as they lie there. */
struct rbuf_piece {
	const void *data;
	uint32_t len;
	struct rbuf *hold; /* keeps `data`; NULL: it must be copied */
};

struct rbuf_pool;

/*
 * `reserve` large buffers are allocated and touched now and kept until the
 * end; at most `keep` idle ones of each size are kept beside them.
 */
struct rbuf_pool *rbuf_pool_new(unsigned reserve, unsigned keep);
/* Buffers that are still referenced live on until their last unref. */
void rbuf_pool_free(struct rbuf_pool *pool);

/* A buffer of at least `size` bytes (<= RBUF_LARGE) with one reference;
 * NULL where there is no memory. */
struct rbuf *rbuf_get(struct rbuf_pool *pool, size_t size);
/* `b` lies in its owner, with one reference, and counts those to the owner's
 * `size` bytes at `data`; `release` is called at the last unref. */
void rbuf_init_foreign(
    struct rbuf *b, void *data, size_t size, void (*release)(struct rbuf *b));
struct rbuf *rbuf_ref(struct rbuf *b);
void rbuf_unref(struct rbuf *b);

#endif
