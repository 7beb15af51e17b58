/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forgets what is cached of a path, for `forefetch drop PATH`: the object, and
 * all to which names in the cache lead from it.
 *
 * Names do not know what stands in their directory, so all names are gone
 * through, a part at a time: whatever a name of a directory that is gone leads
 * to is forgotten. Passes over the names are repeated until one finds nothing
 * more. They also find what an earlier drop was stopped at, and what stands
 * below a directory whose handle the server called stale: nobody can come to
 * that any more.
 */
#ifndef FOREFETCH_FORGET_H
#define FOREFETCH_FORGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caches;

/* How far it is; set by forget_begin(), nothing is to be freed. It is over when
 * the caches are flushed. */
struct forget {
	struct caches *caches;
	uint64_t flushes; /* of the caches, when it began */
	uint64_t now_us;
	size_t bucket; /* of the names, the next one to be looked at */
	unsigned passes;
	bool over;        /* nothing can stand below it */
	bool found;       /* something, in this pass */
	uint64_t objects; /* that were forgotten, the first included */
};

enum forget_found {
	FORGET_OBJECT,
	FORGET_NOTHING,   /* nothing is cached of the path */
	FORGET_UNMOUNTED, /* nobody has mounted the export */
};

/* Forgets the object at `path` below the export `export`, and where the name is
 * known to be absent, that. `path` is as for warm_begin(). */
enum forget_found forget_begin(struct forget *f, struct caches *c,
    const char *export, const char *path, uint64_t now_us);
/* Goes on for half a millisecond; to be called, whatever was found, until it
 * returns false. */
bool forget_step(struct forget *f, uint64_t now_us);

#endif
