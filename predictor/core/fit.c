/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fit of an object. The weights were searched for together with those of
 * stream.c; what most of them are exactly does not matter: half or double
 * changes the warm stall by less than seeds do. Two do: with 0.8 in place of
 * 0.42 for a vote it is a fifth higher at three streams, with 1.7 in place
 * of 3.5 for directories waste is.
 */
#include "predictor/core/fit.h"

#include <string.h>

/* Counts which streams have just used what stood near the object in older
 * trails. */
static void fit_vote(struct fit *f)
{
	enum { BEFORE = 10, VOTES_MAX = 8, LATELY = 512 };
	const struct predictor *p = f->p;
	uint32_t place = objects_at(p->objects, f->object)->last;

	if (!trails_holds(p->trails, place, f->object))
		return;
	for (int i = 0; i < PLACES && place != TRAIL_NONE; i++) {
		uint32_t at = place;

		for (int j = 0; j < BEFORE; j++) {
			const struct object *o;
			uint32_t id;

			at = trails_prev(p->trails, at);
			if (at == TRAIL_NONE)
				break;
			id = trails_object(p->trails, at);
			if (id == TRAIL_NOTHING)
				continue;
			o = objects_at(p->objects, id);
			if (j == 0)
				f->before[i] = id;
			if (o->seen_at &&
			    o->seen_at >= p->streams.at[o->stream]->made_at &&
			    p->events - o->seen_at < LATELY * f->spacing &&
			    f->votes[o->stream] < VOTES_MAX)
				f->votes[o->stream]++;
		}
		place = trails_earlier(p->trails, place);
	}
}

void fit_init(
    struct fit *f, struct predictor *p, uint32_t object, uint32_t spacing)
{
	uint32_t dir = objects_at(p->objects, object)->dir;

	memset(f, 0, sizeof(*f));
	f->p = p;
	f->object = object;
	f->spacing = spacing;
	memset(f->before, 0xff, sizeof(f->before));
	for (int i = 0; i < LEVELS; i++) {
		f->dirs[i] = dir;
		if (dir != DIR_NONE)
			dir = names_at(p->names, dir)->parent;
	}
	fit_vote(f);
}

/* Four directories at a time: this runs for each stream at each event. */
typedef uint32_t quad __attribute__((vector_size(16)));
enum { QUADS = RECENT_DIRS * LEVELS / 4 };
_Static_assert(QUADS * 4 == RECENT_DIRS * LEVELS, "whole quads");

/* The bit for a directory that both have, by how high it lies above the object
 * (row) and above where the stream has been (the levels of each directory, in
 * turn). The nearest common one has the highest bit. */
static const quad near_bits[LEVELS][QUADS] = {
    {{32, 16, 4, 32}, {16, 4, 32, 16}, {4, 32, 16, 4}},
    {{16, 8, 2, 16}, {8, 2, 16, 8}, {2, 16, 8, 2}},
    {{4, 2, 1, 4}, {2, 1, 4, 2}, {1, 4, 2, 1}},
};
static const float near_fit[] = {0, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.9f};

/* How near the object is to where the stream has been; nearer if it is where
 * the stream was last. */
static float fit_dirs(const struct fit *f, const struct stream *s)
{
	quad been[QUADS], bits = {0};
	uint32_t all;
	float fit;

	memcpy(been, s->dirs, sizeof(been));
	for (int a = 0; a < LEVELS && f->dirs[a] != DIR_NONE; a++) {
		quad dir = {f->dirs[a], f->dirs[a], f->dirs[a], f->dirs[a]};

		for (int i = 0; i < QUADS; i++)
			bits |= (quad)(been[i] == dir) & near_bits[a][i];
	}
	all = bits[0] | bits[1] | bits[2] | bits[3];
	fit = near_fit[all ? 32 - __builtin_clz(all) : 0];
	if (s->moves > 0 && f->dirs[0] != DIR_NONE &&
	    f->dirs[0] == s->dirs[(s->moves - 1) % RECENT_DIRS][0])
		fit += 0.4f;
	return fit;
}

float fit_score(const struct fit *f, const struct stream *s)
{
	const struct cand *c = stream_find_cand(s, f->object);
	float fit = 0.42f * (float)f->votes[s->number];

	if (c)
		fit += 0.8f + 2.4f * c->p;
	else if (s->last != OBJECT_NONE &&
		 (s->last == f->before[0] || s->last == f->before[1]))
		fit += 1.6f;
	return fit + 3.5f * fit_dirs(f, s);
}
