/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles and absent names go with learned trees from one machine to another.
 * Trees know objects by fh_key() of their handles, and what a job does not find
 * by a hash of directory and name (observe_absent()): with these alone, a
 * machine that has not met them itself could not ask for them ahead.
 *
 *	keys of a snapshot ──▶ attrcache ──▶ table of handles ──▶ engine
 *	                   ──▶ namemap ──▶ table of names ──▶ engine
 *
 *	engine ──▶ nodes without attributes, namemap ──▶ prefetch
 *
 * With an object's handle, prefetch asks ACCESS at once, under the user's own
 * credential, and need not look up names on the way; with a name that was
 * absent, it asks LOOKUP.
 *
 * Both are hints and grant nothing. A node that a handle made has no
 * attributes, names or rights, so nothing is answered from it; that a name is
 * absent is the server's to say, to each user. The server says what they are
 * worth; a handle that is STALE is forgotten as any other is (learn_failed.c).
 * A node that is not used goes as others do when memory is short: one that a
 * table brought outlasts one pass of the clock's hand. None of it is saved over
 * a restart; a table brings it again.
 */
#ifndef FOREFETCH_TREES_OBJECTS_H
#define FOREFETCH_TREES_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "farm/bytetable.h"

struct caches;
struct namemap;

/* Adds the handles of those of the keys that have a node, up to
 * BYTETABLE_ROWS_MAX. False without memory: then the table has some of them. */
bool trees_add_handles(
    struct bytetable *t, struct caches *c, const uint64_t *keys, size_t n);
/*
 * Makes nodes of the next `max` handles. False at the end, or where nodes would
 * take the last quarter of the caches' memory; else it is to be called again,
 * in another turn of the loop: a thousand handles take half a
 * millisecond.
 */
bool trees_take_handles(struct bytetable_view *v, struct caches *c, size_t max);

/* Do so for names of absences, by their hashes. A row is the name and, behind
 * it, the hash, little endian. */
bool trees_add_names(struct bytetable *t, const struct namemap *names,
    const uint64_t *hashes, size_t n);
bool trees_take_names(
    struct bytetable_view *v, struct namemap *names, size_t max);

#endif
