/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What trees are, for those that go through the trails. */
#ifndef FOREFETCH_TREES_PRIVATE_H
#define FOREFETCH_TREES_PRIVATE_H

#include "predictor/persist/trees.h"
#include "predictor/store/trails.h"

/* Where a walk is: roots of the trees that go on, OBJECT_NONE. */
struct trees_at {
	const struct predictor *p;
	uint32_t run, program;
	uint16_t owner;
};

enum tree_step {
	TREE_NOTHING, /* to be left out */
	TREE_RUN,     /* a run begins with it */
	TREE_PROGRAM, /* a program begins in a run */
	TREE_OBJECT
};

/* Entry `i` of the part; all of them are to be shown, in order. */
enum tree_step trees_step(
    struct trees_at *at, const struct trail_part *part, uint32_t i);
uint64_t trees_id(const struct predictor *p, uint32_t root, uint16_t owner);
/* Whose trails: false if nothing is known of the uid. */
bool trees_of(const struct predictor *p, uint64_t uid, uint16_t *only);
bool trees_has(uint16_t only, const struct trail_part *part);

/* session_show.c: sessions, which are trees of their own. */
#define SESSION_NONE UINT32_MAX
/* The one number `i`: its id is 0 if it is not of `only`. False behind the
 * last one. */
bool session_tree(const struct predictor *p, uint32_t i, uint16_t only,
    struct predictor_tree *tree);
uint32_t session_find(const struct predictor *p, uint16_t only, uint64_t id);

#endif
