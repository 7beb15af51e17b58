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

/* Bytes of a buffer. A small one holds any message without a payload; a large
 * one holds the longest record (record.h), and what was received behind it. */
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
 * Makes a pool, which the caller owns. `reserve` large buffers are allocated
 * and touched now and kept until the end, fewer where memory is short; at most
 * `keep` idle ones of each size are kept beside them. NULL without memory.
 */
struct rbuf_pool *rbuf_pool_new(unsigned reserve, unsigned keep);
/* Frees the pool, or NULL. Buffers that are still referenced live on until
 * their last unref. */
void rbuf_pool_free(struct rbuf_pool *pool);

/* Returns a buffer of at least `size` bytes (<= RBUF_LARGE) with one reference,
 * which the caller owns; NULL without memory. Its bytes are those of its last
 * use. Costs constant time while the pool has an idle one. */
struct rbuf *rbuf_get(struct rbuf_pool *pool, size_t size);
/* `b` lies in its owner, with one reference, and counts those to the owner's
 * `size` bytes at `data`; `release` is called at the last unref. */
void rbuf_init_foreign(
    struct rbuf *b, void *data, size_t size, void (*release)(struct rbuf *b));
/* Takes one more reference, and returns `b`. The count is not atomic, so one
 * thread at a time may take and give back references. */
struct rbuf *rbuf_ref(struct rbuf *b);
/* Gives a reference back, or NULL. Behind the last one the buffer goes to its
 * pool, to the system where the pool keeps enough, or to its owner. */
void rbuf_unref(struct rbuf *b);

#endif
