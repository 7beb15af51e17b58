/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the predictor share: nothing outside it includes this. */
#ifndef FOREFETCH_CORE_H
#define FOREFETCH_CORE_H

#include "calib.h"
#include "graph.h"
#include "keymap.h"
#include "names.h"
#include "objects.h"
#include "predictor.h"
#include "stream.h"
#include "trails.h"

/* Below this nobody would fetch, and what does not rise by as much is not
 * told again. */
#define P_MIN  0.03f
#define P_RISE 0.08f
/* Whoever was told that fetches it anyway. */
#define P_SURE 0.85f

enum { WANTED = 8 };

struct predictor {
	struct predictor_options opt;
	struct objects *objects;
	struct trails *trails;
	struct graph *graph;
	struct names *names;
	struct keymap *suffixes; /* of paths → object, twin.c */
	uint32_t wanted[WANTED]; /* directories to be listed */
	uint32_t nwanted;
	struct keymap *places; /* (directory, name) → object */
	struct calib *calib;
	struct streams streams;
	struct stream *now; /* of the last event */
	uint32_t events;
	uint64_t predicted, used, late, unused, guarded;
	struct predictor_reliability reliability;
};

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
    struct predictor *p, const struct stream *s, uint32_t object, bool *wait);

/* follow.c: trails. After an event of `s`, which is not in the log yet. */
void follow_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin);

/* relate.c: the graph. */
void relate_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin);

/* guess.c: names. */
void guess_event(struct predictor *p, struct stream *s, uint32_t object);

/* cands.c */
/* The event was or was not among the candidates of the stream. */
void cands_hit(struct predictor *p, struct stream *s, uint32_t object);
/* A few of the oldest are decided. */
void cands_sweep(struct predictor *p, struct stream *s);
/* Streams that ended: what they waited for. */
void cands_sweep_idle(struct predictor *p);
void cands_retire(struct predictor *p, struct stream *s);
/* Not worth predicting: the stream has it. */
bool cands_has(struct predictor *p, struct stream *s, uint32_t object);
struct cand *cands_make(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t lead);
/* A new estimate; if it is worth it, predict tells. */
void cands_set(struct stream *s, struct cand *c, float prob);
/* Probability now, from cursors, history and calibration. */
void cands_estimate(struct predictor *p, struct stream *s, struct cand *c);

#endif
