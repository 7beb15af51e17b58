/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a file is read, by its kind: by what its name ends in, and by how
 * large it is. Some are read whole, as sources are; of others, such as shared
 * libraries and archives, only parts.
 *
 *	READs of a file ──▶ a reading ──▶ how much it was, when it is over
 *	                                        │ counted for its kind, and for
 *	                                        ▼ all files of that size
 *	kinds_rest() ◀── its kind's odds, leaning on those of its size, and
 *	                 these on what is usual
 *
 * Counts are halved now and then, so that they tell of the last ones. No
 * clock, no I/O, a fixed size; whatever is asked takes constant time.
 */
#ifndef FOREFETCH_KINDS_H
#define FOREFETCH_KINDS_H

#include <stdbool.h>
#include <stdint.h>

struct kinds;

/* A file, by what is known of it at this moment. */
struct kinds_file {
	uint64_t object; /* not 0 */
	uint64_t size_bytes;
	uint64_t now_us;
	uint16_t type; /* of its name's ending; 0: none, or not known */
	bool read;     /* before, so that it is known how much of it */
};

/* NULL without memory. */
struct kinds *kinds_new(void);
void kinds_free(struct kinds *k);

/*
 * Part of a file was read, wherever from. Whether kinds_rest() may say more of
 * it now than before: a reading begins, goes on behind the beginning of the
 * file, or at a second or third place.
 */
bool kinds_seen(struct kinds *k, const struct kinds_file *f,
    uint64_t offset_bytes, uint32_t count_bytes);

/*
 * How likely any byte behind the beginning of a file is read that was never
 * read before this reading of it; 0 where it was. Where somebody is reading it
 * now, given what he has read: the beginning only, or more. Else, given that he
 * begins to.
 */
double kinds_rest(const struct kinds *k, const struct kinds_file *f);

/* Readings that are over count. To be called from time to time; looks at a few
 * of them. */
void kinds_age(struct kinds *k, uint64_t now_us);

#endif
