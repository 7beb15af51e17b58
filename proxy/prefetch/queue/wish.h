/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A want as its steps see it: the wish, which whoever predicts adds to, and how
 * far the steps have come with it. Where it stands in the queue is the queue's
 * (queue_private.h).
 */
#ifndef FOREFETCH_WISH_H
#define FOREFETCH_WISH_H

#include <stdbool.h>
#include <stdint.h>

#include "prefetch/notes/notes.h"

struct credential;

/* An object that is wanted, for whom, and how likely it will be used. */
struct wish {
	struct credential *cred; /* under which it is asked for */
	uint64_t object;
	uint64_t parent; /* the object's directory; 0: not known */
	uint64_t born_us;
	float p;              /* the probability that it will be used */
	float data_p;         /* and that its data will be read */
	uint32_t first_bytes; /* that are read first; 0: not known */
	uint64_t read_bytes;  /* that a session reads from the beginning */
	/* How likely it is read on by its kind; 0: that does not matter. And
	 * how many bytes of that spare a round trip. */
	float rest_p;
	uint32_t rest_bytes;
	/* Calls that the listing will spare; 0: it will be read itself. */
	float calls_spared;
	uint8_t needs;    /* PREDICTOR_NEEDS_… */
	uint16_t said_by; /* a bit for each source that says so */
	bool far_off;     /* what is confirmed now is too old by its use */
	uint8_t source;   /* of a range or a name: enum note_source */
	/* A range: nothing else of the file is wanted. Else `count` is 0. */
	uint64_t offset;
	uint32_t count;
	/* A name in `parent` that is to be looked up; else NULL. */
	const char *name;
	uint8_t name_len;
};

enum { WISH_OF_SESSION = 1 << PREDICTOR_FROM_SESSION };

/* Somebody has asked for it, so that it was not predicted. */
bool wish_is_asked(const struct wish *w);
/* All who predict it have not seen it used, but others like it. */
bool wish_is_guess(const struct wish *w);
/* Whether a session alone, and no other source, predicts that the object will
 * be used. */
bool wish_is_of_session(const struct wish *w);
/* waste.h bounds what it may fetch in vain. */
bool wish_is_bounded(const struct wish *w);

/* The listing that a want needs: of its directory, or itself. */
enum want_listing {
	LISTING_WANTED, /* unless what is cached of it is good */
	LISTING_ANEW,   /* however good: a name of it was not fresh */
	LISTING_ASKED,
};

/* The entries of a listing behind one cookie, up to another. */
struct list_span {
	uint64_t from, to;
};

/* Which bytes of a file come next: of which extent (0: the first bytes), in
 * which of its repetitions, and where in that. */
struct want_place {
	uint16_t extent;
	uint32_t repeat;
	uint64_t into;
	uint64_t first_bytes; /* 0: no turn has decided on them */
};

/* How far the steps of a want have come. */
struct want_progress {
	uint8_t turns; /* that counted */
	enum want_listing listing;
	uint8_t farmed; /* listings that the farm was asked for */
	bool typed;     /* the type of its object was asked for */
	bool counted;   /* among the wants in its directory (dirs.h) */
	struct want_place place;
	/* The listing comes in pages side by side; the last one asked for. */
	bool paging;
	struct list_span page;
	/* The next one, found while the link had no room for it. It is found
	 * anew where the listing has another generation, or another answer.
	 * `next_bytes` 0: it is not found yet. */
	struct list_span next;
	uint64_t next_sent_us;
	uint32_t next_bytes;
	uint32_t next_generation;
};

enum {
	/* Calls that a want can wait for at the same time. */
	WANT_WATCHES = 4,
};

#endif
