/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells how far a word is from another one, and so what somebody may have
 * meant: in messages only, never to act on it. */
#ifndef FOREFETCH_SPELLING_H
#define FOREFETCH_SPELLING_H

#include <stddef.h>

/* More slips than these make another word. */
#define SPELLING_SLIPS_MAX 2

/*
 * Returns the edit distance of two names (insert, delete, replace, swap two),
 * or SIZE_MAX where one of them is longer than 32 bytes, too long to be a slip
 * of a short name.
 */
size_t spelling_distance(const char *a, const char *b);

/*
 * Finds which of `n` rows of a table somebody meant by `word`: the name that is
 * nearest to it, else the only one that begins with it, or NULL where all are
 * other words. A row is `size` bytes long, and begins with a pointer to its
 * name.
 */
const char *spelling_meant(
    const char *word, const void *rows, size_t n, size_t size);

#endif
