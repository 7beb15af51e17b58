/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses by analogy: a stream that reads a/package.json and b/package.json
 * goes through the directories for the same name in each. So that name is
 * predicted in the next directories of the listing above; if their own listings
 * are not known, they are asked for.
 */
#include "predictor/core/core.h"

/* Half or double of BACK and AHEAD changes warm stalls by .002, cold ones by
 * .007 (forefetch-sim --calls, tuning half, 1 and 3 streams). */
enum {
	BACK = 6,   /* events since the same name was used elsewhere, at most */
	AHEAD = 12, /* directories that are looked into */
	FIRST_PARENT = 288, /* cells of the calibration: 16 parents from here */
};

/* The directory above the object's directory, or DIR_NONE. */
static uint32_t object_above(const struct predictor *p, const struct object *o)
{
	return o->dir == DIR_NONE ? DIR_NONE
				  : names_at(p->names, o->dir)->parent;
}

/* Whether the stream has just used the same name in a neighbour directory. */
static bool analog_goes_on(
    const struct predictor *p, const struct stream *s, const struct object *o)
{
	uint32_t above = object_above(p, o);

	for (uint32_t i = 1; i <= BACK && i <= s->events; i++) {
		const struct object *b =
		    objects_at(p->objects, s->recent[(s->events - i) % RECENT]);

		if (!b->free && b->name == o->name && b->dir != o->dir &&
		    object_above(p, b) == above)
			return true;
	}
	return false;
}

/* Makes the same name in a directory `distance` directories ahead a candidate.
 * The longer the stream has gone by analogy, the surer the guess is. */
static void analog_tell(struct predictor *p, struct stream *s, uint32_t object,
    uint8_t needs, uint32_t distance)
{
	const struct object *o = objects_at(p->objects, object);
	unsigned run = s->analogies < 15 ? s->analogies : 15;
	calib_cell cell;

	needs = cands_lacks(p, s, object, needs);
	if (!needs || o->absent)
		return;
	cell = (calib_cell)((FIRST_PARENT + run) * CALIB_FINE +
			    (distance - 1) * 2 + (o->count > 0));
	cands_guess(p, s, object, distance, needs, cell,
	    calib_p(p->calib, cell,
		run < 2   ? 0.1f
		: run < 4 ? 0.3f
			  : 0.5f));
	if (o->dir != DIR_NONE)
		below_guess(p, s, o->dir, o->name,
		    calib_p(p->calib, cell, 0.3f), distance + 1);
}

void analog_event(struct predictor *p, struct stream *s, uint32_t object)
{
	const struct object *o = objects_at(p->objects, object);
	uint32_t above = object_above(p, o), at, rank, name = o->name;
	const struct dir *d;

	if (above == DIR_NONE || !analog_goes_on(p, s, o)) {
		s->analogies -= s->analogies > 0 && !s->foreseen;
		return;
	}
	s->analogies += s->analogies < 255;
	d = names_at(p->names, above);
	at = place_find(p, above, names_at(p->names, o->dir)->name);
	if (at == OBJECT_NONE || !d->list)
		return;
	rank = objects_at(p->objects, at)->rank;
	for (uint32_t i = 1; i <= AHEAD && rank < d->n; i++) {
		uint32_t next, below, same;

		rank = names_next(d, rank, s->by_order);
		if (rank >= d->n)
			break;
		next = d->list[rank];
		if (next == OBJECT_NONE ||
		    !objects_at(p->objects, next)->directory)
			continue;
		below = names_find(p->names, objects_at(p->objects, next)->key);
		if (below == DIR_NONE)
			continue;
		same = place_find(p, below, name);
		if (same != OBJECT_NONE)
			analog_tell(p, s, same,
			    reads_need(p, s, objects_at(p->objects, same)), i);
		else if (s->analogies > 1)
			want_listing(p, s, below);
	}
}
