/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One turn with a want: what its steps share, and what they hear of calls that
 * the server refused. Private to prefetch_step.c, prefetch_data.c,
 * prefetch_list.c, prefetch_flight.c and prefetch_worth.c. */
#ifndef FOREFETCH_PREFETCH_TURN_PRIVATE_H
#define FOREFETCH_PREFETCH_TURN_PRIVATE_H

#include "prefetch/prefetch_private.h"

/* Where a want stands among the pieces of its file. */
struct turn_place {
	uint16_t extent;
	uint32_t repeat;
	uint64_t into;
};

struct turn {
	struct want *w;
	struct prefetch *pf;
	struct caches *c;
	struct known k;    /* of the node; or else of the directory */
	struct node *node; /* NULL: not known */
	struct node *dir;  /* NULL: not known */
	uint64_t now_us;
	uint64_t *wait_us;
	unsigned sent; /* calls that went out */
	bool counts;   /* at least one of these calls was not a READ */
	bool blocked;  /* the link had no room for one */
	/* The farm was asked, so the turn does not count; of data, for pieces
	 * from `back` on. */
	bool farmed;
	struct turn_place back;
	bool more;      /* its lane is another one from now on */
	bool dear;      /* … or it costs too much now */
	bool held;      /* … or nothing may be sent ahead now (hold.h) */
	bool too_early; /* what came now would be bound for a moment only */
};

/*
 * prefetch_step.c. Functions of a turn return false where the turn is over: the
 * link has no room, or it is too early.
 */
/* Send a call about `node`, for a reply of `bytes` without headers. */
bool turn_send(struct turn *t, struct node *node, uint32_t proc,
    const union nfs_args *args, uint64_t bytes);
/* Whether such a call is under way, whoever sent it: the want watches it. */
bool turn_under_way(struct turn *t, struct node *node, uint32_t proc);
bool turn_worth(const struct turn *t, uint64_t bytes);
bool turn_too_early(struct turn *t, const struct node *node);
/* Whether it is a directory; where that is not known it is asked for, once. */
bool turn_may_list(struct turn *t, struct node *node);
/* Whether attributes (and rights) will still be fresh when they are used. */
bool turn_confirmed(const struct turn *t, struct node *node, bool rights);
/* A confirmation that was sent since then will. */
uint64_t turn_fresh_since_us(const struct turn *t);

/* prefetch_worth.c */
/* The server refused a call about `node`. */
void refused_note(struct prefetch *pf, const struct node *node, uint32_t proc,
    uint32_t cred, uint64_t now_us);
/* Whether it did so in the last minute; the object has not changed since. */
bool refused_lately(const struct prefetch *pf, const struct node *node,
    uint32_t proc, uint32_t cred, uint64_t now_us);

/* prefetch_data.c */
/* Whether bytes of the file are wanted, and may be had. */
bool turn_wants_data(const struct turn *t);
/* Whether all that is to be asked for first is cached. */
bool turn_has_first(const struct turn *t);
/* Ask for all pieces that the link has room for. */
bool turn_read(struct turn *t);

/* prefetch_list.c */
/* Ask for the directory's listing, if it is worth it. */
bool turn_list(struct turn *t, struct node *dir);
/* Whether the listing can go out from here: its names hold, and most of the
 * entries' attributes are fresh. */
bool turn_listing_good(const struct turn *t, struct node *dir);

#endif
