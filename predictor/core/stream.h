/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams: who is asking, where the pid is not known. A stream whose reply
 * is outstanding cannot be the one that asks; one that has just got its
 * reply, or for which this object was predicted, most likely is.
 *
 * Each keeps what was predicted to it and is not decided yet (candidates).
 */
#ifndef FOREFETCH_STREAM_H
#define FOREFETCH_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/predictor.h"
#include "predictor/store/calib.h"
#include "predictor/store/trails.h"

enum {
	STREAMS = 32,
	CURSORS = 4,
	CANDS = 512, /* a power of two */
	RECENT = 32,
	FRESH = 256,
	LEVELS = 3, /* a directory and those above it */
	RECENT_DIRS = 4,
};

/* One older trail that the stream follows. */
struct cursor {
	uint32_t place;   /* of the last match; TRAIL_NONE: not in use */
	uint32_t horizon; /* the last place that was looked at */
	uint32_t ahead;   /* entries from place to horizon */
	uint32_t load;    /* their weight, follow.c */
	uint32_t hits;
	uint8_t missed; /* events in a row that it did not have */
	float conf;
};

struct cand {
	uint32_t object;  /* OBJECT_NONE: free */
	uint32_t born_at; /* event */
	uint32_t due;     /* event of the stream */
	uint16_t retry;   /* told again when it is due in so many; 0 */
	float p, told;    /* now, and when it was last given out */
	float said;       /* `told`, corrected */
	float related;    /* what the graph says, 0 if nothing */
	calib_cell cell;
	calib_cell first, last; /* cells of its first and last telling */
	uint8_t mask;           /* cursors that have it ahead */
	uint8_t source;
	uint8_t needs;      /* PREDICTOR_NEEDS_… */
	uint8_t told_needs; /* when it was last given out */
	bool more;          /* of an access that has begun */
	bool fresh;
	bool again;       /* what was told is to be told once more */
	bool withdrawn;   /* since it was told */
	uint32_t told_at; /* event */
};

struct stream {
	/* What choosing looks at comes first, in two cache lines. */
	uint64_t actor, pid;
	uint64_t reply_ns; /* of its last call */
	uint32_t last;     /* object */
	uint32_t last_at;  /* event */
	uint32_t moves;
	uint16_t bit;     /* of its uid in `known`, 0 if it has none */
	bool used, stale; /* stale: estimates have to be made anew */
	bool pending;     /* there may be candidates */
	bool foreseen;    /* the last event was a candidate */
	bool begins;      /* what it logs next is the first after a pause */
	uint32_t dirs[RECENT_DIRS][LEVELS]; /* a ring, by moves */
	uint64_t uid, connection;
	uint64_t request_ns;
	uint64_t access_ns; /* from one access to the next, without waiting */
	uint64_t began_ns;  /* the last access */
	uint64_t waited_ns; /* … and how long it has waited since */
	uint32_t events;
	uint32_t began_at; /* event: the first one after a pause */
	uint32_t tail;     /* place of the last object */
	uint32_t from, to; /* directories: twins, DIR_NONE if none */
	uint32_t maybe_from, maybe_to; /* as one twin has it, so far */
	float guessed;      /* share of its guesses from names that came true */
	uint32_t walk;      /* names that it was told are still ahead */
	uint32_t momentum;  /* uses that names foresaw, lately */
	uint32_t news;      /* uses in a row of what nobody used before */
	uint32_t analog;    /* uses lately that were like others, analog.c */
	uint8_t walk_needs; /* of what it walks over */
	bool walk_lists;    /* it lists directories on its way */
	bool scans;         /* scan.c */
	bool by_names;      /* foreseen by their order */
	bool by_order;      /* which is that of READDIR */
	uint16_t sweep;
	uint16_t nfresh;
	uint16_t fresh[FRESH];   /* candidates that are to be told */
	uint32_t recent[RECENT]; /* a ring, by events */
	struct cursor cursors[CURSORS];
	uint32_t keys[CANDS]; /* their objects: a probe is one cache line */
	struct cand cands[CANDS];
};

struct streams {
	struct stream at[STREAMS];
	uint64_t made;
};

/* Silent for long enough that its next call begins a run. */
bool stream_paused(const struct stream *s, uint64_t now_ns);

/* How well a stream fits, beyond its timing: for streams_choose(). */
typedef float (*stream_fit)(void *ctx, const struct stream *s);

/*
 * The stream that `o` belongs to; one that is new has no events. An old one
 * may have to make room: `retire` is called before.
 */
struct stream *streams_choose(struct streams *ss, const struct predictor_obs *o,
    bool use_pids, stream_fit fit, void (*retire)(void *ctx, struct stream *s),
    void *ctx);

void stream_cand_set(struct stream *s, struct cand *c, uint32_t object);
void stream_reset(struct stream *s);
struct cand *stream_cand(struct stream *s, uint32_t object);
const struct cand *stream_find_cand(const struct stream *s, uint32_t object);
/* Where a candidate for the object may be made: its own, a free one, or the
 * oldest nearby, which the caller has to decide first. */
struct cand *stream_cand_slot(struct stream *s, uint32_t object);

#endif
