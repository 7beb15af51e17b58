/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes say what became of predictions, one for each object: for the predictor,
 * for stats and for explain.
 *
 *	        predicted       a call      its reply       a client
 *	NONE ─▶ WANTED ───────▶ ASKED ─────▶ READY ───────▶ USED
 *	          │               │            └─ too long ▶ UNUSED
 *	          │               └─ a client ─────────────▶ LATE
 *	          └─ no call: FRESH, UNLIKELY, OLD, WITHDRAWN, UNKNOWN; FAILED
 */
#ifndef FOREFETCH_NOTES_H
#define FOREFETCH_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/predictor.h"

struct ground;
struct notes;

/* Who says that something will be wanted; continues enum predictor_source. */
enum note_source {
	NOTE_FROM_PATTERN = PREDICTOR_SOURCES,
	NOTE_FROM_HINT,
	NOTE_FROM_MENTION, /* its name stands in data that passed */
	NOTE_FROM_WALK,    /* somebody goes through the directories there */
	NOTE_FROM_KIND,    /* files of its kind are read so */
	NOTE_SOURCES
};

/* Whoever predicts has not seen it used, but others like it: a bit for each
 * such source. */
enum {
	NOTE_GUESSES = 1 << PREDICTOR_FROM_NAMES | 1 << NOTE_FROM_MENTION |
		       1 << NOTE_FROM_WALK | 1 << NOTE_FROM_KIND
};

/* How a prediction ended. From FRESH to UNKNOWN it cost no call. */
enum note_state {
	NOTE_NONE,
	NOTE_WANTED,
	NOTE_ASKED,     /* a call for it is under way */
	NOTE_READY,     /* it has come, and was not used yet */
	NOTE_USED,      /* it was used after it had come */
	NOTE_LATE,      /* it was used before it had come */
	NOTE_UNUSED,    /* it was never used */
	NOTE_FRESH,     /* it was there already */
	NOTE_UNLIKELY,  /* it was not worth a call */
	NOTE_OLD,       /* its time had passed before a call could go out */
	NOTE_WITHDRAWN, /* the predictor took it back before that */
	NOTE_UNKNOWN,   /* its handle is not known */
	NOTE_FAILED,    /* the server refused it */
};

#define NOTE_UID_NONE UINT32_MAX

/* The last prediction of an object, and how it ended. */
struct note {
	uint64_t object;
	uint64_t us; /* of the last change */
	uint32_t bytes;
	uint32_t counted; /* of them, as used or not */
	uint32_t in_vain; /* of them, in waste.h, as unused */
	float p;
	uint32_t lead;
	/* The user whose calls led to it; NOTE_UID_NONE once another one has
	 * used it: then the note tells of both. */
	uint32_t uid;
	uint16_t next; /* of equal hash; index + 1 */
	uint8_t state;
	uint8_t source;
	uint8_t needs;
};

/* NULL without memory; of free(). */
struct notes *notes_new(struct ground *g);
/* NULL: nobody foretold it. */
const struct note *notes_find(const struct notes *n, uint64_t object);
/* The notes of which something became, for whom `uid` may hear of (0: all), in
 * the order in which they are shown. Returns how many, `max` at most. */
size_t notes_list(
    const struct notes *n, uint32_t uid, const struct note **out, size_t max);
/* Whether all of it came ahead lately, and nobody used it. By the time of its
 * use, if that ever comes, it may have to be confirmed: but whoever guesses may
 * guess so again and again. `x` may be NULL. */
bool notes_came_in_vain(const struct note *x, const struct prediction *pred);
/* Nothing has become of it yet: it is wanted, or asked for, or has come. */
bool notes_is_ahead(const struct note *x);

/* "used", "late", … */
const char *notes_state_name(uint8_t state);
/* "tree", …; of enum note_source, and predictor_source. */
const char *notes_source_name(uint8_t source);
/* Whether it is one of NOTE_GUESSES. */
bool notes_source_guesses(uint8_t source);

/* It was predicted by what `uid` did. */
void notes_predicted(struct notes *n, const struct prediction *pred,
    uint32_t uid, uint64_t now_us);
void notes_set(
    struct notes *n, uint64_t object, enum note_state state, uint64_t now_us);
/* So many bytes came of it. */
void notes_came(struct notes *n, uint64_t object, uint64_t bytes);

struct note_use {
	uint64_t object;
	uint32_t uid; /* asked for it */
	bool late;    /* had to wait for it */
	bool missed;  /* the server was asked for it all the same */
};
void notes_used(struct notes *n, const struct note_use *use, uint64_t now_us);
/* A name in the directory was answered from the caches: that was of use. */
void notes_name_used(struct notes *n, uint64_t dir);
/* Counts as unused those that nobody has used for too long; looks at a few. */
void notes_age(struct notes *n, uint64_t now_us);

#endif
