/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of reading inside one file: predicts the next reads of a reader from
 * the differences between the offsets of its last reads. It stands beside the
 * predictor and knows nothing of objects, trees or streams; it uses store/ for
 * the limits of an order only.
 *
 *	pattern           differences of offsets      what is found
 *	backward          -4  -4  -4  -4              period 1
 *	a stride          16  16  16  16              period 1
 *	rays of a volume  144 144 144 -431  144 ...   period 4, and longer
 *	                                              ones for its planes
 *	an order          those of the file's last run (store/extents.h)
 *
 * The pattern is the smallest period that the last differences have kept. Three
 * of them must agree, and more after predictions that were wrong. A read that
 * was not predicted ends the pattern at once. Forward reads are left to the
 * client's readahead. The exception is a client that sends each read only when
 * the one before was answered, because such a client has no readahead.
 *
 * The number of readers is fixed. A reader has one of four places, by a hash; a
 * new one takes that of the four whose reader has been silent for longest.
 * Memory is allocated at the start and for orders only. A read costs constant
 * time: the bounds of pattern.c are those of its loops. Times are microseconds,
 * and come as arguments.
 *
 * The steps are those from read to read as they came. Replies change places
 * where several reads are under way: every other block of a file that is read
 * through looks like a stride then.
 */
#ifndef FOREFETCH_PATTERN_H
#define FOREFETCH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/predictor.h"

enum {
	PATTERN_READERS = 32,
	PATTERN_AHEAD = 64, /* pieces predicted ahead of a read, at most */
};

struct pattern_piece {
	uint64_t offset_bytes;
	uint32_t count_bytes;
};

/* A READ, as the client sent it. */
struct pattern_read {
	uint64_t object; /* opaque; 0: none */
	uint64_t reader; /* each reader has a pattern of its own */
	uint64_t offset_bytes;
	uint64_t size_bytes; /* of the file; no prediction goes beyond it */
	uint32_t count_bytes;
	uint32_t run;    /* predictor_run(); a new one has a new order */
	uint64_t now_us; /* when it came */
	/* It has come and waits for its reply; it is told once more then. Where
	 * there was no time for the first, the second says it all. */
	bool begins;
	uint64_t latency_us; /* until its reply; 0: at once */
	/* Bytes that may be under way, and how long one read takes: predictions
	 * reach as far ahead as these bytes, but no further than the reader
	 * comes in that time. */
	uint64_t pipe_bytes;
	uint64_t fetch_us;
};

/* Changes to the predictions that a read causes. */
struct pattern_news {
	/* Predicted before; they have been read now, or will not be. */
	struct pattern_piece drop[PATTERN_AHEAD];
	size_t ndrop;
	/* Predicted now; the next one to be read comes first. */
	struct pattern_piece want[PATTERN_AHEAD];
	size_t nwant;
	uint32_t lead; /* of the first of them: 1 is the next read */
	float p;       /* that they will be read */
	bool hit;      /* this read was predicted */
	bool broken;   /* it was not, although others were */
};

struct patterns;

/* The order in which the last run read the file, as predictor_order() gives
 * it. */
typedef size_t (*pattern_order)(
    void *ctx, uint64_t object, struct predictor_extent *out, size_t max);

/* `order` may be NULL. NULL without memory. */
struct patterns *patterns_new(pattern_order order, void *ctx);
void patterns_free(struct patterns *ps);

/* A read came, or was answered: `news` says what to fetch, which is nothing for
 * one that begins, and what not to fetch any more. */
void patterns_read(struct patterns *ps, const struct pattern_read *r,
    struct pattern_news *news);

size_t patterns_memory_bytes(const struct patterns *ps);

#endif
