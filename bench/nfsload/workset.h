/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The working set: a directory of files with known content, made through
 * one target and then looked up through each.
 *
 *   DIR/nfsload-XXXX/f000000 ...   the files
 *   DIR/nfsload-XXXX/new/n00000000 what the CREATE calls make
 *
 * The content is a window on one pseudo-random ring, placed by file number
 * and offset. So a WRITE copies nothing, a READ is checked by memcmp, and a
 * WRITE never changes what a READ should find. The ring's length is a
 * prime, so that equal offsets modulo any block size differ.
 */
#ifndef NFSLOAD_WORKSET_H
#define NFSLOAD_WORKSET_H

#include "options.h"
#include "target.h"

struct workset;
struct view;

/* NULL and errno (ENOMEM) on failure. */
struct workset *workset_new(const struct options *o);
void workset_free(struct workset *ws);

/*
 * Make it on the server; `unique` keeps its name apart from those of
 * others. 0, or -errno and a reason in `why`; workset_remove() then removes
 * what there is.
 */
int workset_make(struct workset *ws, struct target *t, uint64_t unique,
    char *why, size_t why_size);

/*
 * Remove it from the server, through any target; nothing to do if there is
 * none. 0, or -errno and a reason in `why`.
 */
int workset_remove(
    struct workset *ws, struct target *t, char *why, size_t why_size);

/* Name of its directory on the server. */
const char *workset_name(const struct workset *ws);

/* How many blocks (without READ and WRITE: files) there are to choose. */
uint32_t workset_items(const struct workset *ws);

/* The handles, looked up through one target. */
struct view *view_open(
    struct workset *ws, struct target *t, char *why, size_t why_size);
void view_close(struct view *v);

/* Make `c` a call of `op` on item `item`; `name` is room for a name. */
void view_fill(struct view *v, enum call_op op, uint32_t item, struct call *c,
    char *name, size_t name_size);

/* Remove what CREATE calls have made since the last time. */
int view_sweep(struct view *v, char *why, size_t why_size);

#endif
