/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Candidates: what may be predicted to a stream, until it is used, or has not
 * been used for so long that it counts as wrong. The outcome teaches the
 * calibration, whether the object was fetched or not.
 *
 *	cands_make -> estimate -> news  -> told (predict.c) -> used:    a hit
 *	                  ^                  |               -> expired: a miss
 *	                  +-- risen, withdrawn, dropped      -> retired: either
 */
#include <math.h>

#include "predictor/core/core.h"

enum {
	/* Events of the stream after which a candidate that was due is wrong.
	 * With 32 the warm stall of three streams is a sixth higher, with 128
	 * waste rises (forefetch-sim, tuning half). */
	LIFE_EVENTS = 64,
	IDLE_EVENTS = 1024, /* of its actor: this one has ended */
	SWEEP = 12,         /* candidates that an event looks at */
	REST_PARENT = 256,  /* cells of the calibration: 16 parents from here */
};

/* How often predictions of the object came true: 0 if there were hardly any,
 * then below a half, below nine tenths, above. */
static unsigned history_bucket(const struct object *o)
{
	if (o->tries < 2)
		return 0;
	return o->hits * 10 < o->tries * 5   ? 1
	       : o->hits * 10 < o->tries * 9 ? 2
					     : 3;
}

/* The object keeps both counts in four bits, and halves them when they are
 * full: what it did long ago fades. */
static void object_outcome(struct object *o, bool hit)
{
	if (o->tries == 15) {
		o->tries = 7;
		o->hits = (unsigned)o->hits >> 1 & 7u;
	}
	o->tries = (o->tries + 1u) & 15u;
	o->hits = (o->hits + hit) & 15u;
}

/* Counts the outcome in the bucket of the probability that was told, for
 * predictor_get_reliability(). */
static void reliability_count(
    struct predictor_reliability *r, float p, bool hit)
{
	int i = (int)(p * 10);

	i = i < 0 ? 0 : i > 9 ? 9 : i;
	r->n[i]++;
	r->predicted[i] += (double)p;
	r->used[i] += hit;
}

/* The outcome teaches the cell by which it was told first, and the one by which
 * it was told last: its features change while it waits. Where odds made it,
 * outcome.c teaches them, at another time. */
static void cand_teach(struct predictor *p, const struct cand *c, bool hit)
{
	if (c->by_odds || !has_part(p, PREDICTOR_PART_CALIBRATION))
		return;
	calib_learn(p->calib, c->last_cell, hit);
	if (c->first_cell != c->last_cell)
		calib_learn(p->calib, c->first_cell, hit);
	calib_learn_told(p->calib, c->told_p, hit);
}

/* The outcome of a candidate is known: it is counted, and the slot is free. */
static void cand_decide(
    struct predictor *p, struct stream *s, struct cand *c, bool hit)
{
	if (c->told_p > 0) {
		struct object *o = objects_at(p->objects, c->object);

		cand_teach(p, c, hit);
		object_outcome(o, hit);
		/* An average over the last twenty or so. */
		if (c->source == PREDICTOR_FROM_NAMES)
			s->guess_share += 0.05f * ((float)hit - s->guess_share);
		reliability_count(&p->reliability, c->told_corrected, hit);
		p->used_by[c->source] += hit;
	}
	stream_cand_set(s, c, OBJECT_NONE);
}

/* Its time is over. It counts as a hit if any stream used it, since there is
 * one cache for all. */
static void cand_expire(struct predictor *p, struct stream *s, struct cand *c)
{
	const struct object *o = objects_at(p->objects, c->object);

	cand_decide(p, s, c, !c->rest && o->seen_at > c->born_at);
}

uint8_t cands_hit(struct predictor *p, struct stream *s, uint32_t object)
{
	struct cand *c = stream_cand(s, object);
	uint8_t told = 0;

	/* Telling it with a lower probability was no more than a try. */
	s->foreseen = c != NULL && c->told_p > 0.3f;
	s->by_names = s->foreseen && c->source == PREDICTOR_FROM_NAMES;
	if (c) {
		told = c->told_needs;
		cand_decide(p, s, c, !c->rest);
	}
	return told;
}

void cands_enter(struct predictor *p, struct stream *s, uint32_t dir)
{
	const struct dir *d = names_at(p->names, dir);
	uint32_t own = d->parent == DIR_NONE
			   ? OBJECT_NONE
			   : place_find(p, d->parent, d->name);
	struct cand *c = own == OBJECT_NONE ? NULL : stream_cand(s, own);

	if (c && c->source == PREDICTOR_FROM_NAMES)
		cand_decide(p, s, c, true);
}

void cands_rest_hit(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs)
{
	struct cand *c = stream_cand(s, object);

	if (c && c->rest && c->needs & needs)
		cand_decide(p, s, c, true);
}

/* Whether the rest of an access comes is learned by data or not, program or
 * not, and the object's history. */
void cands_rest(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs)
{
	const struct object *o = objects_at(p->objects, object);
	struct cand *c = cands_make(p, s, object, 0);
	unsigned parent = REST_PARENT +
			  (needs & PREDICTOR_NEEDS_DATA ? 8u : 0) +
			  (o->exec ? 4u : 0) + history_bucket(o);

	c->rest = true;
	c->needs = needs;
	c->source = PREDICTOR_FROM_TRAIL;
	c->cell = (calib_cell)(parent * CALIB_FINE + o->count % CALIB_FINE);
	cands_set(p, s, c, calib_p(p->calib, c->cell, 0.8f));
}

void cands_sweep(struct predictor *p, struct stream *s)
{
	for (int i = 0; i < SWEEP; i++) {
		struct cand *c = &s->cands[s->sweep++ % CANDS];

		if (c->object != OBJECT_NONE &&
		    (int32_t)(s->events - c->due) > LIFE_EVENTS)
			cand_expire(p, s, c);
	}
}

void cands_sweep_idle(struct predictor *p)
{
	struct stream *s = p->streams.at[p->events % p->streams.n];

	if (!s->pending || p->events - s->last_at < IDLE_EVENTS * s->spacing)
		return;
	cands_retire(p, s);
}

/* A candidate that was not due yet was neither right nor wrong: a job that
 * stops to think goes on where it was. */
void cands_retire(struct predictor *p, struct stream *s)
{
	for (int i = 0; i < CANDS; i++) {
		struct cand *c = &s->cands[i];

		if (c->object == OBJECT_NONE)
			continue;
		withdraw_cand(p, c);
		if ((int32_t)(c->due - s->events) > 0)
			stream_cand_set(s, c, OBJECT_NONE);
		else
			cand_expire(p, s, c);
	}
	s->pending = false;
}

uint8_t cands_lacks(const struct predictor *p, const struct stream *s,
    uint32_t object, uint8_t needs)
{
	const struct object *o = objects_at(p->objects, object);
	const struct stream *by;
	bool has;

	if (!o->seen_at)
		return needs;
	by = p->streams.at[o->stream];
	if (o->seen_at < by->made_at)
		return needs;
	if (p->recent_ns)
		has = o->seen_at >= p->recent.from && by->uid == s->uid;
	else
		has = by == s && o->seen_at >= s->began_at;
	return has ? (uint8_t)(needs & ~o->needs) : needs;
}

struct cand *cands_make(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t lead)
{
	struct cand *c = stream_cand_slot(s, object);
	bool in_news;

	if (c->object == object)
		return c;
	if (c->object != OBJECT_NONE)
		cand_expire(p, s, c);
	s->pending = true;
	in_news = c->in_news;
	*c = (struct cand){
	    .in_news = in_news, .born_at = p->events, .due = s->events + lead};
	stream_cand_set(s, c, object);
	return c;
}

/* How far ahead it is, in four steps. */
static unsigned lead_bucket(const struct stream *s, const struct cand *c)
{
	int32_t lead = (int32_t)(c->due - s->events);

	return lead <= 4 ? 0 : lead <= 12 ? 1 : lead <= 32 ? 2 : 3;
}

/* The strongest confidence and the most hits among the cursors that have it,
 * and the share of these cursors, weighed by confidence. */
static void cand_support(const struct stream *s, const struct cand *c,
    float *conf, float *agree, uint32_t *hits)
{
	float all = 0, with = 0;

	*conf = 0;
	*hits = 0;
	for (int i = 0; i < CURSORS; i++) {
		const struct cursor *k = &s->cursors[i];

		if (k->place == TRAIL_NONE)
			continue;
		all += k->conf;
		if (!(c->cursor_bits & 1u << i))
			continue;
		with += k->conf;
		if (k->conf > *conf)
			*conf = k->conf;
		if (k->hits > *hits)
			*hits = k->hits;
	}
	*agree = all > 0 ? with / all : 0;
}

bool cand_is_news(const struct cand *c)
{
	if (c->p < P_MIN)
		return false;
	return c->retell || c->withdrawn || c->p >= c->told_p + P_RISE ||
	       (c->told_p > 0 && c->needs & ~c->told_needs);
}

void cand_push(struct stream *s, struct cand *c)
{
	c->in_news = true;
	s->news[s->nnews++] = (uint16_t)(c - s->cands);
}

void cands_renew(struct predictor *p, struct stream *s, uint32_t object)
{
	struct cand *c = stream_cand(s, object);

	if (!c || c->told_p <= 0 || c->in_news || s->nnews == NEWS ||
	    c->told_at >= p->recent.from)
		return;
	c->retell = true;
	cand_push(s, c);
}

void cands_set(
    struct predictor *p, struct stream *s, struct cand *c, float prob)
{
	c->p = prob * feedback_discount(p, objects_at(p->objects, c->object));
	if (c->in_news || !cand_is_news(c))
		return;
	if (s->nnews == NEWS) {
		s->stale = true;
		return;
	}
	cand_push(s, c);
}

/* NULL if something better is known of the object. */
static struct cand *cand_guess(struct predictor *p, struct stream *s,
    uint32_t object, uint32_t lead, uint8_t needs, calib_cell cell, float prob)
{
	struct cand *c = cands_make(p, s, object, lead);

	/* The same guess may come to need more. */
	if (c->told_p > 0 && c->source == PREDICTOR_FROM_NAMES &&
	    needs & ~c->needs) {
		c->needs |= needs;
		cands_set(p, s, c, fmaxf(prob, c->p));
		return NULL;
	}
	if ((c->told_p > 0 || c->cursor_bits || c->graph_p > 0) && prob <= c->p)
		return NULL;
	c->source = PREDICTOR_FROM_NAMES;
	c->needs |= needs;
	c->cell = cell;
	c->by_odds = false;
	cands_set(p, s, c, prob);
	return c;
}

void cands_guess(struct predictor *p, struct stream *s, uint32_t object,
    uint32_t lead, uint8_t needs, calib_cell cell, float prob)
{
	(void)cand_guess(p, s, object, lead, needs, cell, prob);
}

void cands_odds(struct predictor *p, struct stream *s, uint32_t object,
    uint32_t lead, uint8_t needs, calib_cell cell, float prob,
    const struct nameodds_seen *seen, bool below)
{
	struct cand *c = cand_guess(p, s, object, lead, needs, cell, prob);

	if (!c)
		return;
	c->by_odds = true;
	outcome_wait(p, s, c, seen, below);
}

void cands_estimate(struct predictor *p, struct stream *s, struct cand *c)
{
	const struct object *o = objects_at(p->objects, c->object);
	float conf, agree, step;
	uint32_t hits;
	unsigned parent, fine;

	if (c->source == PREDICTOR_FROM_NAMES || c->rest)
		return;
	cand_support(s, c, &conf, &agree, &hits);
	if (conf <= 0 && c->graph_p <= 0) {
		c->p = 0;
		return;
	}
	step = conf > 0 ? fminf(1 + conf * CONF_STEPS, CONF_STEPS) : 0;
	parent = (unsigned)step * 16 + (agree > 0.5f) * 8u +
		 (unsigned)fminf(c->graph_p * 8, 7);
	fine = lead_bucket(s, c) * 16 + history_bucket(o) * 4 +
	       (hits < HITS_FEW       ? 0
		   : hits < HITS_SOME ? 1
		   : hits < HITS_MANY ? 2
				      : 3);
	c->cell = (calib_cell)(parent * CALIB_FINE + fine);
	c->source = conf > 0 ? PREDICTOR_FROM_TRAIL : PREDICTOR_FROM_GRAPH;
	/* The prior counts only until the cell has seen a few outcomes, so its
	 * weights hardly matter (forefetch-sim). */
	cands_set(p, s, c,
	    calib_p(p->calib, c->cell,
		fmaxf(conf * (0.3f + 0.6f * agree), c->graph_p * 0.8f)));
}
