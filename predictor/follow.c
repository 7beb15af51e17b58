/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Following trails. A stream has up to four cursors on older trails that
 * went like it, which are the pattern trees of Lei and Duchamp, compared up
 * to the pivot; what lies ahead of them is to come.
 */
#include <math.h>

#include "core.h"

enum {
	REACH = 24,    /* entries ahead in which an event may lie */
	DEPTH_MIN = 8, /* entries ahead that are predicted */
	DEPTH_MAX = 60,
	MISSES_MAX = 10, /* in a row, and a cursor is given up */
	TRIES = 6,       /* older places of an object that are looked at */
	CONTEXT = 8,     /* entries before a place that are compared */
	STEPS = 24,      /* entries that one event may add, a cursor */
};

static void cursor_drop(struct stream *s, int i)
{
	if (s->cursors[i].place == TRAIL_NONE)
		return;
	s->cursors[i].place = TRAIL_NONE;
	for (int j = 0; j < CANDS; j++)
		s->cands[j].mask &= (uint8_t) ~(1u << i);
}

static void cursor_set_conf(struct stream *s, struct cursor *k, float conf)
{
	/* What falls is not told again. */
	if ((int)(conf * 7) > (int)(k->conf * 7))
		s->stale = true;
	k->conf = conf;
}

/* The object within reach of the cursor. */
static bool cursor_find(
    const struct trails *t, struct cursor *k, uint32_t object, uint32_t twin)
{
	uint32_t at = k->place;

	for (uint32_t i = 1; i <= REACH; i++) {
		at = trails_next(t, at);
		if (at == TRAIL_NONE)
			return false;
		if (trails_object(t, at) == object ||
		    trails_object(t, at) == twin) {
			k->place = at;
			k->ahead = k->ahead > i ? k->ahead - i : 0;
			if (k->ahead == 0)
				k->horizon = at;
			return true;
		}
	}
	return false;
}

static void cursor_move(struct predictor *p, struct stream *s, int i,
    uint32_t object, uint32_t twin)
{
	struct cursor *k = &s->cursors[i];

	if (k->place == TRAIL_NONE)
		return;
	if (cursor_find(p->trails, k, object, twin)) {
		k->hits++;
		k->missed = 0;
		if (k->hits == 2 || k->hits == 5 || k->hits == 16)
			s->stale = true;
		cursor_set_conf(s, k, k->conf + 0.15f * (1 - k->conf));
		return;
	}
	cursor_set_conf(s, k, k->conf * 0.88f);
	if (++k->missed > MISSES_MAX || k->conf < 0.05f)
		cursor_drop(s, i);
}

static bool stream_recent(const struct stream *s, uint32_t object)
{
	for (int i = 0; i < CONTEXT; i++)
		if (s->recent[(s->events - 1 - (uint32_t)i) % RECENT] == object)
			return true;
	return false;
}

/* How much what came before a place is like what the stream did: 0 to 1. */
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

static bool cursor_at(const struct stream *s, uint32_t place)
{
	for (int i = 0; i < CURSORS; i++)
		if (s->cursors[i].place == place)
			return true;
	return false;
}

/* A cursor at `place`, if it is better than the least there is. */
static void cursor_anchor(
    struct predictor *p, struct stream *s, uint32_t place, bool root)
{
	int least = 0;
	float conf;

	if (place == TRAIL_NONE || cursor_at(s, place) ||
	    trails_next(p->trails, place) == TRAIL_NONE)
		return;
	conf = 0.8f * place_context(p, s, place);
	if (root && conf < 0.5f)
		conf = 0.5f;
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
	cursor_drop(s, least);
	s->cursors[least] =
	    (struct cursor){.place = place, .horizon = place, .conf = conf};
}

/* Older places of the object: behind the same neighbour, then by age. */
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

static void cursor_extend(struct predictor *p, struct stream *s, int i)
{
	struct cursor *k = &s->cursors[i];
	uint32_t depth, left = STEPS;

	if (k->place == TRAIL_NONE)
		return;
	depth =
	    DEPTH_MIN + (uint32_t)(k->conf * k->conf * (DEPTH_MAX - DEPTH_MIN));
	if (k->hits < 2 && depth > 32)
		depth = 32;
	while (k->ahead < depth && left-- > 0) {
		uint32_t at = trails_next(p->trails, k->horizon);
		const struct object *o;
		uint32_t object;
		struct cand *c;
		bool wait, valid;

		if (at == TRAIL_NONE)
			break;
		object = trails_object(p->trails, at);
		o = objects_at(p->objects, object);
		/* The number may mean another object by now. */
		valid = !o->free && trails_time(p->trails, at) >= o->born_at;
		object =
		    valid ? twin_translate(p, s, object, &wait) : OBJECT_NONE;
		if (valid && wait)
			break;
		k->horizon = at;
		k->ahead++;
		if (object == OBJECT_NONE || cands_has(p, s, object))
			continue;
		c = cands_make(p, s, object, k->ahead);
		c->mask |= (uint8_t)(1u << i);
		c->source = PREDICTOR_FROM_TRAIL;
		cands_estimate(p, s, c);
	}
}

void follow_event(
    struct predictor *p, struct stream *s, uint32_t object, uint32_t twin)
{
	unsigned sure = 0;

	for (int i = 0; i < CURSORS; i++)
		cursor_move(p, s, i, object, twin);
	for (int i = 0; i < CURSORS; i++)
		sure += s->cursors[i].place != TRAIL_NONE &&
			s->cursors[i].missed == 0 && s->cursors[i].conf > 0.7f;
	if (sure < 2)
		stream_anchor(p, s, twin == OBJECT_NONE ? object : twin);
	for (int i = 0; i < CURSORS; i++)
		cursor_extend(p, s, i);
}
