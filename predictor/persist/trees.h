/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access trees: listed, shown, carried to another machine, forgotten.
 *
 * A tree's root is what a stream used first after a pause, and all up to the
 * next pause belongs to it. A program that begins within such a run is the root
 * of a tree, too; what was used until the next program belongs to it. The last
 * sessions of a user in a file system are one more tree. Each tree belongs to a
 * uid.
 *
 * Each of these calls goes through all that was learned, which takes
 * milliseconds for a hundred thousand accesses. Those with steps do it part by
 * part.
 */
#ifndef FOREFETCH_TREES_H
#define FOREFETCH_TREES_H

#include <stdio.h>
#include <sys/types.h>

#include "predictor/predictor.h"

/* As an argument: the trees of all uids, with those that belong to nobody,
 * since only root and the first 15 others are known. As the uid of a tree:
 * nobody. */
#define TREES_ALL UINT64_MAX

struct predictor_tree {
	uint64_t id;   /* a hash of the root's path and the uid; never 0 */
	uint64_t root; /* the object's key */
	uint64_t uid;
	uint32_t objects; /* of its last use, with the root */
	uint32_t uses;    /* how many are remembered */
	uint32_t age;     /* events since its last use began; about */
	bool program;
	bool session; /* what was used after a mount or a long pause */
};

/*
 * Writes the trees of `uid` to `out`, those that were used last first, `max` at
 * most. Returns how many there are, or -ENOMEM.
 */
ssize_t predictor_trees(const struct predictor *p, uint64_t uid,
    struct predictor_tree *out, size_t max);

/*
 * The same in steps, while learning goes on. trees_list_step() looks at `steps`
 * parts of trails, of 32 entries each, and returns true at the end or after an
 * error. Then trees_list_end() does what predictor_trees() does, and sets
 * `shown` to how many it wrote; -ESTALE where trees were cleared meanwhile. `p`
 * must outlive the list.
 */
struct trees_list;
/* NULL and errno without memory. */
struct trees_list *trees_list_new(
    const struct predictor *p, uint64_t uid, size_t max);
bool trees_list_step(struct trees_list *l, size_t steps);
ssize_t trees_list_end(
    struct trees_list *l, struct predictor_tree *out, size_t *shown);
void trees_list_free(struct trees_list *l); /* NULL is allowed */

/* A line of a tree that is shown, the root first; programs that began in the
 * tree have their objects one deeper. */
struct predictor_line {
	uint64_t object;
	uint32_t depth;
};

/* The last use of a tree in steps, as above; `max` lines at most. */
struct trees_show;
struct trees_show *trees_show_new(
    const struct predictor *p, uint64_t uid, uint64_t id, size_t max);
bool trees_show_step(struct trees_show *s, size_t steps);
/* The lines, valid until trees_show_free(); `more` if there are others. 0,
 * -ENOENT if the uid has no such tree, -ESTALE, -ENOMEM. */
int trees_show_lines(const struct trees_show *s,
    const struct predictor_line **lines, size_t *n, bool *more);
void trees_show_free(struct trees_show *s); /* NULL is allowed */

/*
 * The trees of `uid` in the portable form, which has hashes of names and no
 * keys: what was learned about a path helps with all paths that end like it, on
 * any machine. To be freed; NULL and errno: ENOMEM, or ENOENT if nothing is
 * known of the uid.
 */
void *predictor_export_trees(
    const struct predictor *p, uint64_t uid, size_t *len);

/*
 * Adds what predictor_export_trees() gave as trees of `uid`; with TREES_ALL the
 * uids stay as they were. The bytes need not be trusted: they change nothing
 * that is known here. 0, or -errno: -EBADMSG for damaged bytes,
 * -EPROTONOSUPPORT for newer ones, -EINVAL for those that are not portable,
 * -EFBIG if a uid has brought more than a quarter of what there is room for, by
 * this and others that were not cleared since; -ENOSPC if there have been too
 * many uids; -ENOMEM.
 */
int predictor_import_trees(
    struct predictor *p, uint64_t uid, const void *data, size_t len);

/*
 * The same in steps, while learning goes on. predictor_import_new() unpacks and
 * checks the bytes, which are not needed afterwards, in any thread: ten
 * milliseconds for 4 MiB. NULL and errno. A step looks at 32 objects, uses or
 * the like, and 64 steps take a third of a millisecond; it returns true at the
 * end or after an error, which is also -ESTALE where all trees were cleared
 * meanwhile. Everything that was added by then stays.
 */
struct predictor_import;
struct predictor_import *predictor_import_new(const void *data, size_t len);
bool predictor_import_step(struct predictor_import *x, struct predictor *p,
    uint64_t uid, size_t steps);
int predictor_import_error(const struct predictor_import *x);
void predictor_import_free(struct predictor_import *x); /* or NULL */

/*
 * Forgets what was learned from one uid, or the tree `id` with all its uses.
 * Objects that are in no other tree are as if never used; all streams begin
 * anew. predictor_clear() forgets everything.
 *
 * In steps, while learning goes on: predictor_clear_new() gives NULL and errno,
 * which is ENOENT where nothing is known of the uid. A step looks at 32 entries
 * of trails, objects or the like, and 64 steps take half a millisecond; it
 * returns true at the end or after an error: -ENOENT where there is no such
 * tree, -ENOMEM, or -ESTALE where somebody else's clearing ended meanwhile;
 * then nothing has changed. If nobody goes on to the end, a part is forgotten.
 * `p` must outlive it.
 */
struct predictor_clear;
/* 0 as `id` means all that is of the uid, which is not TREES_ALL then. */
struct predictor_clear *predictor_clear_new(
    struct predictor *p, uint64_t uid, uint64_t id);
bool predictor_clear_step(struct predictor_clear *c, size_t steps);
int predictor_clear_error(const struct predictor_clear *c);
void predictor_clear_free(struct predictor_clear *c); /* NULL is allowed */
/* At once. 0, or -errno as above. */
int predictor_clear_uid(struct predictor *p, uint64_t uid);
int predictor_clear_tree(struct predictor *p, uint64_t uid, uint64_t id);

#endif
