/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams: who is asking. A stream is what one program reads, one call after
 * another. Pids are seldom known, so the events of an actor (a user of a
 * client) are dealt out to up to 32 streams (streams.c). A stream that still
 * waits for a reply cannot be the one that asks now. A stream that has just got
 * its reply, or for which this object was predicted, most likely is.
 *
 *	event -> score of each stream = timing of its replies (stream.c)
 *	                              + fit of the object     (fit.c)
 *	      -> the best one, or a new one where none is good enough
 *
 * Each stream keeps its candidates: what was predicted to it and is neither
 * used nor given up yet (cands.c). A candidate is told when predictor_predict()
 * gives it to the caller; until then only the stream knows of it. It also keeps
 * up to four cursors, which are places in older trails that went like it
 * (follow.c).
 */
#ifndef FOREFETCH_STREAM_H
#define FOREFETCH_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/predictor.h"
#include "predictor/store/calib.h"
#include "predictor/store/trails.h"

struct fit;
struct predictor;

enum {
	STREAMS = 32,      /* of an actor */
	STREAMS_MAX = 256, /* of all */
	STREAM_NONE = UINT16_MAX,
	CURSORS = 4,
	CANDS = 512, /* candidates of a stream; a power of two */
	RECENT = 32, /* objects that a stream remembers */
	NEWS = 256,  /* candidates that wait to be told */
	LEVELS = 3,  /* a directory and those above it */
	RECENT_DIRS = 4,
};

/* A place in an older trail that the stream follows. */
struct cursor {
	uint32_t place;   /* of the last match; TRAIL_NONE: not in use */
	uint32_t horizon; /* the last place that became a candidate */
	uint32_t ahead;   /* entries from place to horizon */
	uint32_t weight;  /* of these entries: follow.c, WEIGHT */
	uint32_t hits;    /* events that it had ahead, and moved to */
	uint8_t missed;   /* events since then that are not within its reach */
	float conf;       /* confidence, 0 to 1 */
};

/* An object that was, or may be, predicted to a stream. */
struct cand {
	uint32_t object;  /* OBJECT_NONE: free */
	uint32_t born_at; /* event that made it */
	uint32_t due;     /* number of the stream's event that will use it */
	uint16_t retry;   /* told again when due in so many events; or 0 */
	float p;          /* probability now */
	float told_p;     /* the same when it was last told; 0: not told */
	float told_corrected; /* what was told, after calib_correct() */
	float graph_p;        /* probability by the graph, or 0 */
	/* The cell of the calibration that gave `p`: predictions whose features
	 * are alike share one, and their outcomes teach it (calib.h). */
	calib_cell cell;
	calib_cell first_cell, last_cell; /* of its first and last telling */
	uint8_t cursor_bits;              /* the cursors that have it ahead */
	uint8_t source;                   /* enum predictor_source */
	uint8_t needs;                    /* PREDICTOR_NEEDS_… */
	uint8_t told_needs;               /* of all tellings */
	bool rest;        /* it is the rest of an access that has begun */
	bool in_news;     /* it stands in the stream's `news` */
	bool retell;      /* it is to be told although nothing changed */
	bool by_odds;     /* outcome.c counts what became of it */
	bool withdrawn;   /* it was told and then taken back */
	uint32_t told_at; /* event */
};

/* A stream: whose it is, where it was, and what is expected of it; some 28 KiB.
 */
struct stream {
	/* Members that choosing a stream reads come first, in two cache lines.
	 */
	uint64_t actor, pid;
	uint64_t reply_ns; /* when its last call is answered */
	uint32_t last;     /* object */
	uint32_t last_at;  /* event */
	uint32_t moves;    /* from one directory to another */
	uint16_t uid_bit;  /* wall_bit() of its uid, 0 if it has none */
	uint32_t made_at;  /* event: who had its number before is gone */
	uint16_t number;   /* in struct streams */
	uint16_t next;     /* of its actor's, or STREAM_NONE */
	bool used;
	bool stale;    /* all estimates have to be made anew */
	bool pending;  /* it may have candidates */
	bool foreseen; /* the last event had been told */
	bool begins;   /* the next log entry begins a run, after a pause */
	uint32_t dirs[RECENT_DIRS][LEVELS]; /* a ring, by moves */
	uint64_t uid;
	uint64_t access_ns; /* from one access to the next, without waiting */
	uint64_t began_ns;  /* the last access */
	uint64_t waited_ns; /* for replies, since then */
	uint32_t events;    /* accesses of this stream */
	uint32_t spacing;   /* events of all actors for each of its actor's */
	uint32_t began_at;  /* event: the first one after a pause */
	uint32_t tail;      /* place of the last object in the trail log */
	/* The stream works in a copy of a tree (twin.c): what is known below
	 * the directory twin_from has a twin below twin_to, as two twins in a
	 * row have shown. The other two are what the last twin has shown.
	 * DIR_NONE if there are none. */
	uint32_t twin_from, twin_to, maybe_twin_from, maybe_twin_to;
	float guess_share;    /* of its guesses from names that came true */
	uint32_t names_ahead; /* names that were told and not reached yet */
	uint32_t momentum;    /* uses that names foresaw; halves otherwise */
	uint32_t unseen;      /* uses in a row of what nobody used before */
	uint32_t analogies;   /* uses that were like others: analog.c */
	uint8_t walk_needs;  /* what it needs of the names that it walks over */
	uint8_t trail_needs; /* what the trails said the last access would need;
			      * 0: they did not foresee it */
	uint8_t reads_more;  /* files read in a row that the trail only looked
			      * at */
	/* The kinds of which it has used a file, and those of which it read
	 * the last one that it used: one bit each, of reads.c. */
	uint64_t kinds_used, kinds_read;
	bool walk_lists; /* it lists directories on its way */
	bool scans;      /* scan.c keeps it out of the history */
	bool by_names;   /* the last event was foreseen from names */
	bool by_order;   /* it goes in the order of READDIR, not by name */
	uint16_t sweep;  /* the next candidate that cands_sweep() looks at */
	uint16_t nnews;
	uint16_t news[NEWS];     /* candidates that are to be told */
	uint32_t recent[RECENT]; /* objects: a ring, by `events` */
	struct cursor cursors[CURSORS];
	/* The objects of `cands`, so that a probe stays in one cache line. */
	uint32_t keys[CANDS];
	struct cand cands[CANDS];
};

/* Who has streams. */
struct stream_actor {
	uint64_t actor;
	uint32_t last_at; /* event */
	float spacing;    /* events of all actors from one of its own to the
			   * next, smoothed */
	uint16_t first;   /* its streams, a list */
	uint16_t n;
};

/* The streams of all actors. Those of an actor are a list through `next`, so
 * that an event looks at no others. */
struct streams {
	struct stream *at[STREAMS_MAX]; /* `n` of them, used or not */
	uint32_t n, limit, nactors;
	struct stream_actor actors[STREAMS_MAX];
	uint64_t made;
};

/* Room for one stream now, and for as many as the budget holds: 32 to 256.
 * False without memory. */
bool streams_init(struct streams *ss, size_t budget_bytes);
void streams_free(struct streams *ss);
/* All streams are unused. */
void streams_reset(struct streams *ss);
/* The actor's streams, the newest first; NULL at the end. */
struct stream *streams_first(const struct streams *ss, uint64_t actor);
struct stream *streams_next(const struct streams *ss, const struct stream *s);
/* The actor has an event. Returns how many events of all actors there are for
 * each of its own, from 1 to STREAMS_MAX: what is measured in events of all
 * takes so many times as long where others are at work, too. */
uint32_t streams_event(struct streams *ss, uint64_t actor, uint32_t event);
/* A stream of the actor that has no events yet. */
struct stream *streams_new(struct predictor *p, const struct predictor_obs *o);

/* Whether it was silent for so long that nothing of it goes on. */
bool stream_ended(const struct stream *s, uint64_t now_ns);
/* Whether it was silent for so long that its next call begins a run. */
bool stream_paused(const struct stream *s, uint64_t now_ns);

/* The stream that `o` belongs to, by timing and fit; a new one has no events.
 */
struct stream *streams_choose(
    struct predictor *p, const struct predictor_obs *o, const struct fit *f);

/* Gives the slot to the object; OBJECT_NONE frees it. The only way to change a
 * candidate's object, since `keys` has to follow. */
void stream_cand_set(struct stream *s, struct cand *c, uint32_t object);
/* The stream becomes as new, but for its number. Its candidates go without an
 * outcome. */
void stream_reset(struct stream *s);
/* The stream's candidate for the object; NULL if there is none. */
struct cand *stream_cand(struct stream *s, uint32_t object);
const struct cand *stream_find_cand(const struct stream *s, uint32_t object);
/* Where a candidate for the object may be made: its own slot, a free one, or
 * that of the oldest one nearby, whose outcome the caller has to count first.
 */
struct cand *stream_cand_slot(struct stream *s, uint32_t object);

/* Whether history, not names, had told the last event. */
static inline bool stream_is_led(const struct stream *s)
{
	return s->foreseen && !s->by_names;
}

#endif
