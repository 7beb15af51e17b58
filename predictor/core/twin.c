/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Portable identity: a file whose last three path components equal those of
 * another file is its twin, in a second checkout or environment. A stream that
 * meets twins learns which directory stands for which, and reads old trails
 * through that.
 *
 *	known:     /src/git/builtin/log.c           twin_from = /src/git
 *	the event: /tmp/copy/builtin/log.c          twin_to   = /tmp/copy
 *	a trail with /src/git/refs.c then means     /tmp/copy/refs.c
 */
#include "predictor/core/core.h"

/* Directories between a file and the top of its checkout, at most. */
enum { LEVELS_MAX = 12 };

/* Multiplies by 2^64 over the golden ratio, as Knuth's hashing does. */
static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 31;
}

/* A hash of the last three names of the path; 0 if not all are known. */
static uint64_t object_suffix(const struct predictor *p, const struct object *o)
{
	const struct dir *d, *up;

	if (o->dir == DIR_NONE || !o->name)
		return 0;
	d = names_at(p->names, o->dir);
	if (d->parent == DIR_NONE || !d->name)
		return 0;
	up = names_at(p->names, d->parent);
	return mix(mix(mix(1, o->name), d->name), up->name);
}

void twin_forget(struct stream *s)
{
	s->twin_from = s->twin_to = s->maybe_twin_from = s->maybe_twin_to =
	    DIR_NONE;
}

/* Finds the directories in which the two paths first differ, seen from below.
 * One twin may be chance, so only a second one that agrees with it is believed.
 */
static bool twin_map(
    struct predictor *p, struct stream *s, uint32_t from, uint32_t to)
{
	for (int i = 0; i < LEVELS_MAX && from != to; i++) {
		const struct dir *a = names_at(p->names, from);
		const struct dir *b = names_at(p->names, to);

		if (a->name != b->name || a->parent == DIR_NONE ||
		    b->parent == DIR_NONE)
			break;
		from = a->parent;
		to = b->parent;
	}
	if (from == to)
		return false;
	if (s->maybe_twin_from == from && s->maybe_twin_to == to) {
		s->twin_from = from;
		s->twin_to = to;
	}
	s->maybe_twin_from = from;
	s->maybe_twin_to = to;
	return s->twin_from == from && s->twin_to == to;
}

/* The names from `dir` up to twin_from: how many, or -1 if it does not lie
 * below it. */
static int names_up(const struct predictor *p, const struct stream *s,
    uint32_t dir, uint32_t names[LEVELS_MAX])
{
	int n = 0;

	while (dir != s->twin_from) {
		const struct dir *d;

		if (dir == DIR_NONE || dir == s->twin_to || n == LEVELS_MAX)
			return -1;
		d = names_at(p->names, dir);
		names[n++] = d->name;
		dir = d->parent;
	}
	return n;
}

uint32_t twin_find(struct predictor *p, struct stream *s, uint32_t object)
{
	const struct object *o = objects_at(p->objects, object), *t;
	uint32_t names[LEVELS_MAX], twin;
	uint64_t suffix;

	if (o->count > 0) {
		/* The stream is back at the original: old trails mean what they
		 * say again. */
		if (s->twin_from != DIR_NONE &&
		    names_up(p, s, o->dir, names) >= 0)
			twin_forget(s);
		return OBJECT_NONE;
	}
	suffix = object_suffix(p, o);
	twin = suffix ? keymap_get(p->suffixes, suffix) : KEYMAP_NONE;
	if (twin == KEYMAP_NONE || twin == object)
		return OBJECT_NONE;
	t = objects_at(p->objects, twin);
	if (t->free || t->count == 0 || object_suffix(p, t) != suffix)
		return OBJECT_NONE;
	return twin_map(p, s, t->dir, o->dir) ? twin : OBJECT_NONE;
}

void twin_learn(struct predictor *p, uint32_t object)
{
	uint64_t suffix = object_suffix(p, objects_at(p->objects, object));

	if (suffix)
		keymap_put(p->suffixes, suffix, object);
}

void twin_drop(struct predictor *p, uint32_t id, const struct object *o)
{
	uint64_t suffix = object_suffix(p, o);

	if (suffix && keymap_get(p->suffixes, suffix) == id)
		keymap_del(p->suffixes, suffix);
}

uint32_t twin_translate(
    struct predictor *p, struct stream *s, uint32_t object, bool *wait)
{
	const struct object *o = objects_at(p->objects, object);
	uint32_t names[LEVELS_MAX], dir = s->twin_to, twin;
	int n;

	*wait = false;
	if (s->twin_from == DIR_NONE || o->dir == DIR_NONE)
		return object;
	n = names_up(p, s, o->dir, names);
	if (n < 0)
		return object;
	while (n > 0) {
		uint32_t down = names_below(p->names, dir, names[--n]);

		if (down == DIR_NONE) {
			*wait = want_listing(p, s, dir);
			return OBJECT_NONE;
		}
		dir = down;
	}
	twin = place_find(p, dir, o->name);
	if (twin == OBJECT_NONE)
		*wait = want_listing(p, s, dir);
	return twin;
}
