/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the outcome of guesses from names, told or not. A hit shows at once, a
 * miss only when nothing came for long; whoever learned each when it shows
 * would believe for the whole of a first run that nearly all guesses come true.
 * So both are counted when a guess is WAIT events old.
 *
 *	guess ──▶ ring ──▶ WAIT events of its stream later: was it used?
 *	                     ├──▶ odds of its names and kinds   store/nameodds
 *	                     └──▶ its cell, what was told       store/calib
 */
#include "predictor/core/core.h"

enum {
	/* Accesses of its stream until a guess is decided. With 48 the stall of
	 * first runs is a tenth higher, at a third less waste (forefetch-sim,
	 * tuning half, with names). */
	WAIT = 200,
	WAIT_ALL = 8 * WAIT, /* the same in accesses of its actor */
	/* As many times WAIT_ALL, at most, where others are at work, too: all
	 * wait behind the oldest, and the ring holds GUESSES. */
	SPACING_MAX = 8,
	DECIDED_MAX = 32, /* by one event */
	AGAIN =
	    4, /* a guess that is made anew is remembered one time in four */
};

/* Whether it was used since. A directory was, too, if something in it was. */
static bool guess_hit(const struct predictor *p, const struct guess *g)
{
	const struct object *o = objects_at(p->objects, g->object);
	uint32_t dir;

	if (o->seen_at > g->made_at)
		return true;
	dir = o->directory ? names_find(p->names, o->key) : DIR_NONE;
	return dir != DIR_NONE && names_at(p->names, dir)->used > 0 &&
	       names_at(p->names, dir)->used_at > g->made_at;
}

/* Teaches the odds, the cell and the correction what became of the guess. A
 * name in a directory that was never entered says nothing of its place there.
 */
static void guess_decide(struct predictor *p, const struct guess *g)
{
	const struct object *o = objects_at(p->objects, g->object);
	bool hit, entered;

	/* Its number may mean another object by now. */
	if (o->free || o->born_at > g->made_at)
		return;
	hit = guess_hit(p, g);
	entered = !g->below ||
		  (o->dir != DIR_NONE && names_at(p->names, o->dir)->used > 0);
	if (has_part(p, PREDICTOR_PART_ODDS))
		nameodds_learn(p->odds, &g->seen, hit, entered);
	if (!has_part(p, PREDICTOR_PART_CALIBRATION))
		return;
	if (!g->below)
		calib_learn(p->calib, g->cell, hit);
	if (g->p >= P_MIN)
		calib_learn_told(p->calib, g->p, hit);
}

/* By the events of its stream, or, if that stopped, by those of all. */
static bool guess_is_due(const struct predictor *p, const struct guess *g)
{
	const struct stream *s = p->streams.at[g->stream];
	uint32_t spacing = s->spacing < SPACING_MAX ? s->spacing : SPACING_MAX;

	/* A stream that was made anew has fewer. */
	return s->events - g->at >= WAIT ||
	       p->events - g->made_at >= WAIT_ALL * spacing;
}

void outcome_wait(struct predictor *p, const struct stream *s,
    const struct cand *c, const struct nameodds_seen *seen, bool below)
{
	if (c->born_at != p->events && (c->object + p->events) % AGAIN)
		return;
	if (p->guesses_in - p->guesses_out == GUESSES)
		guess_decide(p, &p->guesses[p->guesses_out++ % GUESSES]);
	p->guesses[p->guesses_in++ % GUESSES] =
	    (struct guess){.object = c->object,
		.made_at = p->events,
		.at = s->events,
		.p = c->p,
		.cell = c->cell,
		.stream = (uint8_t)s->number,
		.below = below,
		.seen = *seen};
}

void outcome_event(struct predictor *p)
{
	for (int i = 0; i < DECIDED_MAX && p->guesses_out != p->guesses_in;
	     i++) {
		const struct guess *g = &p->guesses[p->guesses_out % GUESSES];

		if (!guess_is_due(p, g))
			return;
		guess_decide(p, g);
		p->guesses_out++;
	}
}
