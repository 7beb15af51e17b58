/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to learn*.c. */
#ifndef FOREFETCH_LEARN_PRIVATE_H
#define FOREFETCH_LEARN_PRIVATE_H

#include "cache/learn.h"
#include "datacache/datacache.h"

struct node;

/* learn.c */
void learn_attr(
    const struct learn *l, const nfs3_fh *fh, const post_op_attr *attr);
void learn_answered(const struct learn *l, struct node *node, bool own);
bool learn_version(
    const struct learn *l, const struct node *node, struct data_version *v);
/* The node has a new version, and its data is still good. */
void learn_data_moved(const struct learn *l, const struct node *node,
    const struct data_version *from);

/* learn_change.c */
void learn_change(const struct learn *l);
void learn_stale(const struct learn *l);

#endif
