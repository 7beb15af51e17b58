/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In which order a run read a file, piece by piece, in blocks. Two numbers a
 * piece: how far it begins from the end of the one before, and its length;
 * seven bits a byte, small ones first.
 */
#ifndef FOREFETCH_ORDER_H
#define FOREFETCH_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORDER_MAX = 2048, ORDER_BYTES = 8192, ORDER_PACKED = 8208 };

struct order_piece {
	uint32_t at, length;
};

/* Zeroed, it is empty. */
struct order {
	unsigned char *bytes;
	uint16_t len, cap;
	uint16_t n;              /* pieces, without `last` */
	bool over;               /* there was more, or no memory for it */
	struct order_piece last; /* goes on, perhaps; length 0: none */
	uint32_t end;            /* of the piece before it */
};

void order_add(struct order *o, uint32_t at, uint32_t length);
void order_clear(struct order *o);
/* Pieces; 0 where there were too many. */
size_t order_count(const struct order *o);
/* `max` at most. */
size_t order_get(const struct order *o, struct order_piece *out, size_t max);
/* To be kept elsewhere: up to ORDER_PACKED bytes; 0: nothing. */
size_t order_pack(const struct order *o, unsigned char *out);
/* What order_pack() gave; false where that is nonsense, or without memory. */
bool order_set(struct order *o, const void *bytes, size_t len);

#endif
