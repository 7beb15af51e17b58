/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identity: an object is what its directory calls by its name. Editors save by
 * writing a new file and renaming it, so a new handle under an old name is the
 * old object with new contents, and keeps what was learned.
 */
#include "predictor/core/core.h"

/* Both halves are numbers of 32 bits; the key is never 0. */
static uint64_t place_key(uint32_t dir, uint32_t name)
{
	return ((uint64_t)dir + 1) << 32 | name;
}

uint32_t place_find(const struct predictor *p, uint32_t dir, uint32_t name)
{
	return keymap_get(p->places, place_key(dir, name));
}

void place_drop(struct predictor *p, uint32_t id, const struct object *o)
{
	if (o->dir != DIR_NONE && place_find(p, o->dir, o->name) == id)
		keymap_del(p->places, place_key(o->dir, o->name));
}

uint32_t place_object(
    struct predictor *p, uint32_t object, uint32_t dir, uint64_t name_hash)
{
	struct object *o = objects_at(p->objects, object);
	uint32_t name = (uint32_t)name_hash;
	uint32_t there = place_find(p, dir, name);
	uint64_t key = o->key;

	if (there == object)
		return object;
	if (there != OBJECT_NONE) {
		/* The known object goes on under the new handle. Whether it is
		 * a program is what the new handle says. */
		objects_at(p->objects, there)->exec = o->exec;
		objects_drop(p->objects, object);
		objects_rekey(p->objects, there, key);
		return there;
	}
	/* A hard link gives an object a second name; both lead to it. */
	if (o->dir == DIR_NONE || !(o->dir == dir && o->name == name)) {
		place_drop(p, object, o);
		if (o->dir != dir)
			o->rank = RANK_NONE;
		o->dir = dir;
		o->name = name;
	}
	keymap_put(p->places, place_key(dir, name), object);
	return object;
}
