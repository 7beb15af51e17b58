/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of objects that are known by the keys of their handles. */
#ifndef FOREFETCH_OBJNAMES_H
#define FOREFETCH_OBJNAMES_H

#include <stddef.h>
#include <stdint.h>

struct caches;
struct user;

struct objname {
	uint64_t object; /* fh_key() */
	char *name;      /* allocated; NULL: not known */
};

/*
 * Sort `list` by object and fill in the names that are cached, in directories
 * that `user` was seen to be let into. Goes through the whole name cache:
 * about 0.1 s for a million names, so not more often than people ask.
 */
void objnames_fill(
    struct caches *c, const struct user *user, struct objname *list, size_t n);
/* In a sorted list; NULL where it is not there. */
const char *objnames_find(
    const struct objname *list, size_t n, uint64_t object);
void objnames_clear(struct objname *list, size_t n);

#endif
