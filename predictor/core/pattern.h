/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of reading inside a file while it is read: what follows, by how the
 * last reads followed each other.
 *
 *	backward          -4  -4  -4  -4              period 1
 *	a stride          16  16  16  16              period 1
 *	rays of a volume  144 144 144 -431  144 ...   period 4, and longer
 *	                                              ones for its planes
 *	an order          as in the last run of the file (extents.h)
 *
 * The differences of offsets are looked through for the smallest period that
 * the last ones have kept; three are needed, and more after guesses that came
 * to nothing. A read that was not foreseen ends it at once. Reading forward is
 * left to the client's readahead, unless each read is sent only when the one
 * before was answered, so that there is none.
 *
 * A fixed number of readers, the one seen last longest ago gives way. No clock
 * and no allocation but at the start and for orders; a read costs constant
 * time. Times are microseconds, and come as arguments.
 */
#ifndef FOREFETCH_PATTERN_H
#define FOREFETCH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/predictor.h"

enum {
	PATTERN_READERS = 32,
	PATTERN_AHEAD = 64, /* pieces at most that are told ahead */
};

struct pattern_piece {
	uint64_t offset_bytes;
	uint32_t count_bytes;
};

struct pattern_read {
	uint64_t object; /* opaque; 0: none */
	uint64_t reader; /* whose reads are looked at apart from others' */
	uint64_t offset_bytes;
	uint64_t size_bytes; /* of the file; nothing is told beyond */
	uint32_t count_bytes;
	uint32_t run;        /* of the file: another number, another order */
	uint64_t now_us;     /* when it came */
	uint64_t latency_us; /* until its reply; 0: at once */
	/* Bytes that the link holds, and how long one read takes: as much is
	 * told ahead, and no more than the reader's pace makes use of. */
	uint64_t pipe_bytes;
	uint64_t fetch_us;
};

/* What is to be done about it. */
struct pattern_news {
	/* Told before: it has come, or will not be read. */
	struct pattern_piece drop[PATTERN_AHEAD];
	size_t ndrop;
	/* Will be read; the next one comes first. */
	struct pattern_piece want[PATTERN_AHEAD];
	size_t nwant;
	uint32_t lead; /* of the first of them, in reads */
	float p;
	bool hit;    /* this read was told before */
	bool broken; /* it was not, and others were */
};

struct patterns;

/* The order in which the last run read the file: predictor_order(). */
typedef size_t (*pattern_order)(
    void *ctx, uint64_t object, struct predictor_extent *out, size_t max);

/* `order` may be NULL. NULL without memory. */
struct patterns *patterns_new(pattern_order order, void *ctx);
void patterns_free(struct patterns *ps);

void patterns_read(struct patterns *ps, const struct pattern_read *r,
    struct pattern_news *news);

size_t patterns_memory_bytes(const struct patterns *ps);

#endif
