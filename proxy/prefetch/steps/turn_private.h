/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One turn with a want: what its steps share with the pump. Private to this
 * folder.
 *
 *	pump.c ── step_begin() ─▶ which objects it is about
 *	   ┌───── step_want() ──▶ which call it needs next: turn.call
 *	   │ the farm has it? held? worth it? room? ── no ─▶ the turn is over
 *	   └◀──── turn_send() ◀── yes
 */
#ifndef FOREFETCH_TURN_PRIVATE_H
#define FOREFETCH_TURN_PRIVATE_H

#include "cache/known.h"
#include "farm/farm.h"
#include "nfsproto/nfs_proc.h"
#include "prefetch/calls/flight.h"
#include "prefetch/ground/ground.h"
#include "prefetch/queue/want.h"
#include "prefetch/steps/steps.h"

enum {
	/* Listings that may come from the farm, of one server. */
	FARMED = 32,
	/* An entry takes about so much in a reply to READDIRPLUS: attributes,
	 * a handle, and a name of ordinary length. */
	ENTRY_BYTES = 170,
	EXTENTS = 32, /* of a file, at most, from the predictor */
};

/* A directory whose listing the farm was asked for. */
struct farmed {
	struct credential *cred;
	uint64_t dir;
};

struct steps {
	struct ground *g;
	struct notes *notes;
	struct queue *queue;
	struct sources *sources;
	struct flights flights;
	struct refused *refused;
	struct farmed farmed[FARMED];
	unsigned nfarmed;
	struct predictor_extent extents[EXTENTS]; /* of the turn's file */
	unsigned rights_kept; /* confirmations for which rights last */
};

/* A call that a want needs, as its steps decide. */
struct turn_call {
	struct node *node; /* whose handle `args` begin with; NULL: no call */
	uint32_t proc;
	bool awaited; /* the want has its next turn when it is answered */
	/* It asks for bytes or names that are nowhere: the farm may have them;
	 * they may not be worth it; and they wait until what comes is bound for
	 * good. They are `left_bytes`: of an extent, from the offset on, or of
	 * a whole listing. */
	bool missing;
	uint64_t left_bytes;
	uint64_t bytes; /* that its reply will take, without headers */
	union nfs_args args;
};

/*
 * How a turn ends. More than one may be true of it; the one that stands last
 * here says what becomes of the want:
 *
 *	OVER ──────▶ it ends, and its note says why
 *	HELD ──────▶ it ends: nothing may be sent ahead now (hold.h)
 *	WAITS ─────▶ STEP_WAITS for the calls that it watches
 *	GOES_ON ───▶ STEP_MORE behind others: its lane is another one from now
 *	             on, or it has looked at as much as one turn may
 *	DEAR ──────▶ STEP_MORE in the lane behind all others: its call costs
 *	             more than it spares; STEP_BLOCKED where it stands there
 *	BLOCKED ───▶ STEP_BLOCKED: the link, or the farm, has no room
 *	TOO_EARLY ─▶ STEP_LATER: what came now would be bound for a moment only
 *
 * What else of it can go out soon does not wait for what is under way already,
 * which takes a round trip: so WAITS stands before the rest.
 */
enum turn_end {
	TURN_OVER,
	TURN_HELD,
	TURN_WAITS,
	TURN_GOES_ON,
	TURN_DEAR,
	TURN_BLOCKED,
	TURN_TOO_EARLY,
};

struct turn {
	struct steps *s;
	struct ground *g;
	struct want *w;
	const struct wish *wish;
	struct want_progress *at;
	struct caches *c;
	uint32_t cred;      /* caches_cred() */
	struct known k;     /* of the node; or else of the directory */
	struct known other; /* of the other node that turn_known() had last */
	struct node *node;  /* NULL: not known */
	struct node *dir;   /* NULL: not known */
	uint64_t now_us;
	uint64_t *wait_us;
	struct turn_call call; /* that is to be sent next */
	unsigned stage;        /* which of the stages comes next (step.c) */
	enum turn_end end;
	unsigned sent; /* calls that went out */
	/* Whether it counts as one of those that a want may have: it asked for
	 * what may have to be asked for again. A file's pieces may take any
	 * number of turns, and so may the farm. */
	bool confirms;
	bool passes; /* so many pieces were there that it stopped */
	/* The farm was asked: the want goes on from `back`, later. */
	bool farmed;
	struct want_place back;
	/* A listing may confirm the node: each of its pages wakes the want. */
	bool listing_waits;
	bool fresh; /* the node was, before anything was asked */
	bool near;  /* to keep its bytes takes longer than what that spares */
	/* Whose listing is to be asked for; a known one in pages, to `page`. */
	struct node *listed;
	struct listing *pages;
	struct list_span page;
	size_t nextents;
	unsigned looks;       /* pieces that were looked at */
	uint32_t piece_bytes; /* of the last one; 0: there was none yet */
};

/* Always false, as what returns it is over. */
static inline bool turn_ends(struct turn *t, enum turn_end how)
{
	if (how > t->end)
		t->end = how;
	return false;
}

/* pump.c */
/* One turn of a want that nobody else takes for it. */
enum step turn_take(
    struct steps *s, struct want *w, uint64_t now_us, uint64_t *wait_us);
/* Whether a call of the want is worth it now, used with probability `p`. */
bool turn_pays(const struct ground *g, const struct wish *w,
    const struct want_progress *at, double p, uint64_t bytes);

/* step.c */
/* Looks the want's objects and their policy up; false where there is nothing to
 * ask for them. */
bool step_begin(struct turn *t);
/* Decides which call is to be asked next; false where there is none. It is
 * called again once that is asked, or need not be. */
bool step_want(struct turn *t);
/* The call becomes what confirms the node, unless that is under way. */
void turn_confirm(struct turn *t, struct node *node);
/* Returns the caches' answers about the node. They are good until the next call
 * with another one. */
const struct known *turn_known(struct turn *t, struct node *node);
/* Whether attributes (and rights) will still be fresh when they are used. */
bool turn_confirmed(struct turn *t, struct node *node, bool rights);
/* Whether a client is just making the object, or names in it: it knows what is
 * there, and an answer is past with the next change. Not if somebody asked. */
bool turn_is_made(struct turn *t, struct node *node);
/* Whether such a call is under way, whoever sent it: the want watches it. */
bool turn_under_way(struct turn *t, struct node *node, uint32_t proc);
/* Whether a reply to the procedure is worth its bytes on an idle link. */
bool turn_worth(const struct turn *t, uint32_t proc, uint64_t bytes);

/* Stages (step.c). Each returns false where the turn is over. */
/* step_data.c */
bool turn_data(struct turn *t);
bool turn_read(struct turn *t);
/* step_list.c */
/* Returns the bytes that a listing takes. */
uint64_t turn_listing_bytes(const struct turn *t, struct node *dir);
bool turn_list(struct turn *t);
bool turn_pages(struct turn *t);

/* Whether it can go out from here: names hold, and most entries are fresh. */
bool turn_listing_good(struct turn *t, struct node *dir);
/*
 * From `span->to` on, the next entries that are not fresh: `span` becomes the
 * cookie behind which they begin, and that of the last of them. Returns the
 * bytes of a READDIRPLUS reply with them, about `room` at most; 0: none left.
 */
uint32_t turn_page(struct caches *c, struct node *dir, struct listing *l,
    uint64_t fresh_us, size_t room, struct list_span *span);

/* step_farm.c */
/* Asks the farm for what the turn's call would bring. */
enum farm_answer turn_ask_farm(struct turn *t);
/* Drop, untold, the listings that the farm was asked for. */
void steps_forget_farmed(struct steps *s);

/* step_flight.c */
/* Sends the turn's call; others find it by `*about`. False without memory. */
bool turn_send(struct turn *t, struct fetch_about *about);
void steps_open_flights(struct steps *s, struct calls *calls);

#endif
