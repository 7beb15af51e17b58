/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A peer's objects, and which ones they are here. Keys are the server's, so
 * most objects have the same key; one whose name has another object here is
 * that object. */
#include <errno.h>

#include "predictor/persist/merge_private.h"
#include "predictor/persist/persist_format.h"

enum {
	LEVELS_MAX = 64,
	FEW = 8, /* of what takes longer than an object */
};

/* ---- which object it is ------------------------------------------------- */

/* The directory here, if it is known. */
static uint32_t dir_here(
    const struct predictor_merge *m, const struct predictor *p, uint32_t dir)
{
	return dir ? names_find(p->names, m->f->dir_key[dir - 1]) : DIR_NONE;
}

/* The key that the object has here, or will have; 0: it is left out. */
static uint64_t key_here(
    const struct predictor_merge *m, const struct predictor *p, size_t object)
{
	uint64_t key = m->f->object_key[object];
	uint32_t dir, there;

	if (objects_find(p->objects, key) != OBJECT_NONE)
		return key;
	if (p->gone[key % GONE] == key)
		return 0;
	dir = dir_here(m, p, m->f->object_dir[object]);
	if (dir == DIR_NONE)
		return key;
	there = place_find(p, dir, m->f->object_name[object]);
	return there == OBJECT_NONE ? key : objects_at(p->objects, there)->key;
}

int merge_resolve(struct predictor_merge *m, struct predictor *p)
{
	for (int i = 0; i < MERGE_STEP && m->at < m->f->n_object_key;
	     i++, m->at++) {
		uint64_t key = key_here(m, p, m->at);

		m->keys[m->at] = key;
		if (key && key != m->f->object_key[m->at] &&
		    keymap_put(m->by_key, key, (uint32_t)m->at))
			return -ENOMEM;
	}
	return m->at < m->f->n_object_key;
}

bool merge_counts(
    struct predictor_merge *m, const struct predictor *p, uint32_t object)
{
	if (!m->keys[object] || m->counted[object] ||
	    objects_find(p->objects, m->keys[object]) != OBJECT_NONE)
		return true;
	if (m->objects == 0)
		return false;
	m->objects--;
	m->counted[object] = true;
	return true;
}

/* ---- making ------------------------------------------------------------ */

/* Whether `dir` is `above`, or lies below it, or too deep to tell. */
static bool lies_below(const struct predictor *p, uint32_t dir, uint32_t above)
{
	for (int i = 0; i < LEVELS_MAX; i++) {
		if (dir == DIR_NONE)
			return false;
		if (dir == above)
			return true;
		dir = names_at(p->names, dir)->parent;
	}
	return true;
}

/* Finds the directory, or makes it while there is room; the caller places it.
 */
static uint32_t dir_find(
    struct predictor_merge *m, struct predictor *p, uint32_t at)
{
	uint64_t key = m->f->dir_key[at];
	uint32_t dir = names_find(p->names, key);

	if (dir == DIR_NONE && m->dirs_left > 0) {
		m->dirs_left--;
		dir = names_dir(p->names, key);
	}
	if (dir != DIR_NONE && m->f->dir_known[at] & m->theirs)
		names_at(p->names, dir)->met_by |= m->bit;
	m->dirs[at] = dir;
	m->dirs_made[at] = true;
	return dir;
}

/* The directory here; those above it are made as well. `at` counts from 1. */
static uint32_t dir_make(
    struct predictor_merge *m, struct predictor *p, uint32_t at)
{
	uint32_t first;

	if (!at)
		return DIR_NONE;
	if (m->dirs_made[at - 1])
		return m->dirs[at - 1];
	first = dir_find(m, p, at - 1);
	for (uint32_t dir = first; dir != DIR_NONE;) {
		uint32_t up = m->f->dir_parent[at - 1], above;
		bool made = up && m->dirs_made[up - 1];

		if (!up || names_at(p->names, dir)->parent != DIR_NONE)
			break;
		above = made ? m->dirs[up - 1] : dir_find(m, p, up - 1);
		if (above != DIR_NONE && !lies_below(p, above, dir))
			names_place(
			    p->names, dir, above, m->f->dir_name[at - 1]);
		dir = made ? DIR_NONE : above;
		at = up;
	}
	return first;
}

/* Nobody has used it here: all that the peer knows of it is news. */
static void object_fill(
    const struct predictor_merge *m, struct object *o, uint32_t at)
{
	uint32_t flags = m->f->object_flags[at];

	o->size = m->f->object_size[at];
	o->type = (uint16_t)m->f->object_type[at];
	o->exec = (flags & FLAG_EXEC) != 0;
	o->absent = (flags & FLAG_ABSENT) != 0;
	o->directory = (flags & FLAG_DIRECTORY) != 0;
	o->count = (uint8_t)(flags >> FLAG_COUNT);
	o->needs = flags >> FLAG_NEEDS & NEEDS_KEPT;
	o->first = (uint8_t)(flags >> FLAG_FIRST);
}

uint32_t merge_make(struct predictor_merge *m, struct predictor *p, uint32_t at)
{
	uint64_t key = m->keys[at];
	uint32_t id = key ? objects_find(p->objects, key) : OBJECT_NONE, dir;

	if (!key || id != OBJECT_NONE)
		return id;
	if (!m->counted[at])
		return OBJECT_NONE;
	dir = dir_make(m, p, m->f->object_dir[at]);
	/* Somebody may have come to know it since it was looked for. */
	id = dir == DIR_NONE ? OBJECT_NONE
			     : place_find(p, dir, m->f->object_name[at]);
	if (id != OBJECT_NONE)
		return id;
	id = objects_make(p->objects, key, p->events);
	if (id == OBJECT_NONE)
		return id;
	object_fill(m, objects_at(p->objects, id), at);
	objects_at(p->objects, id)->recent = true;
	objects_at(p->objects, id)->met_by = m->bit;
	m->stats.objects++;
	return dir == DIR_NONE
		   ? id
		   : place_object(p, id, dir, m->f->object_name[at]);
}

/* ---- what else is known of it ------------------------------------------ */

/* Of an object that is known here only the larger number of uses is taken: two
 * machines that merge from each other would count the same uses again. */
static void object_learn(
    struct predictor_merge *m, struct predictor *p, uint32_t at)
{
	uint32_t id = objects_find(p->objects, m->keys[at]);
	uint8_t count = (uint8_t)(m->f->object_flags[at] >> FLAG_COUNT);
	struct object *o;

	if (!m->keys[at] || id == OBJECT_NONE ||
	    !(m->f->object_known[at] & m->theirs))
		return;
	o = objects_at(p->objects, id);
	o->met_by |= m->bit;
	if (o->count == 0)
		object_fill(m, o, at);
	else if (o->count < count)
		o->count = count;
}

int merge_objects(struct predictor_merge *m, struct predictor *p)
{
	for (int i = 0; i < MERGE_STEP && m->at < m->f->n_object_key; i++)
		object_learn(m, p, (uint32_t)m->at++);
	return m->at < m->f->n_object_key;
}

/* The object here, if the user has met it and nothing is known of how it is
 * read. `at` counts from 1. */
static uint32_t unread(
    const struct predictor_merge *m, const struct predictor *p, uint32_t at)
{
	uint64_t key = m->keys[at - 1];
	uint32_t id = key ? objects_find(p->objects, key) : OBJECT_NONE;
	struct predictor_extent e;
	struct order_piece piece;

	if (id == OBJECT_NONE || extents_full(p->extents) ||
	    !(objects_at(p->objects, id)->met_by & m->bit) ||
	    !(m->f->object_known[at - 1] & m->theirs) ||
	    extents_get(p->extents, id, &e, 1) > 0 ||
	    extents_order(p->extents, id, &piece, 1) > 0)
		return OBJECT_NONE;
	return id;
}

int merge_extents(struct predictor_merge *m, struct predictor *p)
{
	const Forefetch__TreeFile *f = m->f;
	struct predictor_extent e[EXTENTS_MAX];

	for (int few = 0; few < FEW && m->at < f->n_extent_object; few++) {
		uint32_t object = f->extent_object[m->at];
		uint32_t id = unread(m, p, object);
		size_t n = 0;

		for (; n < EXTENTS_MAX && m->at < f->n_extent_object &&
		       f->extent_object[m->at] == object;
		     m->at++)
			e[n++] = (struct predictor_extent){
			    .offset_bytes = f->extent_offset[m->at],
			    .stride_bytes = f->extent_stride[m->at],
			    .length_bytes = f->extent_length[m->at],
			    .count = f->extent_count[m->at]};
		if (id != OBJECT_NONE)
			extents_set(p->extents, id, e, n);
	}
	return m->at < f->n_extent_object;
}

int merge_orders(struct predictor_merge *m, struct predictor *p)
{
	const Forefetch__TreeFile *f = m->f;

	for (int few = 0; few < FEW && m->at < f->n_order_object; few++) {
		uint32_t id = unread(m, p, f->order_object[m->at]);
		const ProtobufCBinaryData *b = &f->order_pieces[m->at++];

		/* An order that makes no sense is left out. */
		if (id != OBJECT_NONE)
			(void)extents_order_set(
			    p->extents, id, b->data, b->len);
	}
	return m->at < f->n_order_object;
}
