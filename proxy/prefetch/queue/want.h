/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wants: what shall be in the caches before a client asks for it.
 *
 *	sessions, patterns, habits, missed names, hints │ walks of trees
 *	        │ want_add_…()                          │ want_add_job()
 *	        ▼                                       ▼
 *	lanes of one queue, the most urgent first ─────▶ the last lane
 *	        │ the pump (prefetch.c)                 │
 *	        ▼                                       ▼
 *	   want_step() ─▶ calls (flight.h) ◀─ want_owner.on_turn()
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

struct caches;
struct node;
struct pf_cred;
struct prefetch;
struct user;
struct want;

/* What a reply will take on the link, in bytes without headers. */
enum { CONFIRM_BYTES = 128, LOOKUP_BYTES = 260 };

/* Who says that something will be wanted; continues enum predictor_source. */
enum note_source {
	NOTE_FROM_PATTERN = PREDICTOR_SOURCES,
	NOTE_FROM_HINT,
	NOTE_FROM_MENTION, /* its name stands in data that passed */
	NOTE_FROM_WALK,    /* somebody goes through the directories there */
	NOTE_FROM_KIND,    /* files of its kind are read so */
	NOTE_SOURCES
};

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

/* What came of a turn with a want. */
enum step {
	STEP_DONE,    /* nothing more is to be asked: the want ends */
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
 * The bytes of a range; what of them is in the data cache, or under way, is not
 * asked for. Ranges of one source that begin at the same offset are one want.
 * prefetch_wake() has the queue looked at. NULL where there are too many wants,
 * or where it is not worth its bytes.
 */
struct want *want_add_range(struct prefetch *pf, struct pf_cred *cred,
    const struct want_range *r, uint64_t now_us);
/* Its LOOKUP under the credential, and what confirms its directory. NULL where
 * there are too many wants. */
struct want *want_add_name(struct prefetch *pf, struct pf_cred *cred,
    const struct want_name *n, uint64_t now_us);
/* Has to end before the queue does. False without memory. */
bool want_add_job(
    struct prefetch *pf, struct pf_cred *cred, struct want_owner *o);
/* The job has something to do again. Not to be called from its own turn. */
void want_go_on(struct want_owner *o);
/* False where the want has another owner. */
bool want_own(struct want *w, struct want_owner *o);
/* The owner has lost interest: its want is dropped. */
void want_disown(struct want_owner *o);
/*
 * Whether bytes or names of the object that are asked for now would be bound
 * to this version for a moment only, but for good after a grain of the
 * server's clock (CONTRACT): that is worth the wait. Not so where the server
 * counts in seconds.
 */
bool want_too_early(
    const struct caches *c, const struct node *node, uint64_t now_us);

/* Have the queue looked at in a later turn of the loop. */
void prefetch_wake(struct prefetch *pf, uint64_t now_us);

/* The credential of a user of this machine, with a reference; NULL without
 * memory. Wants are asked for under it. */
struct pf_cred *pf_cred_of_user(struct prefetch *pf, const struct user *who);
void pf_cred_unref(struct pf_cred *c);
uint32_t pf_cred_id(const struct pf_cred *c); /* caches_cred() */

#endif
