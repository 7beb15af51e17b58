/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparing access trees (Lei and Duchamp 1997). A tree here is one level of
 * it: what a program opened and ran, in the order of time. Each program that it
 * ran is the root of a tree of its own.
 */
#ifndef FOREFETCH_ATREE_H
#define FOREFETCH_ATREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct atree_node {
	uint32_t object;
	bool exec;
};

/*
 * Compatibility of a pattern and a working tree, 0 to 1: the mean of the
 * share of data files paired in order and the share of programs paired in
 * order, each out of the larger number of the two trees. 2 of 5 and 3 of 4
 * give 0.575. Where neither has programs, the data files alone decide, and
 * the other way round.
 */
double atree_compat(const struct atree_node *pattern, size_t npattern,
    const struct atree_node *working, size_t nworking);

/* How many nodes the pattern has up to the pivot, which is the last one that
 * equals the newest of the working tree; 0 if none does. */
size_t atree_pivot(const struct atree_node *pattern, size_t npattern,
    const struct atree_node *working, size_t nworking);

#endif
