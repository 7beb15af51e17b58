/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wants and their queue from inside: for want.c, queue.c and lane.c.
 *
 *	want_add() ───▶ QUEUED ── queue_next() ──▶ TURN ── want_drop() ─▶ spare
 *	                ▲ ▲  ▲                      │
 *	                │ │  └─ MORE, BLOCKED ──────┤ what came of the turn
 *	                │ └──── WAITING ◀─ WAITS ───┤ until its calls are over
 *	                └────── LATER ◀─── LATER ───┘ until a grain has passed
 *
 * A want that is predicted again while it is WAITING, for more than before, is
 * QUEUED at once; want_drop() takes it out of any state.
 */
#ifndef FOREFETCH_QUEUE_PRIVATE_H
#define FOREFETCH_QUEUE_PRIVATE_H

#include <sys/queue.h>

#include "prefetch/ground/ground.h"
#include "prefetch/queue/lane.h"
#include "prefetch/queue/queue.h"
#include "prefetch/queue/want.h"
#include "upstream/fetch.h"

enum {
	WANTS_MAX = 4096,
	WANT_BUCKETS = 4096,
	/*
	 * Wants of one lane are used about equally soon: a lane holds twice as
	 * long a lead as the one before. What follows a file's first bytes goes
	 * into a later lane than they do, so that it stands behind the first
	 * bytes of files that are up to four times as far ahead.
	 */
	WANT_TAIL_LANES = 2,
	/* An unlikely want goes so many lanes further back at most. */
	WANT_ODDS_LANES = 3,
	WANT_LANE_JOBS = 10,
	/* Behind all others, those that cost too much now. */
	WANT_LANE_DEAR,
	WANT_LANES,
};

enum want_state {
	WANT_QUEUED,  /* in `lane` */
	WANT_TURN,    /* the pump has it */
	WANT_WAITING, /* for calls under way; a job, for its owner */
	WANT_LATER,   /* in `later`: the server's clock passes a grain first */
};

struct want {
	TAILQ_ENTRY(want) link; /* in a lane, in `later` or in `spare` */
	LIST_ENTRY(want) hash_link;
	struct queue *queue;
	struct wish wish;
	struct want_progress progress;
	enum want_state state;
	uint64_t order;        /* grows with each want that comes into a lane */
	uint64_t due_us;       /* LATER: when its turn comes again */
	uint64_t blocked_turn; /* the pump's, when it last was; 0: never */
	uint8_t base_lane;     /* where it belongs by its lead */
	uint8_t lane;          /* where it is: a tail stands further back */
	uint8_t flow;          /* whose it is: lane.h; of jobs 0 */
	bool tail;             /* its first bytes are there, or asked for */
	struct want_owner *owner; /* NULL: nobody */
	unsigned pending;         /* watches that are set */
	struct fetch_watch watches[WANT_WATCHES];
};

LIST_HEAD(want_list, want);

struct queue {
	struct ground *g;
	struct notes *notes;
	struct lane lanes[WANT_LANES];
	unsigned flow_wants[LANE_FLOWS]; /* how many each has */
	struct want_queue later;
	struct want_queue spare; /* allocated, and of no use now */
	struct want_list wants[WANT_BUCKETS];
	uint64_t turn;    /* of the pump, counted */
	uint64_t dear_us; /* before this nobody looks again at DEAR ones */
	unsigned nqueued; /* of those before jobs */
	unsigned nwants, nmade;
	uint64_t orders; /* the last `order` of a want */
	uint64_t opened; /* the file that was opened or read last */
};

/* A zeroed want of that flow, in no lane; another one goes where there are too
 * many. NULL: there is no room. */
struct want *queue_take_spare(struct queue *q, uint8_t lane, uint8_t flow);
/* It leaves its lane, or `later`. */
void queue_take_out(struct want *w);
/* Into the lane where it belongs now; at its end, if that is another one. */
void queue_move(struct want *w);
/* Where a want belongs that is `lead` accesses ahead. */
uint8_t queue_lane(uint32_t lead, float p);

#endif
