/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells a user what the caches have of a path, if the user may search its
 * directories. The server is not asked, and nothing is marked as used.
 */
#ifndef FOREFETCH_EXPLAIN_H
#define FOREFETCH_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "prefetch/prefetch.h"

struct caches;
struct user;

/* How far the path was followed. */
enum explain_found {
	EXPLAIN_OBJECT,
	EXPLAIN_ABSENT,  /* it is known that there is no such name */
	EXPLAIN_UNKNOWN, /* nothing is cached of it */
	EXPLAIN_HIDDEN,  /* the server has not yet let the user search there */
	EXPLAIN_UNMOUNTED, /* nobody has mounted the export */
};

/* The caches' knowledge of a path. Ages count in microseconds from the sending
 * of the call that brought it; UINT64_MAX: there was none since the daemon
 * started. `…_fresh`: a client would be answered from it now, without the
 * server. */
struct explain {
	enum explain_found found;
	const char *consistency; /* static */
	uint64_t left;           /* bytes of the path that were not found */
	bool name_fresh;
	uint32_t type; /* ftype3; 0: attributes are not known */
	uint64_t size;
	uint64_t attr_age_us;
	bool attr_fresh;
	/* Bounded mode: how old the confirmation may grow, and how long the
	 * object had stood still by then. */
	uint64_t attr_limit_us, attr_still_us;
	bool contested;        /* no answer rests on an older confirmation */
	uint32_t rights_known; /* bits of ACCESS that were asked */
	uint32_t rights_given;
	uint64_t rights_age_us;
	bool rights_fresh;
	bool listed; /* by this user */
	bool list_complete, list_fresh;
	uint32_t list_entries;
	bool data_told;      /* the server has let the user read it */
	uint64_t data_bytes; /* that are cached, of this version */
	struct prefetch_told told;
};

/* Fills in `out` for the path below the export `export`, with the rights of
 * `user`; root is told everything. `path` is as for warm_begin(). */
void explain(struct caches *c, struct prefetch *pf, const struct user *user,
    const char *export, const char *path, uint64_t now_us, struct explain *out);

#endif
