/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Portable identity: a file whose last three path components are those of
 * another one is its twin in a second checkout or environment. A stream that
 * meets twins learns which directory stands for which (`from` → `to`), and
 * old trails are read through that.
 */
#include "predictor/core/core.h"

enum { LEVELS_MAX = 12 };

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 31;
}

/* 0 if not all three names are known. */
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
	s->from = s->to = s->maybe_from = s->maybe_to = DIR_NONE;
}

/* The directories in which two equal paths, seen from below, first differ.
 * One twin may be chance: two that agree are believed. */
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
	if (s->maybe_from == from && s->maybe_to == to) {
		s->from = from;
		s->to = to;
	}
	s->maybe_from = from;
	s->maybe_to = to;
	return s->from == from && s->to == to;
}

/* Names from `dir` up to the stream's `from`: how many, or -1. */
static int names_up(const struct predictor *p, const struct stream *s,
    uint32_t dir, uint32_t names[LEVELS_MAX])
{
	int n = 0;

	while (dir != s->from) {
		const struct dir *d;

		if (dir == DIR_NONE || dir == s->to || n == LEVELS_MAX)
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
		/* Back at the original: what is old means itself again. */
		if (s->from != DIR_NONE && names_up(p, s, o->dir, names) >= 0)
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
	uint32_t names[LEVELS_MAX], dir = s->to, twin;
	int n;

	*wait = false;
	if (s->from == DIR_NONE || o->dir == DIR_NONE)
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
