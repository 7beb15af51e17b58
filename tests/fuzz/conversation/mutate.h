/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes another conversation of one or two. */
#ifndef FOREFETCH_FUZZ_MUTATE_H
#define FOREFETCH_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* In place; the new length, at most `max`. `bytes` changes some bytes as
 * LLVMFuzzerMutate() does. */
size_t mutate(uint8_t *data, size_t size, size_t max, unsigned seed,
    size_t (*bytes)(uint8_t *data, size_t size, size_t max));
/* Puts some steps of `b` among those of `a`, and returns the new length. */
size_t mutate_cross(const uint8_t *a, size_t alen, const uint8_t *b,
    size_t blen, uint8_t *to, size_t max, unsigned seed);

#endif
