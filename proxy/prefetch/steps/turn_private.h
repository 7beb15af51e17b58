/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One turn with a want: what its steps share. Private to this folder. */
#ifndef FOREFETCH_TURN_PRIVATE_H
#define FOREFETCH_TURN_PRIVATE_H

#include "cache/known.h"
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
};

/* Where a want stands among the pieces of its file. */
struct turn_place {
	uint16_t extent;
	uint32_t repeat;
	uint64_t into;
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
	struct known k;    /* of the node; or else of the directory */
	struct node *node; /* NULL: not known */
	struct node *dir;  /* NULL: not known */
	uint64_t now_us;
	uint64_t *wait_us;
	enum turn_end end;
	unsigned sent; /* calls that went out */
	/* Whether it counts as one of those that a want may have: it asked for
	 * what may have to be asked for again. A file's pieces may take any
	 * number of turns, and so may the farm. */
	bool confirms;
	bool passes; /* so many pieces were there that it stopped */
	/* The farm was asked; of data, for pieces from `back` on. */
	bool farmed;
	struct turn_place back;
};

/* step.c. Functions of a turn return false where the turn is over: the link has
 * no room, or it is too early. */
enum step step_want(
    struct steps *s, struct want *w, uint64_t now_us, uint64_t *wait_us);

/* step_send.c */
void turn_ends(struct turn *t, enum turn_end how);
/* Whether a call of the want is worth it now, used with probability `p`. */
bool turn_pays(const struct ground *g, const struct wish *w,
    const struct want_progress *at, double p, uint64_t bytes);
/* Send a call about `node`, for a reply of `bytes` without headers. */
bool turn_send(struct turn *t, struct node *node, uint32_t proc,
    const union nfs_args *args, uint64_t bytes);
/* Whether such a call is under way, whoever sent it: the want watches it. */
bool turn_under_way(struct turn *t, struct node *node, uint32_t proc);
bool turn_worth(const struct turn *t, uint64_t bytes);
bool turn_too_early(struct turn *t, const struct node *node);

/* step_confirm.c */
bool turn_confirm(struct turn *t, struct node *node);
/* Whether it is a directory; where that is not known it is asked for, once. */
bool turn_may_list(struct turn *t, struct node *node);
/* Whether attributes (and rights) will still be fresh when they are used. */
bool turn_confirmed(const struct turn *t, struct node *node, bool rights);

/* step_flight.c */
/* Sends the call that a want needs next; `args` begin with `node`'s handle.
 * `bytes` is the expected length of the reply. False without memory. */
bool steps_send(struct steps *s, const struct want *w, struct node *node,
    uint32_t proc, const union nfs_args *args, uint64_t bytes);
void steps_open_flights(struct steps *s, struct calls *calls);

/* step_data.c */
/* Whether bytes of the file are wanted, and may be had. */
bool turn_wants_data(const struct turn *t);
/* Whether all that is to be asked for first is cached. */
bool turn_has_first(const struct turn *t);
/* Ask for all pieces that the link has room for. */
bool turn_read(struct turn *t);

/* step_list.c */
/* Ask for the directory's listing, if it is worth it. */
bool turn_list(struct turn *t, struct node *dir);
/* Whether the listing can go out from here: its names hold, and most of the
 * entries' attributes are fresh. */
bool turn_listing_good(const struct turn *t, struct node *dir);
/* Drop, untold, the listings that the farm was asked for. */
void steps_forget_farmed(struct steps *s);
/*
 * From `span->to` on, the next entries that are not fresh: `span` becomes the
 * cookie behind which they begin, and that of the last of them. Returns the
 * bytes of a READDIRPLUS reply with them, about `room` at most; 0: none left.
 */
uint32_t turn_page(struct caches *c, struct node *dir, struct listing *l,
    uint64_t fresh_us, size_t room, struct list_span *span);

#endif
