/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From calls to accesses. An open is a LOOKUP, an ACCESS, a READ and whatever
 * else its client asks about the object right after. The first of these calls
 * is the event that trails know; the others say what the access needed. READs
 * further on in the file belong to the access that began it, however late they
 * come.
 */
#include "predictor/core/core.h"

enum {
	/* Accesses of the stream within which a call about the object belongs
	 * to the access that has begun; fewer if it asks for the same again.
	 * Half or double changes no stall by more than .002 (forefetch-sim
	 * --calls, tuning half, 1 and 3 streams). */
	MERGE = 16,
	AGAIN = 2,
};

uint8_t access_needs(enum predictor_kind kind)
{
	static const uint8_t needs[PREDICTOR_KINDS] = {
	    [PREDICTOR_READ] = PREDICTOR_NEEDS_DATA,
	    /* The reply has the attributes too. */
	    [PREDICTOR_LOOKUP] = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR,
	    [PREDICTOR_ABSENT] = PREDICTOR_NEEDS_ABSENCE,
	    [PREDICTOR_GETATTR] = PREDICTOR_NEEDS_ATTR,
	    [PREDICTOR_READDIR] = PREDICTOR_NEEDS_LISTING,
	    [PREDICTOR_ACCESS] = PREDICTOR_NEEDS_ATTR | PREDICTOR_NEEDS_ACCESS,
	};

	return needs[kind];
}

/* A READ further on in the file belongs to the access that began it. */
static bool is_inner_read(const struct predictor_obs *o)
{
	return o->kind == PREDICTOR_READ && o->offset_bytes > 0;
}

/* The object itself knows which stream used it last, and when: no stream has to
 * be searched for it. */
struct stream *access_find(
    struct predictor *p, uint32_t object, const struct predictor_obs *o)
{
	const struct object *x = objects_at(p->objects, object);
	struct stream *s;
	uint32_t within = AGAIN;

	if (!x->seen_at)
		return NULL;
	s = p->streams.at[x->stream];
	if (x->seen_at < s->made_at || !s->used || s->actor != o->actor ||
	    (p->opt.use_pids && o->pid && s->pid != o->pid))
		return NULL;
	if (is_inner_read(o))
		return s;
	/* A program that waits for a reply asks nothing else meanwhile, unless
	 * it is readahead, so this is another program. */
	if (s->reply_ns > o->now_ns && o->kind != PREDICTOR_READ)
		return NULL;
	if (x->seen_at < s->began_at || stream_paused(s, o->now_ns))
		return NULL;
	if (x->directory || access_needs(o->kind) & ~x->needs)
		within = MERGE;
	for (uint32_t i = 1; i <= within && i <= s->events; i++)
		if (s->recent[(s->events - i) % RECENT] == object)
			return s;
	return NULL;
}

/* Learns what the call says beyond its kind. */
static void access_learn(struct predictor *p, struct stream *s, uint32_t object,
    const struct predictor_obs *o)
{
	struct object *x = objects_at(p->objects, object);
	uint32_t units = (o->count_bytes + FIRST_UNIT - 1) / FIRST_UNIT;

	if (o->kind == PREDICTOR_READDIR)
		s->walk_lists = true;
	if (o->kind != PREDICTOR_READ)
		return;
	if (o->offset_bytes == 0 && units > 0)
		x->first = (uint8_t)(units < UINT8_MAX ? units : UINT8_MAX);
	extents_read(p->extents, object, o->offset_bytes, o->count_bytes,
	    x->first * (uint32_t)FIRST_UNIT);
}

void access_continue(struct predictor *p, struct stream *s, uint32_t object,
    const struct predictor_obs *o)
{
	struct object *x = objects_at(p->objects, object);
	uint8_t needs = access_needs(o->kind);

	x->needs |= needs;
	x->seen_at = p->events;
	if (trails_holds(p->trails, x->last, object))
		trails_add_needs(p->trails, x->last, needs);
	cands_rest_hit(p, s, object, needs);
	access_learn(p, s, object, o);
	/* No program waits for readahead. */
	if (is_inner_read(o)) {
		if (s->reply_ns < o->now_ns)
			s->reply_ns = o->now_ns;
		return;
	}
	s->waited_ns += o->latency_ns;
	s->reply_ns = o->now_ns + o->latency_ns;
}

/* The needs of the object at the places of the trail where the cursors stand.
 */
static uint8_t trail_expects(
    const struct predictor *p, const struct stream *s, uint32_t object)
{
	uint8_t needs = 0;

	for (int i = 0; i < CURSORS; i++) {
		const struct cursor *k = &s->cursors[i];

		if (k->place != TRAIL_NONE && k->missed == 0 &&
		    trails_object(p->trails, k->place) == object)
			needs |= trails_needs(p->trails, k->place);
	}
	return needs;
}

/* The needs that the access is expected to have: those of the trails, else
 * those of its last access, else those that the walk had of its neighbours. */
static uint8_t access_expects(
    const struct predictor *p, const struct stream *s, uint32_t object)
{
	const struct object *x = objects_at(p->objects, object);
	uint8_t needs = s->trail_needs;

	if (!needs && x->count > 0)
		needs = x->needs;
	if (!needs && !x->directory && x->dir != DIR_NONE &&
	    x->rank != RANK_NONE && names_run(names_at(p->names, x->dir)) > 1)
		needs = reads_need(p, s, x);
	return needs;
}

/* The call that begins the access is an event; needs that it does not show
 * become a candidate at once, so that the rest of the open finds its answers.
 */
void access_begin(struct predictor *p, struct stream *s, uint32_t object,
    const struct predictor_obs *o, uint8_t told)
{
	struct object *x = objects_at(p->objects, object);
	uint8_t needs = access_needs(o->kind), more;

	s->trail_needs = trail_expects(p, s, object);
	more = access_expects(p, s, object);
	more &= (uint8_t) ~(needs | told | PREDICTOR_NEEDS_ABSENCE);
	x->needs = needs;
	extents_begin(p->extents, object);
	access_learn(p, s, object, o);
	/* A READ comes last in an open, so the other calls will not come. */
	if (o->kind == PREDICTOR_READ)
		more &= PREDICTOR_NEEDS_LISTING;
	if (more && o->kind != PREDICTOR_ABSENT)
		cands_rest(p, s, object, more);
}
