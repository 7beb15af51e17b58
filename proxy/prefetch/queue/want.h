/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wants: what shall be in the caches before a client asks for it.
 *
 *	sessions, patterns, habits, missed names, hints │ walks of trees,
 *	        │                                       │ lists and links
 *	        │ want_add…()                           │ want_add_job()
 *	        ▼                                       ▼
 *	lanes of one queue, the most urgent first ─────▶ the last lane
 *	        │ the pump (steps/pump.c)               │
 *	        ▼                                       ▼
 *	   turn_take() ─▶ calls (flight.h) ◀─ want_owner.on_turn()
 *
 * A want is gone when there is nothing more to ask for it, or when it could
 * not be asked for within five seconds. Whoever has to know when that happens
 * gives it an owner.
 *
 * A job is a want whose owner knows itself which calls are to be sent, and
 * sends them. It has its turn when nothing else waits in the queue, and lasts
 * as long as the owner says: neither its age ends it, nor `prefetch = off`,
 * nor strict consistency.
 */
#ifndef FOREFETCH_WANT_H
#define FOREFETCH_WANT_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/predictor.h"
#include "prefetch/queue/wish.h"

struct credential;
struct fetch_about;
struct queue;
struct want;

/* Part of a file that will be read. */
struct want_range {
	uint64_t object; /* fh_key() of the file */
	uint64_t parent; /* fh_key() of its directory; 0: not known */
	uint64_t offset_bytes;
	uint32_t count_bytes; /* > 0 */
	float p;              /* the probability that it will be read */
	uint32_t lead; /* how many READs come before it: 1 for the next one */
	/* PREDICTOR_NEEDS_…: what else its use takes. Nothing for a file that
	 * is being read; NAME and ACCESS for one that will be opened. */
	uint8_t needs;
	uint8_t source; /* enum note_source */
};

/* A name to be looked up ahead. */
struct want_name {
	uint64_t dir;     /* fh_key() of the directory */
	const char *name; /* not copied: its owner keeps it until the end */
	uint32_t len;
	float p;
	uint32_t lead;
	uint8_t source; /* enum note_source */
};

/* How a turn with a want ended. */
enum step {
	STEP_DONE,    /* nothing more is to be asked: the want ends */
	STEP_OLD,     /* it is given up for its age */
	STEP_MORE,    /* it has more to ask, after others of its lane */
	STEP_WAITS,   /* for what is under way */
	STEP_LATER,   /* it is too early: after a grain of the server's clock */
	STEP_BLOCKED, /* no room on the link: `*wait_us`, 0: until a reply */
};

/* Embedded in whoever waits for the end of a want. */
struct want_owner {
	/* There is nothing more to ask for it, or it was given up for its age.
	 * Not called after want_disown(). */
	void (*on_end)(struct want_owner *o, bool given_up);
	/* Of jobs: the next call may be sent. Behind STEP_WAITS want_go_on()
	 * has it called again. */
	enum step (*on_turn)(
	    struct want_owner *o, uint64_t now_us, uint64_t *wait_us);
	struct want *want; /* NULL while there is none */
};

/*
 * A prediction of an object; what is wanted already is wanted sooner, or for
 * more. NULL where there are too many wants. `read`: how likely its data is
 * read once it is used.
 */
struct want *want_add(struct queue *q, struct credential *cred,
    const struct prediction *pred, float read, uint64_t now_us);
/*
 * The bytes of a range; what of them is in the data cache, or under way, is not
 * asked for. Ranges of one source that begin at the same offset are one want.
 * NULL where there are too many wants, or where it is not worth its bytes.
 */
struct want *want_add_range(struct queue *q, struct credential *cred,
    const struct want_range *r, uint64_t now_us);
/* Its LOOKUP under the credential, and what confirms its directory. NULL where
 * there are too many wants. */
struct want *want_add_name(struct queue *q, struct credential *cred,
    const struct want_name *n, uint64_t now_us);
/* Has to end before the queue does. False without memory. */
bool want_add_job(
    struct queue *q, struct credential *cred, struct want_owner *o);

/* A range is not wanted any more; calls under way go on. */
void want_drop_range(
    struct queue *q, struct credential *cred, const struct want_range *r);
/* A source withdraws its prediction of the object: the queue drops the calls
 * for it that were not sent yet. */
void want_withdraw(
    struct queue *q, struct credential *cred, uint64_t object, uint64_t now_us);
/* The file is opened, or read: what follows in others, as far as only their
 * kinds say so, goes behind what follows in this one. */
void want_opened(struct queue *q, struct credential *cred, uint64_t object);
/* Its listing is to be asked for once more: the next page, or (`anew`) all of
 * it, however fresh its first entries look. */
void want_list_again(struct want *w);
void want_list_anew(struct want *w);

/* The job has something to do again. Not to be called from its own turn. */
void want_go_on(struct want_owner *o);
/* False where the want has another owner. */
bool want_own(struct want *w, struct want_owner *o);
/* The owner has lost interest: its want is dropped. */
void want_disown(struct want_owner *o);
void want_drop(struct want *w);
/* The same, of one that could not be asked for in time. */
void want_give_up(struct want *w);

/* ---- for the steps of wants -------------------------------------------- */

const struct wish *want_wish(const struct want *w);
struct want_progress *want_progress(struct want *w);
/* Nothing but these of its needs can be met. */
void want_narrow(struct want *w, uint8_t needs);
/* Its kind says how much of the rest is read; `p` 0: that does not matter. */
void want_set_rest(struct want *w, double p, uint32_t bytes);

/* It has its next turn when the call is over. False where there is none. */
bool want_watch(struct want *w, const struct fetch_about *about);
/* How many calls it waits for. */
unsigned want_watched(const struct want *w);
/* The first bytes of the file are there, or under way. True where its lane is
 * another one from now on. */
bool want_begins_tail(struct want *w);
bool want_is_tail(const struct want *w);
/* Moves a want behind all others while its call costs more than it spares;
 * moves it back once it does not. */
void want_put_off(struct want *w, bool off);
bool want_is_put_off(const struct want *w);

#endif
