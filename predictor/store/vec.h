/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow by realloc(). Pointers into them are valid until they grow.
 * Both functions return false without memory, and have changed nothing then. */
#ifndef FOREFETCH_VEC_H
#define FOREFETCH_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes room for element number `n`, doubling as often as that takes; elements
 * have `each` bytes, and new ones are zero. */
bool vec_room(void **vec, uint32_t *cap, size_t n, size_t each);
#define VEC_ROOM(vec, cap, n)                                                  \
	vec_room((void **)&(vec), &(cap), n, sizeof(*(vec)))

/* Makes it `want` elements long, or `limit` if that is less; new ones are not
 * initialised. Also false where it has `limit` elements already. */
bool vec_grow(
    void **vec, uint32_t *cap, uint32_t want, uint32_t limit, size_t each);
#define VEC_GROW(vec, cap, want, limit)                                        \
	vec_grow((void **)&(vec), &(cap), want, limit, sizeof(*(vec)))

#endif
