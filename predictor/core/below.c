/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses in directories that are not entered yet, or whose listing has just
 * come: the names in them, by their odds.
 *
 *	package.json  ──▶  lib/ is likely to be entered  ──▶  lib/index.js is
 *	was used           (guess.c)                          likely, if it is
 *
 * Where the listing is not known, the directory is told with its listing, and
 * what is in it is guessed when that has come.
 */
#include "predictor/core/core.h"

/* A directory that is less likely to be entered is not looked into. */
#define ENTER_MIN 0.1f
/* How likely something in a directory is used that was itself used. */
#define ENTERED   0.8f

enum {
	NAMES_MAX =
	    32,   /* a larger directory is not guessed before it is used */
	BACK = 8, /* events since the directory was used, at most */
	FRESH_MAX = 32, /* events that a listing which came is thought of */
};

void below_guess(struct predictor *p, struct stream *s, uint32_t dir,
    uint32_t entry, float enter, uint32_t lead)
{
	const struct dir *d = names_at(p->names, dir);

	/* A walk over names goes into each directory by itself. */
	if (!has_part(p, PREDICTOR_PART_BELOW) || !d->list || d->used > 0 ||
	    d->n > NAMES_MAX || enter < ENTER_MIN ||
	    !(s->walk_needs & PREDICTOR_NEEDS_DATA))
		return;
	for (uint32_t i = 0; i < d->n && p->below_left > 0; i++) {
		struct nameodds_about about;
		struct nameodds_seen seen;
		uint8_t needs;

		if (d->list[i] == OBJECT_NONE ||
		    objects_at(p->objects, d->list[i])->directory)
			continue;
		needs = cands_lacks(p, s, d->list[i],
		    reads_need(p, s, objects_at(p->objects, d->list[i])));
		if (!needs)
			continue;
		p->below_left--;
		guess_about(p, d, d->list[i], 0, &about);
		about.below = true;
		about.entry = entry;
		cands_odds(p, s, d->list[i], lead, needs, 0,
		    nameodds_p(p->odds, &about, enter, &seen), &seen, true);
	}
}

void below_object(struct predictor *p, struct stream *s, uint32_t object,
    float enter, uint32_t lead)
{
	const struct object *o = objects_at(p->objects, object);
	uint32_t dir = o->directory ? names_find(p->names, o->key) : DIR_NONE;

	if (dir != DIR_NONE)
		below_guess(p, s, dir, 0, enter, lead);
}

void below_event(struct predictor *p, struct stream *s, uint32_t object)
{
	p->below_left = BELOW_NAMES;
	below_object(p, s, object, ENTERED, 1);
}

void below_listed(struct predictor *p, uint32_t dir)
{
	/* The oldest ones give way. */
	p->fresh[p->nfresh++ % FRESH] = (struct fresh){dir, p->events};
}

/* The object that the stream has used last in the directory, or the directory
 * itself. */
static uint32_t used_lately(
    const struct predictor *p, const struct stream *s, uint32_t dir)
{
	uint64_t key = names_key(p->names, dir);

	for (uint32_t i = 1; i <= BACK && i <= s->events; i++) {
		uint32_t id = s->recent[(s->events - i) % RECENT];
		const struct object *o = objects_at(p->objects, id);

		if (!o->free && (o->key == key || o->dir == dir))
			return id;
	}
	return OBJECT_NONE;
}

/* The listing has come of a directory that the stream has just used, or that it
 * is likely to enter. Returns whether it has to do with it at all. */
static bool fresh_guess(struct predictor *p, struct stream *s, uint32_t dir)
{
	const struct dir *d = names_at(p->names, dir);
	uint32_t last = used_lately(p, s, dir), own;
	const struct cand *c;

	if (last != OBJECT_NONE && objects_at(p->objects, last)->dir == dir) {
		guess_around(p, s, last);
		return true;
	}
	if (last != OBJECT_NONE) {
		below_guess(p, s, dir, 0, ENTERED, 1);
		return true;
	}
	own = d->parent == DIR_NONE ? OBJECT_NONE
				    : place_find(p, d->parent, d->name);
	c = own == OBJECT_NONE ? NULL : stream_cand(s, own);
	if (!c || c->source != PREDICTOR_FROM_NAMES)
		return false;
	below_guess(p, s, dir, 0, c->p, 2);
	return true;
}

void below_fresh(struct predictor *p, struct stream *s)
{
	uint32_t kept = 0;

	if (p->nfresh == 0 || stream_is_led(s))
		return;
	p->below_left = BELOW_NAMES;
	if (p->nfresh > FRESH)
		p->nfresh = FRESH;
	for (uint32_t i = 0; i < p->nfresh; i++) {
		struct fresh f = p->fresh[i];

		if (names_at(p->names, f.dir)->list &&
		    p->events - f.at <= FRESH_MAX && !fresh_guess(p, s, f.dir))
			p->fresh[kept++] = f;
	}
	p->nfresh = kept;
}
