/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order in which a run read a file, piece by piece, in blocks. A piece is
 * two numbers: how far it begins from the end of the piece before (2n forward,
 * 2n-1 backward) and its length. A number takes seven bits a byte, the lowest
 * first, as in protocol buffers.
 */
#ifndef FOREFETCH_ORDER_H
#define FOREFETCH_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ORDER_MAX = 2048,   /* pieces */
	ORDER_BYTES = 8192, /* of them, without the last one */
	ORDER_PACKED = 8208 /* with it */
};

/* Blocks that were read together: the first one, and how many. */
struct order_piece {
	uint32_t at, length;
};

/* Zeroed, it is empty. */
struct order {
	unsigned char *bytes;
	uint16_t len, cap;
	uint16_t n;              /* pieces, without `last` */
	bool over;               /* there was more than it has room for */
	struct order_piece last; /* it may still grow; length 0: none */
	uint32_t end;            /* of the piece before `last` */
};

/* The blocks were read. */
void order_add(struct order *o, uint32_t at, uint32_t length);
void order_clear(struct order *o);
/* How many pieces; 0 if there were too many. */
size_t order_count(const struct order *o);
/* Returns how many pieces, `max` at most. */
size_t order_get(const struct order *o, struct order_piece *out, size_t max);
/* As bytes, to be saved: returns how many, ORDER_PACKED at most; 0 if there are
 * no pieces. */
size_t order_pack(const struct order *o, unsigned char *out);
/* Takes bytes that order_pack() made; false if they are nonsense, or without
 * memory. */
bool order_set(struct order *o, const void *bytes, size_t len);

#endif
