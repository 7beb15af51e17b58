/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the predictor share: nothing outside it includes this. */
#ifndef FOREFETCH_CORE_H
#define FOREFETCH_CORE_H

#include "predictor/core/stream.h"
#include "predictor/predictor.h"
#include "predictor/sessions/sessions.h"
#include "predictor/store/calib.h"
#include "predictor/store/extents.h"
#include "predictor/store/graph.h"
#include "predictor/store/keymap.h"
#include "predictor/store/names.h"
#include "predictor/store/objects.h"
#include "predictor/store/recent.h"
#include "predictor/store/trails.h"
#include "predictor/core/wall.h"

/* Below this nobody would fetch, and what does not rise by as much is not
 * told again. */
#define P_MIN  0.03f
#define P_RISE 0.04f
/* Whoever was told that fetches it anyway. */
#define P_SURE 0.85f

enum { WANTED = 8, WITHDRAWN = 256, PROBATION = 4096 };

/* Kept in trails and objects; the rest is of predictions only. */
#define NEEDS_KEPT 63

/* An object on probation, and when it was made: its number may mean another
 * one by now. */
struct probation {
	uint32_t object, born_at;
};

struct predictor {
	struct predictor_options opt;
	struct objects *objects;
	struct trails *trails;
	struct graph *graph;
	struct names *names;
	struct keymap *suffixes; /* of paths → object, twin.c */
	uint32_t wanted[WANTED]; /* directories to be listed */
	uint32_t nwanted;
	uint64_t wanted_by;    /* uid */
	struct keymap *places; /* (directory, name) → object */
	struct calib *calib;
	struct extents *extents;
	struct sessions *sessions;
	struct wall wall;
	struct recent recent;
	struct streams streams;
	struct stream *now;            /* of the last event */
	uint32_t withdrawn[WITHDRAWN]; /* objects, by the last event */
	uint32_t nwithdrawn;
	uint32_t events;
	/* Another one where objects and trails were numbered anew: what goes
	 * through them from turn to turn ends then. */
	uint32_t era;
	uint64_t lead_ns; /* predictor_set_lead() */
	uint64_t session_pause_ns, session_time_ns;
	float late_share; /* of the fetches that were used, lately */
	bool scan;        /* the last event was part of a walk */
	struct probation
	    probation[PROBATION]; /* a ring: of walks and listings */
	uint32_t probation_in, probation_out;
	uint64_t predicted, used, late, unused, guarded, walled;
	uint64_t predicted_by[PREDICTOR_SOURCES], used_by[PREDICTOR_SOURCES];
	struct predictor_reliability reliability;
};

/* predictor.c: as large as the budget has them. NULL without memory. */
struct trails *arena_trails(size_t budget_bytes);
struct graph *arena_graph(size_t budget_bytes);

/* place.c: identity is (directory, name). */
/* Puts the object there; what was known about the place goes over to it.
 * Returns its number, which may be another one than before. */
uint32_t place_object(
    struct predictor *p, uint32_t object, uint32_t dir, uint64_t name_hash);
/* OBJECT_NONE if nothing is known there. */
uint32_t place_find(const struct predictor *p, uint32_t dir, uint32_t name);
void place_drop(struct predictor *p, uint32_t id, const struct object *o);

/* twin.c: the same path suffix elsewhere. */
/* Of an object that was never used; OBJECT_NONE if there is none. */
uint32_t twin_find(struct predictor *p, struct stream *s, uint32_t object);
/* The stream begins anew. */
void twin_forget(struct stream *s);
void twin_learn(struct predictor *p, uint32_t object);
void twin_drop(struct predictor *p, uint32_t id, const struct object *o);
/* What the object of an old trail is to this stream: itself, its twin, or
 * OBJECT_NONE; `wait` if a listing may show it before long. */
uint32_t twin_translate(
    struct predictor *p, struct stream *s, uint32_t object, bool *wait);

/* follow.c: trails. After an event of `s`, which is not in the log yet. */
void follow_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin);

/* relate.c: the graph. */
void relate_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin);

/* guess.c: names. `needs` is what the event asked for. */
void guess_event(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs);

/* analog.c: the same name in the next directory. */
void analog_event(struct predictor *p, struct stream *s, uint32_t object);

/* want.c: directories whose listing would help. */
/* Ask for a listing; false if that was done, and did not help. */
bool want_listing(struct predictor *p, struct stream *s, uint32_t dir);
size_t want_tell(struct predictor *p, struct prediction *out, size_t max);

/* access.c: what is one access, and what it needs. */
uint8_t access_needs(enum predictor_kind kind);
/* The stream whose access of the object goes on with `o`; NULL if it is a
 * new one. */
struct stream *access_find(
    struct predictor *p, uint32_t object, const struct predictor_obs *o);
void access_continue(struct predictor *p, struct stream *s, uint32_t object,
    const struct predictor_obs *o);
/* A new one; `told` is what the stream was told of it. */
void access_begin(struct predictor *p, struct stream *s, uint32_t object,
    const struct predictor_obs *o, uint8_t told);

/* predict.c */
/* What was told of it is to be told again when it is nearer. */
void predict_again(struct predictor *p, uint32_t object);

/* withdraw.c */
/* What the stream was told of it does not hold any more. */
void withdraw_cand(struct predictor *p, struct cand *c);

/* feedback.c */
/* How much further ahead to predict, since fetches come late: 1 and up. */
float feedback_reach(const struct predictor *p);
/* What is left of a probability after fetches in vain. */
float feedback_discount(const struct object *o);

/* scan.c: walks over what nobody used before stay out of a full history. */
/* Before an object is made that a walk or a listing brings: if it is unknown
 * and there is no room, an older one of these gives way. */
void scan_room(struct predictor *p, uint64_t key);
/* This was one. */
void scan_try(struct predictor *p, uint32_t object);
/* Whether the event of `s` is to be kept out. */
bool scan_guards(struct predictor *p, struct stream *s, uint32_t object);

/* cands.c */
/* The event was or was not among the candidates of the stream; what the
 * stream was told that the object will need. */
uint8_t cands_hit(struct predictor *p, struct stream *s, uint32_t object);
/* A few of the oldest are decided. */
void cands_sweep(struct predictor *p, struct stream *s);
/* Streams that ended: what they waited for. */
void cands_sweep_idle(struct predictor *p);
void cands_retire(struct predictor *p, struct stream *s);
/* What of `needs` is worth predicting: the stream does not have it yet. */
uint8_t cands_lacks(const struct predictor *p, const struct stream *s,
    uint32_t object, uint8_t needs);
/* An access of `object` has begun, and will need these too. */
void cands_more(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs);
/* It has asked for these now. */
void cands_more_hit(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs);
struct cand *cands_make(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t lead);
bool cand_is_news(const struct cand *c);
/* It is to be told. Not where it is fresh, or FRESH of them are. */
void cand_push(struct stream *s, struct cand *c);
/* What the stream was told of it longer than options.recent_ns ago is told
 * again: what was fetched then may have to be confirmed. */
void cands_renew(struct predictor *p, struct stream *s, uint32_t object);
/* A new estimate; if it is worth it, predict tells. */
void cands_set(
    struct predictor *p, struct stream *s, struct cand *c, float prob);
/* Probability now, from cursors, history and calibration. */
void cands_estimate(struct predictor *p, struct stream *s, struct cand *c);

#endif
