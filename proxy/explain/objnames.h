/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of objects that are known by the keys of their handles. A name is
 * found by going through the name cache, a part in a turn of the loop: about
 * 0.2 s for a million names in all.
 */
#ifndef FOREFETCH_OBJNAMES_H
#define FOREFETCH_OBJNAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caches;
struct objnames;
struct user;

/* For up to `max` objects; NULL and errno without memory. */
struct objnames *objnames_new(size_t max);
void objnames_free(struct objnames *on); /* NULL is allowed */

/* Adds an object whose name is wanted; once is enough. Objects beyond `max`
 * stay without a name. */
void objnames_add(struct objnames *on, uint64_t object);
/* Number `i` of those that were added, each once; false behind the last. */
bool objnames_at(const struct objnames *on, size_t i, uint64_t *object);
/* Sets the name of an object that was added; it is copied. */
void objnames_set(
    struct objnames *on, uint64_t object, const char *name, size_t len);
/* The name of an object, which is the search's; NULL: it is not known. */
const char *objnames_find(const struct objnames *on, uint64_t object);
/* The directory in which that is its name; 0: not known. */
uint64_t objnames_dir(const struct objnames *on, uint64_t object);

/*
 * Looks at `steps` objects or places of the name cache, for names in
 * directories that the server has let `user` search (known_given()); true at
 * the end. A name that is cached between two steps may be found or not.
 */
bool objnames_step(struct objnames *on, struct caches *c,
    const struct user *user, uint64_t now_us, size_t steps);

#endif
