/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Observing, the way of one event:
 *
 *	object_learn     what the call says of the object, and its place
 *	sessions_event   the session that it belongs to
 *	access_find      more of an access that has begun ends here
 *	streams_choose   whose it is
 *	cands_hit        was it predicted?
 *	follow, relate, guess, analog   what will come: candidates
 *	stream_take      the log, and what the stream knows
 *	cands_sweep      candidates whose time is over
 */
#include <string.h>

#include "predictor/core/core.h"
#include "predictor/core/fit.h"

/* Bounds for the pace of a stream: a shorter gap would have all predicted at
 * once, a longer one is no pace but a pause for thought. */
#define PACE_MIN_NS 20000
#define PACE_MAX_NS 5000000

/* Takes over what the call says of the object itself. */
static void object_set(struct object *x, const struct predictor_obs *o)
{
	x->recent = true;
	x->absent = o->kind == PREDICTOR_ABSENT;
	/* No evidence of a program is not evidence of no program. */
	if (o->exec)
		x->exec = true;
	if (o->directory || o->kind == PREDICTOR_READDIR)
		x->directory = true;
	/* A file may have come in the place of a directory. */
	if (o->kind == PREDICTOR_READ)
		x->directory = false;
	if (o->kind == PREDICTOR_READ || o->size_bytes)
		x->size = o->size_bytes < UINT32_MAX ? (uint32_t)o->size_bytes
						     : UINT32_MAX;
	if (o->type_hash)
		x->type = (uint16_t)o->type_hash;
}

/* Learns what the call says of the object. Returns its number, which is the old
 * one's where a new handle has an old name. */
static uint32_t object_learn(struct predictor *p, uint32_t id,
    const struct predictor_obs *o, uint16_t bit)
{
	uint32_t dir = o->parent ? names_dir(p->names, o->parent) : DIR_NONE;
	struct object *x;

	if (dir != DIR_NONE && o->name_hash)
		id = place_object(p, id, dir, o->name_hash);
	x = objects_at(p->objects, id);
	if (dir != DIR_NONE && x->dir == DIR_NONE)
		x->dir = dir;
	object_set(x, o);
	x->met_by |= bit;
	if (x->directory && o->parent && o->name_hash)
		predictor_place_dir(
		    p, o->uid, o->object, o->parent, o->name_hash);
	wall_open(p, dir, bit);
	return id;
}

/* The stream has come to another directory. */
static void stream_move(struct stream *s, const struct fit *f)
{
	if (s->moves > 0 &&
	    s->dirs[(s->moves - 1) % RECENT_DIRS][0] == f->dirs[0])
		return;
	memcpy(s->dirs[s->moves++ % RECENT_DIRS], f->dirs, sizeof(f->dirs));
}

/* Appends the access to the stream's trail. */
static void stream_log(struct predictor *p, struct stream *s, uint32_t id)
{
	struct object *x = objects_at(p->objects, id);
	bool lives =
	    s->tail != TRAIL_NONE && trails_holds(p->trails, s->tail, s->last);

	s->tail = trails_append(p->trails, lives ? s->tail : TRAIL_NONE,
	    &(struct trail_use){.object = id,
		.last = x->last,
		.now = p->events,
		.owner = s->uid_bit,
		.needs = x->needs,
		.begins = s->begins});
	s->begins = false;
	x->last = s->tail;
}

/* Learns how fast the stream would go if all its calls were answered at once;
 * the newest gap counts a sixteenth. */
static void stream_pace(struct stream *s, const struct predictor_obs *o)
{
	uint64_t ns = o->now_ns - s->began_ns;

	if (s->events > 0 && o->now_ns > s->began_ns) {
		ns = ns > s->waited_ns ? ns - s->waited_ns : 0;
		if (ns < PACE_MIN_NS)
			ns = PACE_MIN_NS;
		if (ns > PACE_MAX_NS)
			ns = PACE_MAX_NS;
		s->access_ns = s->access_ns
				   ? s->access_ns - s->access_ns / 16 + ns / 16
				   : ns;
	}
	s->began_ns = o->now_ns;
	s->waited_ns = o->latency_ns;
}

/* The access becomes part of the stream. */
static void stream_take(struct predictor *p, struct stream *s,
    const struct predictor_obs *o, const struct fit *f)
{
	uint32_t id = f->object;
	struct object *x = objects_at(p->objects, id);

	if (!scan_guards(p, s, id))
		stream_log(p, s, id);
	x->seen_at = p->events;
	x->stream = (uint8_t)s->number;
	if (x->count == 0)
		twin_learn(p, id);
	if (x->count < UINT8_MAX)
		x->count++;
	s->recent[s->events % RECENT] = id;
	s->events++;
	s->last = id;
	s->last_at = p->events;
	stream_pace(s, o);
	stream_move(s, f);
	s->reply_ns = o->now_ns + o->latency_ns;
}

/* A run begins after a pause: what was to come before it will not. */
static void stream_begin(struct predictor *p, struct stream *s)
{
	s->began_at = p->events;
	s->begins = true;
	s->walk_lists = s->scans = false;
	s->walk_needs = s->trail_needs = s->reads_more = 0;
	s->kinds_used = s->kinds_read = 0;
	s->names_ahead = s->momentum = s->unseen = 0;
	s->analogies = 0;
	twin_forget(s);
	cands_retire(p, s);
}

/* Names ahead will need what the access before this one came to need. */
static void stream_look_back(struct predictor *p, struct stream *s)
{
	const struct object *x;

	if (s->last == OBJECT_NONE)
		return;
	x = objects_at(p->objects, s->last);
	if (x->free || x->directory || x->absent)
		return;
	s->walk_needs = x->needs;
	reads_count(p, s, x);
	if (!s->trail_needs)
		return;
	if (!(x->needs & ~s->trail_needs & PREDICTOR_NEEDS_DATA))
		s->reads_more = 0;
	else if (s->reads_more < UINT8_MAX)
		s->reads_more++;
}

/* Makes candidates of the objects that the access makes likely. */
static void predict_from(
    struct predictor *p, struct stream *s, uint32_t id, uint8_t needs)
{
	uint32_t twin = has_part(p, PREDICTOR_PART_TWINS) ? twin_find(p, s, id)
							  : OBJECT_NONE;

	if (has_part(p, PREDICTOR_PART_TRAILS))
		follow_event(p, s, id, twin);
	if (has_part(p, PREDICTOR_PART_GRAPH))
		relate_event(p, s, id, twin);
	if (has_part(p, PREDICTOR_PART_NAMES))
		guess_event(p, s, id, needs);
	if (has_part(p, PREDICTOR_PART_ANALOGIES))
		analog_event(p, s, id);
}

/* A new access, of the object `f->object`. */
static void observe_access(struct predictor *p, const struct predictor_obs *o,
    struct fit *f, uint16_t bit)
{
	struct stream *s;
	uint32_t id = f->object;
	uint8_t told;

	s = streams_choose(p, o, f);
	s->uid_bit = bit;
	s->spacing = f->spacing;
	if (stream_paused(s, o->now_ns))
		stream_begin(p, s);
	stream_look_back(p, s);
	told = cands_hit(p, s, id);
	p->led = stream_is_led(s) ? PREDICTOR_LED : PREDICTOR_NOT_LED;
	predict_from(p, s, id, access_needs(o->kind));
	access_begin(p, s, id, o, told);
	stream_take(p, s, o, f);
	below_fresh(p, s);
	outcome_event(p);
	cands_sweep(p, s);
	cands_sweep_idle(p);
	p->now = s;
}

void predictor_observe(struct predictor *p, const struct predictor_obs *o)
{
	uint16_t bit = wall_bit(&p->wall, o->uid);
	struct stream *s;
	struct fit f;
	uint32_t id;

	p->now = NULL;
	p->led = PREDICTOR_GOES_ON;
	p->nwithdrawn = 0;
	if (o->kind >= PREDICTOR_KINDS || !o->object)
		return;
	if (p->scan)
		scan_room(p, o->object);
	id = objects_make(p->objects, o->object, p->events + 1);
	if (id == OBJECT_NONE)
		return;
	id = object_learn(p, id, o, bit);
	/* Without a bit nobody could tell whose session it is. */
	if (bit)
		sessions_event(
		    p->sessions, o, id, access_needs(o->kind), p->events + 1);
	s = access_find(p, id, o);
	if (!s)
		p->events++;
	p->recent_ns = o->recent_ns;
	recent_event(&p->recent, p->events, o->now_ns, o->recent_ns);
	if (s) {
		access_continue(p, s, id, o);
		below_fresh(p, s);
		p->now = s;
		return;
	}
	fit_init(&f, p, id, streams_event(&p->streams, o->actor, p->events));
	observe_access(p, o, &f, bit);
}
