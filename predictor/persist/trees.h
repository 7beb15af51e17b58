/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access trees, to be looked at, carried elsewhere and forgotten.
 *
 * A tree's root is a program, or what a stream used first after a pause. To
 * the tree of a run, which begins after a pause, belongs all up to the next
 * pause; to that of a program that began later, what was used until the next
 * program. What was used after a mount or a long pause, in the last sessions,
 * is a tree, too. A tree is that of a uid.
 *
 * All of these go through what was learned from end to end: milliseconds for
 * each hundred thousand accesses.
 */
#ifndef FOREFETCH_TREES_H
#define FOREFETCH_TREES_H

#include <stdio.h>
#include <sys/types.h>

#include "predictor/predictor.h"

/* For a uid: all trees, also those of uids beyond the first 16, which are
 * nobody's. As the uid of a tree: nobody's. */
#define TREES_ALL UINT64_MAX

struct predictor_tree {
	uint64_t id;      /* never 0; as lasting as the root's path */
	uint64_t root;    /* object */
	uint64_t uid;     /* whose it is */
	uint32_t objects; /* in its last use, the root among them */
	uint32_t uses;    /* that are remembered */
	uint32_t age;     /* events since its last use began, about */
	bool program;
	bool session; /* what was used after a mount or a long pause */
};

/*
 * The trees of `uid`, those that were used last first. Returns how many there
 * are, of which `out` gets `max` at most; -ENOMEM.
 */
ssize_t predictor_trees(const struct predictor *p, uint64_t uid,
    struct predictor_tree *out, size_t max);

/*
 * The same from turn to turn, while things go on: a step looks at `steps` parts
 * of trails, of 32 entries, and returns true at the end, or after an error.
 * trees_list_end() gives what predictor_trees() does, to `out` for `max`, and
 * how many it was; -ESTALE where trees were cleared meanwhile. `p` is to
 * outlive it.
 */
struct trees_list;
/* NULL and errno without memory. */
struct trees_list *trees_list_new(
    const struct predictor *p, uint64_t uid, size_t max);
bool trees_list_step(struct trees_list *l, size_t steps);
ssize_t trees_list_end(
    struct trees_list *l, struct predictor_tree *out, size_t *shown);
void trees_list_free(struct trees_list *l); /* NULL is allowed */

/*
 * The last use of a tree, an object a line, indented; programs that began in
 * it have theirs below them. `name` gives an object's name, or NULL; it may be
 * NULL itself. 0, or -ENOENT if `uid` has no such tree.
 */
int predictor_show_tree(const struct predictor *p, uint64_t uid, uint64_t id,
    FILE *out, const char *(*name)(void *ctx, uint64_t object), void *ctx);

/* A line of it, root first: names and indentation are the caller's. */
struct predictor_line {
	uint64_t object;
	uint32_t depth;
};

/* The same from turn to turn, as above; `max` lines at most. The lines are
 * valid until trees_show_free(); `more`: there would be others. */
struct trees_show;
struct trees_show *trees_show_new(
    const struct predictor *p, uint64_t uid, uint64_t id, size_t max);
bool trees_show_step(struct trees_show *s, size_t steps);
/* 0, -ENOENT as above, -ESTALE, -ENOMEM. */
int trees_show_lines(const struct trees_show *s,
    const struct predictor_line **lines, size_t *n, bool *more);
void trees_show_free(struct trees_show *s); /* NULL is allowed */

/*
 * The trees of `uid` in the portable form, which has names (as hashes) and no
 * keys: what was learned of a path helps with each path that ends like it, on
 * any machine. To be freed; NULL and errno: ENOMEM, or ENOENT if nothing is
 * known of the uid.
 */
void *predictor_export_trees(
    const struct predictor *p, uint64_t uid, size_t *len);

/*
 * Adds what predictor_export_trees() gave, as trees of `uid`, or of whom they
 * were for TREES_ALL. The bytes need not be trusted: they change nothing that
 * is known here. 0, or -errno: -EBADMSG for damaged bytes, -EPROTONOSUPPORT
 * for newer ones, -EINVAL for those that are not portable, -EFBIG if a uid
 * brings more than a quarter of what there is room for, -ENOSPC if there have
 * been too many uids, -ENOMEM.
 */
int predictor_import_trees(
    struct predictor *p, uint64_t uid, const void *data, size_t len);

/*
 * Forgets what was learned from one uid, or a tree with all its uses. Objects
 * that are in no other tree are as if never used. Calls that are going on now
 * are taken for those of new streams. 0, -ENOENT, or -ENOMEM, and nothing has
 * changed. predictor_clear() forgets all.
 */
int predictor_clear_uid(struct predictor *p, uint64_t uid);
int predictor_clear_tree(struct predictor *p, uint64_t uid, uint64_t id);

#endif
