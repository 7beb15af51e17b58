/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wants: what shall be in the caches before a client asks for it.
 *
 *	sessions, patterns, habits, missed names, hints
 *	        │ want_add_…()
 *	        ▼
 *	lanes of one queue, the most urgent first ─▶ want_step() ─▶ calls
 *	        │                                      ▲    │
 *	        └── the pump (prefetch.c) ─────────────┘    └─▶ want_owner
 *
 * A want is gone when there is nothing more to ask for it, or when it could
 * not be asked for within five seconds. Whoever has to know when that happens
 * gives it an owner.
 */
#ifndef FOREFETCH_WANT_H
#define FOREFETCH_WANT_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsproto/rpc_msg.h"
#include "predictor/predictor.h"

struct pf_cred;
struct prefetch;
struct want;

/* What a reply will take on the link, in bytes without headers. */
enum { CONFIRM_BYTES = 128, LOOKUP_BYTES = 260 };

/* Who says that something will be wanted; continues enum predictor_source. */
enum note_source {
	NOTE_FROM_PATTERN = PREDICTOR_SOURCES,
	NOTE_FROM_HINT,
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
};

/* Embedded in whoever waits for the end of a want. */
struct want_owner {
	/* There is nothing more to ask for it, or it was given up for its age.
	 * Not called after want_disown(). */
	void (*on_end)(struct want_owner *o, bool given_up);
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
/* False where the want has another owner. */
bool want_own(struct want *w, struct want_owner *o);
/* The owner has lost interest: its want is dropped. */
void want_disown(struct want_owner *o);

/* Have the queue looked at in a later turn of the loop. */
void prefetch_wake(struct prefetch *pf, uint64_t now_us);

/*
 * Credentials under which wants are asked for. The reference that
 * pf_cred_get() returns is the list's: take one of your own. NULL without
 * memory.
 */
struct pf_cred *pf_cred_get(struct prefetch *pf, const struct rpc_cred *cred,
    uint32_t id, uint32_t uid);
struct pf_cred *pf_cred_ref(struct pf_cred *c);
void pf_cred_unref(struct pf_cred *c);
uint32_t pf_cred_id(const struct pf_cred *c); /* caches_cred() */

#endif
