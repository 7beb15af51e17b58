/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the caches keep, to and from the records of metafile.h. */
#ifndef FOREFETCH_METAPACK_H
#define FOREFETCH_METAPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/metafile.h"

struct caches;

/* How far the packing has got. */
struct metapack {
	struct caches *caches;
	struct metabuf *out;
	size_t nodes; /* the next bucket */
	size_t names;
	bool begun;
	uint64_t real_us; /* the wall clock less the daemon's */
};

/* Pack on until `out` has `bytes` more, about; false when all is in. */
bool metapack_some(struct metapack *p, size_t bytes);

/* Fill empty caches from records; false where they are malformed. `whole`:
 * nothing was learned after they were saved. */
bool metapack_load(struct caches *c, const struct metaview *records, bool whole,
    uint64_t now_us);

#endif
