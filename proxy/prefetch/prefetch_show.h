/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is being fetched ahead, for whom and why, and what became of the last
 * predictions; for `forefetch top`. Nothing is marked as used. Root (uid 0)
 * hears of all; another user only of what its own calls led to.
 */
#ifndef FOREFETCH_PREFETCH_SHOW_H
#define FOREFETCH_PREFETCH_SHOW_H

#include <stddef.h>
#include <stdint.h>

#include "prefetch/prefetch.h"

enum { PREFETCH_SHOW_MAX = 64 };

/* Texts are static; `entry` is good until the event loop goes on. */
struct prefetch_ahead {
	/* The call that is under way; NULL: it waits for its turn. */
	const char *procedure;
	/* As in struct prefetch_told, or "directory" (what misses and listings
	 * say of one), "warm", "other". */
	const char *source;
	uint64_t object;   /* fh_key(); 0: none */
	const char *entry; /* a name in the object; not terminated */
	size_t entry_len;
	uint64_t age_us; /* since it was sent, or wanted */
	uint32_t uid;
	uint32_t bytes; /* that are expected; 0: not known */
	double p;       /* 0: not predicted */
};

/* Calls under way first, then what will go out next; `omitted`: how many others
 * are under way or wanted. */
size_t prefetch_list_ahead(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead rows[PREFETCH_SHOW_MAX],
    uint64_t *omitted);

struct prefetch_outcome {
	uint64_t object;
	uint32_t uid; /* for whom; UINT32_MAX: several have used it */
	struct prefetch_told told;
};

/* The predictions of which something became last, the newest first. */
size_t prefetch_list_outcomes(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_outcome rows[PREFETCH_SHOW_MAX]);

#endif
