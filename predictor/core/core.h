/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The map of core/: what the parts of the predictor share. Only predictor/ may
 * include this; the world sees predictor.h.
 *
 *	predictor_observe(): an event                        observe.c
 *	  what is the object?      place.c twin.c            store/objects names
 *	  a new access, or more of one that has begun?       access.c
 *	  whose is it?             stream.c fit.c
 *	  was it predicted?        cands.c                   store/calib
 *	  what comes next? Each of these makes candidates:
 *	    follow.c    what came next in older trails       store/trails
 *	    relate.c    what was used soon after it before   store/graph
 *	    guess.c     the next names of the directory      store/names
 *	                                                     store/nameodds
 *	    below.c     names in directories that may be entered next
 *	    analog.c    the same name in the next directory
 *	    want.c      listings that would show more
 *	  did guesses come true?   outcome.c       store/nameodds calib
 *	  remember it              scan.c keeps walks out    store/trails
 *	predictor_predict(): candidates that are news        predict.c wall.c
 *	predictor_withdrawn(): what was told and will not come   withdraw.c
 *	predictor_replay(): what the last sessions used      session_tell.c
 *	predictor_feedback(): what the fetches were worth    feedback.c
 *	predictor_new(), _list(), _rename(), statistics      predictor.c
 *
 * core/ may use store/ (the memory: arenas of fixed size) and sessions/;
 * persist/ goes over the same memory to save, load and show it. Objects,
 * directories and places in the trail log are numbers (indices). A number is
 * given to another object when the old one is evicted, so whoever keeps one
 * compares the time at which the object was made.
 */
#ifndef FOREFETCH_CORE_H
#define FOREFETCH_CORE_H

#include "predictor/core/stream.h"
#include "predictor/core/wall.h"
#include "predictor/predictor.h"
#include "predictor/sessions/sessions.h"
#include "predictor/store/calib.h"
#include "predictor/store/extents.h"
#include "predictor/store/graph.h"
#include "predictor/store/keymap.h"
#include "predictor/store/names.h"
#include "predictor/store/objects.h"
#include "predictor/store/nameodds.h"
#include "predictor/store/recent.h"
#include "predictor/store/trails.h"

/* A candidate is told if its probability is at least P_MIN, and again when it
 * has risen by P_RISE: below, no issue policy would fetch it. Above P_SURE it
 * is fetched in any case, so that nothing is gained by telling it again. With a
 * P_MIN of 0.06 the warm stall is a sixth to a fifth higher (forefetch-sim
 * --calls, tuning half). */
#define P_MIN  0.03f
#define P_RISE 0.04f
#define P_SURE 0.85f

/* Features of the cursor that supports a candidate most, by which
 * cands_estimate() chooses its cell: steps of its confidence, and numbers of
 * hits from which on it is surer. */
enum { CONF_STEPS = 7, HITS_FEW = 2, HITS_SOME = 5, HITS_MANY = 16 };

enum {
	/* Listings that wait to be told, all for one uid. */
	WANTED = 8,
	/* Objects that one event takes back; more are not reported. */
	WITHDRAWN = 256,
	/* Objects of walks that are on probation, at most (scan.c). */
	PROBATION = 4096,
	/* Guesses from names whose outcome is not known yet (outcome.c). */
	GUESSES = 2048,
	/* Directories whose listing has come of late (below.c). */
	FRESH = 8,
	/* Kinds of files that reads.c tells apart: a stream has one bit each.
	 */
	KINDS = 64,
	/* Names that an event guesses in directories not entered yet. */
	BELOW_NAMES = 64,
	/* Keys that predictor_forget() was told of, and that are remembered. */
	GONE = 1024,
};

/* The bits of PREDICTOR_NEEDS_… that trails and objects keep; the others are
 * made when something is predicted. */
#define NEEDS_KEPT 63

/* An object on probation (scan.c), and the event that made it: its number may
 * mean another object by now. */
struct probation {
	uint32_t object, born_at;
};

/* A guess from names that waits for its outcome (outcome.c). */
struct guess {
	uint32_t object;
	uint32_t made_at; /* event */
	uint32_t at;      /* number of the stream's event */
	float p;
	calib_cell cell;
	uint8_t stream;
	bool below; /* its directory was not entered yet */
	struct nameodds_seen seen;
};

/* A directory whose listing has come, and when. */
struct fresh {
	uint32_t dir, at;
};

/* How many files of a kind were used of late, and how many of them read. */
struct kind_reads {
	uint8_t used, read;
};

/* All that one predictor knows. One thread at a time works on it; other threads
 * only pack snapshots and unpack messages (persist/), which are copies. */
struct predictor {
	struct predictor_options opt;
	/* The stores, each with its share of the budget (predictor.c). */
	struct objects *objects;
	struct trails *trails;
	struct graph *graph;
	struct names *names;
	struct keymap *suffixes; /* end of the path → object: twin.c */
	uint32_t wanted[WANTED]; /* directories to be listed: want.c */
	uint32_t nwanted;
	uint64_t wanted_by;    /* the uid whose streams wanted them */
	struct keymap *places; /* (directory, name) → object */
	struct calib *calib;
	struct nameodds *odds;
	struct extents *extents;
	struct sessions *sessions;
	struct wall wall;
	struct recent recent;
	struct streams streams;
	struct stream *now;     /* the stream of the last event */
	enum predictor_led led; /* which part had told its object */
	struct kind_reads kinds[KINDS], all_kinds;
	uint32_t withdrawn[WITHDRAWN]; /* objects that the last event broke */
	uint32_t nwithdrawn;
	uint32_t events;
	uint32_t imported; /* of these: uses that were imported */
	/* A new number whenever objects and trails are numbered anew, so that
	 * walks that go on from turn to turn notice it and end. */
	uint32_t era;
	uint32_t emptied;   /* how often all was forgotten */
	uint64_t lead_ns;   /* predictor_set_lead() */
	uint64_t recent_ns; /* obs.recent_ns of the last event */
	uint64_t session_pause_ns, session_time_ns;
	float late_share; /* of the last fetches that were used */
	bool scan;        /* the last event was part of a walk */
	/* A ring of objects that walks and listings made. */
	struct probation probation[PROBATION];
	uint32_t probation_in, probation_out;
	struct guess guesses[GUESSES]; /* a ring */
	uint32_t guesses_in, guesses_out;
	struct fresh fresh[FRESH];
	uint32_t nfresh;     /* FRESH and more: all of them */
	uint32_t below_left; /* of BELOW_NAMES, in this event */
	/* Keys that predictor_forget() was told of last, each at its place: a
	 * peer that does not know it yet must not bring them back. */
	uint64_t gone[GONE];
	/* Figures for predictor_get_stats(). */
	uint64_t predicted, used, late, unused, guarded, walled;
	uint64_t predicted_by[PREDICTOR_SOURCES], used_by[PREDICTOR_SOURCES];
	struct predictor_reliability reliability;
};

/* Whether that part is at work. */
static inline bool has_part(const struct predictor *p, enum predictor_part part)
{
	return !(p->opt.without >> part & 1);
}

/* place.c: an object is what its directory calls by its name. */
/* Puts the object at that place. If another object was known there, the two
 * become one. Returns the number that goes on. */
uint32_t place_object(
    struct predictor *p, uint32_t object, uint32_t dir, uint64_t name_hash);
/* The object of that name, or OBJECT_NONE. */
uint32_t place_find(const struct predictor *p, uint32_t dir, uint32_t name);
/* Forgets the place of an object that is going. */
void place_drop(struct predictor *p, uint32_t id, const struct object *o);

/* twin.c: objects whose paths end alike. */
/* The twin of an object that was never used, or OBJECT_NONE. */
uint32_t twin_find(struct predictor *p, struct stream *s, uint32_t object);
/* The stream is not in a copy of something known any more. */
void twin_forget(struct stream *s);
/* The object may be the twin of others from now on; or not any more. */
void twin_learn(struct predictor *p, uint32_t object);
void twin_drop(struct predictor *p, uint32_t id, const struct object *o);
/* Translates the object of an old trail for this stream: into itself, its twin,
 * or OBJECT_NONE. `wait` is set if a listing may show the twin before long. */
uint32_t twin_translate(
    struct predictor *p, struct stream *s, uint32_t object, bool *wait);

/* The next four make candidates, after an event of `s` that is not in the log
 * yet; `twin` is what twin_find() found.
 * follow.c: what lies ahead in older trails. */
void follow_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin);

/* relate.c: what the graph has. */
void relate_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin);

/* guess.c: the next names. `needs` is what the event asked for. */
void guess_event(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs);

/* Guesses the names around one that the stream has used. */
void guess_around(struct predictor *p, struct stream *s, uint32_t object);
/* Fills in the features by which the odds of the object are asked for; `run`
 * objects were used in order before it. */
void guess_about(const struct predictor *p, const struct dir *d,
    uint32_t object, uint32_t run, struct nameodds_about *about);

/* below.c: names in directories that may be entered. */
/* Guesses names of a directory that was not entered, if it is small and its
 * listing known. `enter` is the probability that it will be, by the name
 * `entry` (0: any), in `lead` accesses. */
void below_guess(struct predictor *p, struct stream *s, uint32_t dir,
    uint32_t entry, float enter, uint32_t lead);
/* The same for the object, if it is a directory. */
void below_object(struct predictor *p, struct stream *s, uint32_t object,
    float enter, uint32_t lead);
/* The object is used now. */
void below_event(struct predictor *p, struct stream *s, uint32_t object);
/* The directory's listing has come. */
void below_listed(struct predictor *p, uint32_t dir);
/* Guesses in the directories whose listing has come since the last event. */
void below_fresh(struct predictor *p, struct stream *s);

/* outcome.c: what became of guesses from names. */
/* The candidate was made, or estimated anew, from these odds. */
void outcome_wait(struct predictor *p, const struct stream *s,
    const struct cand *c, const struct nameodds_seen *seen, bool below);
/* Decides guesses that have waited long enough. */
void outcome_event(struct predictor *p);

/* reads.c: of which kinds files are read, and which are only looked at.
 * A file of the stream was used, and all of that use is known. */
void reads_count(struct predictor *p, struct stream *s, const struct object *o);
/* The needs that the stream will have of the file if it uses it: those it had
 * of the others, but data only where files of its kind are read. */
uint8_t reads_need(
    const struct predictor *p, const struct stream *s, const struct object *o);

/* analog.c: the same name in the next directory. */
void analog_event(struct predictor *p, struct stream *s, uint32_t object);

/* want.c: directories whose listing would show more. */
/* Asks for the directory's listing, unless that was done. False if it is known
 * or has not come for so long that nobody should wait for it. */
bool want_listing(struct predictor *p, struct stream *s, uint32_t dir);
/* The listings to be asked for now, as predictions. */
size_t want_tell(struct predictor *p, struct prediction *out, size_t max);

/* access.c: which calls are one access, and what it needs. */
/* The need that a call of that kind shows: PREDICTOR_NEEDS_…. */
uint8_t access_needs(enum predictor_kind kind);
/* The stream whose access of the object goes on with `o`; NULL if a new access
 * begins. */
struct stream *access_find(
    struct predictor *p, uint32_t object, const struct predictor_obs *o);
void access_continue(struct predictor *p, struct stream *s, uint32_t object,
    const struct predictor_obs *o);
/* A new access; `told` is what the stream was told that it would need. */
void access_begin(struct predictor *p, struct stream *s, uint32_t object,
    const struct predictor_obs *o, uint8_t told);

/* predict.c */
/* Makes a prediction of an object, whichever part predicts it: key, directory,
 * sizes; needs with PREDICTOR_NEEDS_EXTENTS where more than the beginning is
 * read. */
struct prediction predict_object(
    const struct predictor *p, uint32_t object, uint8_t needs);
/* The part of `needs` that an object of its type has: an absent name its
 * absence, a directory no data, a file no listing. An object whose type nobody
 * has said yet counts as a file. */
static inline uint8_t predict_needs(const struct object *o, uint8_t needs)
{
	if (o->absent)
		return needs & PREDICTOR_NEEDS_ABSENCE;
	return needs & (uint8_t) ~(PREDICTOR_NEEDS_ABSENCE |
				   (o->directory ? PREDICTOR_NEEDS_DATA
						 : PREDICTOR_NEEDS_LISTING));
}
/* It was told and not fetched: it is told again when it is nearer. */
void predict_later(struct predictor *p, uint32_t object);

/* withdraw.c */
/* The stream will hardly use it after all. */
void withdraw_cand(struct predictor *p, struct cand *c);

/* feedback.c */
/* How many times as far ahead to predict, since fetches come late: 1 to 2. */
float feedback_reach(const struct predictor *p);
/* The factor for the probability of an object that was fetched in vain. */
float feedback_discount(const struct predictor *p, const struct object *o);

/* scan.c: walks over what nobody used before stay out of a full history. */
/* To be called before an object is made that a walk or a listing brings: if it
 * is new and there is no room, an older object of that kind gives way. */
void scan_room(struct predictor *p, uint64_t key);
/* The object is of that kind. */
void scan_try(struct predictor *p, uint32_t object);
/* Whether the event of `s` is to be kept out of the log. */
bool scan_guards(struct predictor *p, struct stream *s, uint32_t object);

/* cands.c: what was predicted to a stream, and whether it came true. */
/* An access of the object begins: counts its candidate as a hit, if there is
 * one. Returns what the stream was told that the object would need. */
uint8_t cands_hit(struct predictor *p, struct stream *s, uint32_t object);
/* Counts a few candidates as wrong that have been due for long. */
void cands_sweep(struct predictor *p, struct stream *s);
/* The same for streams that have ended. */
void cands_sweep_idle(struct predictor *p);
/* The stream's run is over: all of its candidates go. */
void cands_retire(struct predictor *p, struct stream *s);
/* The part of `needs` that the stream does not have yet. */
uint8_t cands_lacks(const struct predictor *p, const struct stream *s,
    uint32_t object, uint8_t needs);
/* An access of `object` has begun and will need these, too. */
void cands_rest(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs);
/* The access has asked for these now. */
void cands_rest_hit(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs);
/* The stream's candidate for the object, made if there is none; its use lies
 * `lead` events ahead. */
struct cand *cands_make(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t lead);
/* Whether the candidate should be told (again). */
bool cand_is_news(const struct cand *c);
/* Queues the candidate to be told: puts it into the stream's `news`, where it
 * must not be yet, and which must not be full. */
void cand_push(struct stream *s, struct cand *c);
/* Tells it again if that was done longer than obs.recent_ns ago: what was
 * fetched then may have to be confirmed. */
void cands_renew(struct predictor *p, struct stream *s, uint32_t object);
/* Sets the probability; predictor_predict() tells it if it is news. */
void cands_set(
    struct predictor *p, struct stream *s, struct cand *c, float prob);
/* A guess from names, with its cell of the calibration and its probability,
 * unless something better is known of the object. */
void cands_guess(struct predictor *p, struct stream *s, uint32_t object,
    uint32_t lead, uint8_t needs, calib_cell cell, float prob);
/* The same from odds, whose outcome teaches them. */
void cands_odds(struct predictor *p, struct stream *s, uint32_t object,
    uint32_t lead, uint8_t needs, calib_cell cell, float prob,
    const struct nameodds_seen *seen, bool below);
/* Something in the directory is used: so is the directory, if it was guessed.
 */
void cands_enter(struct predictor *p, struct stream *s, uint32_t dir);
/* Estimates the probability from cursors, graph, history and calibration. */
void cands_estimate(struct predictor *p, struct stream *s, struct cand *c);

#endif
