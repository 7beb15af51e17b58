/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Defines where a tree begins and ends, for the parts that go through the
 * trails. */
#ifndef FOREFETCH_TREES_PRIVATE_H
#define FOREFETCH_TREES_PRIVATE_H

#include "predictor/persist/trees.h"
#include "predictor/store/trails.h"

/* Where a walk over the trails is: the roots of the trees that the present
 * entry belongs to, or OBJECT_NONE. */
struct trees_at {
	const struct predictor *p;
	uint32_t run, program;
	uint16_t owner;
};

enum tree_step {
	TREE_NOTHING, /* it means another object by now: left out */
	TREE_RUN,     /* a run begins with it */
	TREE_PROGRAM, /* a program begins in a run */
	TREE_OBJECT
};

/* Classifies entry `i` of the part; it must be called for all entries in order.
 */
enum tree_step trees_step(
    struct trees_at *at, const struct trail_part *part, uint32_t i);
/* The id that users see. */
uint64_t trees_id(const struct predictor *p, uint32_t root, uint16_t owner);
/* The bits of the uid, all of them for TREES_ALL; false if nothing is known of
 * the uid. */
bool trees_uid_bits(const struct predictor *p, uint64_t uid, uint16_t *only);
/* Whether the part is of one of these. */
bool trees_part_is_of(uint16_t only, const struct trail_part *part);

/* session_show.c: sessions, which are trees of their own. */
#define SESSION_NONE UINT32_MAX
/* Session number `i` as a tree, whose id is 0 if it is not of `only`. False
 * behind the last one. */
bool session_tree(const struct predictor *p, uint32_t i, uint16_t only,
    struct predictor_tree *tree);
uint32_t session_find(const struct predictor *p, uint16_t only, uint64_t id);

#endif
