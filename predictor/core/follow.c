/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Following trails: a stream has up to four cursors on older trails that went
 * like it, and what lies ahead of a cursor is to come. Such a trail is the
 * pattern tree of Lei and Duchamp (1997), and the cursor's place is its pivot.
 *
 *	older trail   a b c d e f g h i j k ...
 *	                    ^ place     ^ horizon: candidates up to here
 *	                     <- ahead ->
 *	the stream    a x c d
 *
 * An event within REACH moves the cursor there and makes it surer. An event
 * that it does not have makes it less sure, and more than MISSES_MAX of them
 * in a row end it.
 *
 * The bounds were tried with forefetch-sim on the tuning half of the corpus,
 * at 1, 3 and 6 streams. Half or double of REACH, BACK, TRIES, CONTEXT, STEPS
 * or MISSES_MAX changes the warm stall by less than seeds do (.002), and so do
 * 0.75 to 0.96 for CONF_FALL and 0.05 to 0.4 for CONF_RISE.
 * DEPTH_MAX does matter: with 20 the warm stall of one stream goes from .019
 * to .028, with 90 waste rises by a tenth to a quarter.
 */
#include <math.h>

#include "predictor/core/core.h"

enum {
	REACH = 24,      /* entries ahead in which an event may lie */
	BACK = 8,        /* entries behind, where it came out of order */
	DEPTH_MIN = 8,   /* files ahead that are predicted, if unsure */
	DEPTH_MAX = 45,  /* the same if sure */
	DEPTH_NEW = 32,  /* the same at most, for a cursor with few hits */
	MISSES_MAX = 10, /* in a row, before a cursor is given up */
	TRIES = 6,       /* older places of an object that are looked at */
	CONTEXT = 8,     /* entries before a place that are compared */
	STEPS = 24,      /* files that one event may add to a cursor */
	STEPS_MAX = 96,  /* entries of any kind that it may add */
	/* The weight of a file. One whose name or attributes alone are needed
	 * weighs 1: such entries pass faster, so more of them must be ahead. */
	WEIGHT = 6,
	/* How far ahead an entry is looked at again: what was fresh when the
	 * horizon passed it may have to be confirmed by now. */
	AGAIN_MAX = 24,
	PEEK = 32,       /* entries whose listings are asked for at once */
	AHEAD_MAX = 360, /* entries; CANDS has room for other sources, too */
	READS_MORE = 3,  /* files read in a row that the trail only looked at */
};

/* The confidence of a cursor. A hit adds CONF_RISE of what it lacks to 1, a
 * miss leaves CONF_FALL of it, and below CONF_MIN the cursor is given up. A new
 * one begins with CONF_NEW times how well its context agrees, and at the root
 * of a tree with CONF_ROOT at least. CONF_NEW of 0.6 or 1 and CONF_SURE of 0.5
 * or 0.9 give the same stalls, too. */
#define CONF_RISE 0.15f
#define CONF_FALL 0.88f
#define CONF_MIN  0.05f
#define CONF_NEW  0.8f
#define CONF_ROOT 0.5f
/* Two such cursors are enough: no others are looked for then. */
#define CONF_SURE 0.7f

/* The load of an entry: a file whose data is needed is worth several names. */
static uint32_t entry_weight(const struct trails *t, uint32_t place)
{
	return trails_needs(t, place) & PREDICTOR_NEEDS_DATA ? WEIGHT : 1;
}

/* Gives the cursor up; what only this one had ahead is withdrawn. */
static void cursor_drop(struct predictor *p, struct stream *s, int i)
{
	uint8_t bit = (uint8_t)(1u << i);

	if (s->cursors[i].place == TRAIL_NONE)
		return;
	s->cursors[i].place = TRAIL_NONE;
	for (int j = 0; j < CANDS; j++) {
		struct cand *c = &s->cands[j];

		if (s->keys[j] == OBJECT_NONE || !(c->cursor_bits & bit))
			continue;
		c->cursor_bits &= (uint8_t)~bit;
		if (!c->cursor_bits && c->graph_p <= 0 &&
		    c->source == PREDICTOR_FROM_TRAIL)
			withdraw_cand(p, c);
	}
}

static void cursor_set_conf(struct stream *s, struct cursor *k, float conf)
{
	/* Estimates are made anew when it rises to another step. A candidate
	 * whose probability falls is not told again. */
	if ((int)(conf * CONF_STEPS) > (int)(k->conf * CONF_STEPS))
		s->stale = true;
	k->conf = conf;
}

/* Moves the cursor to the object, or its twin, if that is within reach. */
static bool cursor_find(
    const struct trails *t, struct cursor *k, uint32_t object, uint32_t twin)
{
	uint32_t at = k->place, load = 0;

	for (uint32_t i = 1; i <= REACH; i++) {
		at = trails_next(t, at);
		if (at == TRAIL_NONE)
			return false;
		load += entry_weight(t, at);
		if (trails_object(t, at) == object ||
		    trails_object(t, at) == twin) {
			k->place = at;
			k->ahead = k->ahead > i ? k->ahead - i : 0;
			k->weight = k->weight > load ? k->weight - load : 0;
			if (k->ahead == 0)
				k->horizon = at;
			return true;
		}
	}
	return false;
}

/* Whether the cursor has just passed the object: the calls of threads come out
 * of order. */
static bool cursor_passed(const struct trails *t, const struct cursor *k,
    uint32_t object, uint32_t twin)
{
	uint32_t at = k->place;

	for (int i = 0; i < BACK; i++) {
		at = trails_prev(t, at);
		if (at == TRAIL_NONE)
			return false;
		if (trails_object(t, at) == object ||
		    trails_object(t, at) == twin)
			return true;
	}
	return false;
}

/* The event moves the cursor, or makes it less sure. */
static void cursor_move(struct predictor *p, struct stream *s, int i,
    uint32_t object, uint32_t twin)
{
	struct cursor *k = &s->cursors[i];

	if (k->place == TRAIL_NONE)
		return;
	if (cursor_find(p->trails, k, object, twin)) {
		k->hits++;
		k->missed = 0;
		/* Here cands_estimate() has another bucket. */
		if (k->hits == HITS_FEW || k->hits == HITS_SOME ||
		    k->hits == HITS_MANY)
			s->stale = true;
		cursor_set_conf(s, k, k->conf + CONF_RISE * (1 - k->conf));
		return;
	}
	if (cursor_passed(p->trails, k, object, twin))
		return;
	cursor_set_conf(s, k, k->conf * CONF_FALL);
	if (++k->missed > MISSES_MAX || k->conf < CONF_MIN)
		cursor_drop(p, s, i);
}

/* Whether the object is among the last CONTEXT ones that the stream used. */
static bool stream_recent(const struct stream *s, uint32_t object)
{
	for (int i = 0; i < CONTEXT; i++)
		if (s->recent[(s->events - 1 - (uint32_t)i) % RECENT] == object)
			return true;
	return false;
}

/* How many of the entries before a place the stream has used, too: 0 to 1. */
static float place_context(
    const struct predictor *p, const struct stream *s, uint32_t place)
{
	unsigned same = 0, n = s->events < CONTEXT ? s->events : CONTEXT;
	uint32_t at = place;

	for (unsigned i = 0; i < n; i++) {
		at = trails_prev(p->trails, at);
		if (at == TRAIL_NONE)
			break;
		same += stream_recent(s, trails_object(p->trails, at));
	}
	return ((float)same + 0.5f) / ((float)n + 1);
}

/* Two cursors at one place would count the same evidence twice. */
static bool cursor_at(const struct stream *s, uint32_t place)
{
	for (int i = 0; i < CURSORS; i++)
		if (s->cursors[i].place == place)
			return true;
	return false;
}

/* Sets a cursor at `place` if it is surer than the least sure one there is. The
 * root of a tree, which is a program, is believed without context. */
static void cursor_anchor(
    struct predictor *p, struct stream *s, uint32_t place, bool root)
{
	int least = 0;
	float conf;

	if (place == TRAIL_NONE || cursor_at(s, place) ||
	    trails_next(p->trails, place) == TRAIL_NONE)
		return;
	conf = CONF_NEW * place_context(p, s, place);
	if (root && conf < CONF_ROOT)
		conf = CONF_ROOT;
	for (int i = 0; i < CURSORS; i++) {
		if (s->cursors[i].place == TRAIL_NONE) {
			least = i;
			break;
		}
		if (s->cursors[i].conf < s->cursors[least].conf)
			least = i;
	}
	if (s->cursors[least].place != TRAIL_NONE &&
	    s->cursors[least].conf >= conf)
		return;
	cursor_drop(p, s, least);
	s->cursors[least] =
	    (struct cursor){.place = place, .horizon = place, .conf = conf};
}

/* Tries older places of the object: first behind the same neighbour, then the
 * newest ones. */
static void stream_anchor(
    struct predictor *p, struct stream *s, uint32_t object)
{
	const struct object *o = objects_at(p->objects, object);
	uint32_t place = o->last;

	if (s->last != OBJECT_NONE)
		cursor_anchor(
		    p, s, trails_pair(p->trails, s->last, object), false);
	if (!trails_holds(p->trails, place, object))
		return;
	for (int i = 0; i < TRIES && place != TRAIL_NONE; i++) {
		cursor_anchor(p, s, place, o->exec);
		place = trails_earlier(p->trails, place);
	}
}

/* The weight that the cursor should have ahead: it grows with the square of the
 * confidence. */
static uint32_t cursor_depth(const struct predictor *p, const struct cursor *k)
{
	uint32_t depth =
	    DEPTH_MIN + (uint32_t)(k->conf * k->conf * (DEPTH_MAX - DEPTH_MIN));

	if (k->hits < HITS_FEW && depth > DEPTH_NEW)
		depth = DEPTH_NEW;
	return (uint32_t)((float)(depth * WEIGHT) * feedback_reach(p));
}

/* How many entries must be ahead so that they are asked for `lead_ns` before
 * their use; fewer if the cursor has often been wrong. */
static uint32_t cursor_ahead(
    const struct predictor *p, const struct stream *s, const struct cursor *k)
{
	float n;

	if (!p->lead_ns || !s->access_ns || k->hits < HITS_FEW)
		return 0;
	n = (float)p->lead_ns / (float)s->access_ns * k->conf * k->conf;
	return n < AHEAD_MAX ? (uint32_t)n : AHEAD_MAX;
}

/* The object that the entry means to the stream (twin.c). OBJECT_NONE if it
 * means nothing; `wait` is set if a listing has to come first. */
static uint32_t entry_object(
    struct predictor *p, struct stream *s, uint32_t at, bool *wait)
{
	uint32_t object = trails_object(p->trails, at);
	const struct object *o;

	*wait = false;
	if (object == TRAIL_NOTHING)
		return OBJECT_NONE;
	o = objects_at(p->objects, object);
	/* The number may mean another object by now. */
	if (o->free || trails_time(p->trails, at) < o->born_at)
		return OBJECT_NONE;
	return twin_translate(p, s, object, wait);
}

/* The needs that the entry had on the trail; and data, where the stream has
 * begun to read files that the trail only looked at: a linker looks at all its
 * files first, and then reads them in the same order. */
static uint8_t entry_needs(const struct predictor *p, const struct stream *s,
    uint32_t object, uint32_t at)
{
	const struct object *o = objects_at(p->objects, object);
	uint8_t needs = trails_needs(p->trails, at);

	if (s->reads_more < READS_MORE || o->directory || o->absent)
		return needs;
	return needs | reads_need(p, s, o);
}

/* Makes the entry a candidate, unless the stream has all of it. */
static void cursor_tell(struct predictor *p, struct stream *s, int i,
    uint32_t object, uint32_t at, uint32_t lead)
{
	uint8_t needs =
	    cands_lacks(p, s, object, entry_needs(p, s, object, at));
	struct cand *c;

	if (!needs)
		return;
	c = cands_make(p, s, object, lead);
	c->cursor_bits |= (uint8_t)(1u << i);
	c->needs |= needs;
	c->source = PREDICTOR_FROM_TRAIL;
	cands_estimate(p, s, c);
}

/* Moves the horizon one entry ahead; false if a listing has to come first. */
static bool cursor_step(
    struct predictor *p, struct stream *s, int i, uint32_t at)
{
	struct cursor *k = &s->cursors[i];
	bool wait;
	uint32_t object = entry_object(p, s, at, &wait);

	if (wait)
		return false;
	k->horizon = at;
	k->ahead++;
	k->weight += entry_weight(p->trails, at);
	if (object != OBJECT_NONE)
		cursor_tell(p, s, i, object, at, k->ahead);
	return true;
}

/* Looks again at entries 24, 12, 5 and 2 ahead: what the stream had when the
 * horizon passed them may be too old by now. */
static void cursor_look_again(struct predictor *p, struct stream *s, int i)
{
	const struct cursor *k = &s->cursors[i];
	uint32_t at = k->place;

	for (uint32_t n = 1; n <= AGAIN_MAX && n < k->ahead; n++) {
		uint32_t object;
		bool wait;

		at = trails_next(p->trails, at);
		if (at == TRAIL_NONE)
			return;
		if (n != 2 && n != 5 && n != 12 && n != AGAIN_MAX)
			continue;
		object = entry_object(p, s, at, &wait);
		if (object == OBJECT_NONE || wait)
			continue;
		cursor_tell(p, s, i, object, at, n);
		cands_renew(p, s, object);
	}
}

/* While one listing has to come, those behind it are asked for, too; else each
 * would cost a round trip. */
static void cursor_peek(struct predictor *p, struct stream *s, uint32_t at)
{
	for (int n = 0; n < PEEK; n++) {
		bool wait;

		at = trails_next(p->trails, at);
		if (at == TRAIL_NONE)
			return;
		entry_object(p, s, at, &wait);
	}
}

/* Moves the horizon as far ahead as it should be. */
static void cursor_extend(struct predictor *p, struct stream *s, int i)
{
	struct cursor *k = &s->cursors[i];
	uint32_t depth, end, ahead;

	if (k->place == TRAIL_NONE)
		return;
	depth = cursor_depth(p, k);
	ahead = cursor_ahead(p, s, k);
	end = k->weight + STEPS * WEIGHT;
	for (int n = 0; n < STEPS_MAX && k->weight < end &&
			(k->weight < depth || k->ahead < ahead);
	     n++) {
		uint32_t at = trails_next(p->trails, k->horizon);

		/* An access that came after a pause then need not come now. */
		if (at == TRAIL_NONE || trails_begins(p->trails, at))
			break;
		if (!cursor_step(p, s, i, at)) {
			cursor_peek(p, s, at);
			break;
		}
	}
	if (p->recent_ns)
		cursor_look_again(p, s, i);
}

void follow_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin)
{
	unsigned sure = 0;

	/* Two cursors that are sure are enough: no others are looked for. */
	for (int i = 0; i < CURSORS; i++)
		cursor_move(p, s, i, object, twin);
	for (int i = 0; i < CURSORS; i++)
		sure += s->cursors[i].place != TRAIL_NONE &&
			s->cursors[i].missed == 0 &&
			s->cursors[i].conf > CONF_SURE;
	if (sure < 2)
		stream_anchor(p, s, twin == OBJECT_NONE ? object : twin);
	for (int i = 0; i < CURSORS; i++)
		cursor_extend(p, s, i);
}
