/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trees.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core.h"
#include "trees_private.h"

enum { LEVELS_MAX = 64, FIRST_TREES = 64 };
#define NOT_COUNTED (KEYMAP_NONE - 1)

/* A new handle under its name leaves a tree its id. */
static uint64_t object_id(const struct predictor *p, uint32_t object)
{
	const struct object *o = objects_at(p->objects, object);
	uint64_t id = o->key;
	uint32_t dir = o->dir;

	if (dir == DIR_NONE)
		return id;
	id = o->name;
	for (int i = 0; i < LEVELS_MAX; i++) {
		const struct dir *d = names_at(p->names, dir);
		uint64_t pair[2] = {
		    id, d->parent == DIR_NONE ? d->key : d->name};

		id = XXH3_64bits(pair, sizeof(pair));
		if (d->parent == DIR_NONE)
			break;
		dir = d->parent;
	}
	return id;
}

uint64_t trees_id(const struct predictor *p, uint32_t root, uint16_t owner)
{
	uint64_t pair[2] = {
	    object_id(p, root), owner ? wall_uid(&p->wall, owner) : TREES_ALL};
	uint64_t id = XXH3_64bits(pair, sizeof(pair));

	return id ? id : 1;
}

enum tree_step trees_step(
    struct trees_at *at, const struct trail_part *part, uint32_t i)
{
	const struct object *o;
	bool begins;

	if (i == 0 && !part->more) {
		at->run = at->program = OBJECT_NONE;
		at->owner = part->owner;
	}
	o = objects_at(at->p->objects, part->objects[i]);
	/* The number may mean another object by now. */
	if (o->free || part->ended_at < o->born_at)
		return TREE_NOTHING;
	/* Where the log has lost what was before, a run begins. */
	begins = at->run == OBJECT_NONE || (part->needs[i] & TRAIL_BEGINS) != 0;
	if (begins) {
		at->run = part->objects[i];
		at->program = OBJECT_NONE;
		return TREE_RUN;
	}
	if (!o->exec)
		return TREE_OBJECT;
	at->program = part->objects[i];
	return TREE_PROGRAM;
}

struct tree {
	struct predictor_tree t;
	uint32_t root;
	uint32_t used_at; /* event, about */
	uint16_t owner;
};

struct list {
	struct trees_at at;
	struct keymap *map; /* root and owner → tree */
	struct tree *trees;
	uint32_t n, cap;
	uint32_t run, program; /* those that go on, or NOT_COUNTED */
	uint16_t only;
};

static int list_push(struct list *l, const struct tree *t)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : FIRST_TREES;
		struct tree *more = realloc(l->trees, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->trees = more;
		l->cap = cap;
	}
	l->trees[l->n++] = *t;
	return 0;
}

static uint32_t list_tree(struct list *l, uint32_t root)
{
	uint64_t key = (uint64_t)root << 16 | l->at.owner;
	uint32_t i = keymap_get(l->map, key);

	if (i != KEYMAP_NONE)
		return i;
	if (keymap_put(l->map, key, l->n) ||
	    list_push(l, &(struct tree){.root = root, .owner = l->at.owner}))
		return KEYMAP_NONE;
	return l->n - 1;
}

/* A use of it begins. Of two, the later one says how large it is. */
static uint32_t list_begin(struct list *l, uint32_t root, uint32_t now)
{
	uint32_t i = list_tree(l, root);
	struct tree *t;

	if (i == KEYMAP_NONE)
		return i;
	t = &l->trees[i];
	t->t.uses++;
	if (now < t->used_at)
		return NOT_COUNTED;
	t->used_at = now;
	t->t.objects = 1;
	return i;
}

/* One more object of a tree that goes on, if it is to be counted. */
static void list_count(struct list *l, uint32_t tree)
{
	if (tree != NOT_COUNTED)
		l->trees[tree].t.objects++;
}

static int list_step(struct list *l, const struct trail_part *part, uint32_t i)
{
	enum tree_step step = trees_step(&l->at, part, i);
	uint32_t now = part->begun_at + i;

	if (step == TREE_NOTHING)
		return 0;
	if (step == TREE_RUN) {
		l->program = NOT_COUNTED;
		l->run = list_begin(l, l->at.run, now);
		return l->run == KEYMAP_NONE ? -ENOMEM : 0;
	}
	list_count(l, l->run);
	if (step == TREE_PROGRAM) {
		l->program = list_begin(l, l->at.program, now);
		return l->program == KEYMAP_NONE ? -ENOMEM : 0;
	}
	list_count(l, l->program);
	return 0;
}

static int list_on_part(void *ctx, const struct trail_part *part)
{
	struct list *l = ctx;
	int ret = 0;

	if (!trees_has(l->only, part))
		return 0;
	for (uint32_t i = 0; i < part->n && !ret; i++)
		ret = list_step(l, part, i);
	return ret;
}

static void tree_fill(const struct predictor *p, struct tree *t)
{
	const struct object *o = objects_at(p->objects, t->root);

	t->t.id = trees_id(p, t->root, t->owner);
	t->t.root = o->key;
	t->t.uid = t->owner ? wall_uid(&p->wall, t->owner) : TREES_ALL;
	t->t.age = p->events > t->used_at ? p->events - t->used_at : 0;
	t->t.program = o->exec;
}

/* Filled already: sessions are no part of the trails. */
static int list_sessions(struct list *l)
{
	struct predictor_tree t;
	int ret = 0;

	for (uint32_t i = 0; !ret && session_tree(l->at.p, i, l->only, &t); i++)
		if (t.id)
			ret = list_push(l, &(struct tree){.t = t});
	return ret;
}

static int tree_cmp(const void *a, const void *b)
{
	const struct predictor_tree *x = &((const struct tree *)a)->t;
	const struct predictor_tree *y = &((const struct tree *)b)->t;

	if (x->age != y->age)
		return x->age < y->age ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

ssize_t predictor_trees(const struct predictor *p, uint64_t uid,
    struct predictor_tree *out, size_t max)
{
	struct list l = {.at.p = p, .map = keymap_new(0)};
	ssize_t ret = -ENOMEM;

	if (l.map && trees_of(p, uid, &l.only))
		ret = trails_walk(p->trails, list_on_part, &l);
	else if (l.map)
		ret = 0;
	for (uint32_t i = 0; i < l.n; i++)
		tree_fill(p, &l.trees[i]);
	if (!ret && l.only)
		ret = list_sessions(&l);
	if (!ret) {
		if (l.n > 0)
			qsort(l.trees, l.n, sizeof(*l.trees), tree_cmp);
		for (uint32_t i = 0; i < l.n && i < max; i++)
			out[i] = l.trees[i].t;
		ret = (ssize_t)l.n;
	}
	keymap_free(l.map);
	free(l.trees);
	return ret;
}

bool trees_of(const struct predictor *p, uint64_t uid, uint16_t *only)
{
	*only = uid == TREES_ALL ? UINT16_MAX : wall_find(&p->wall, uid);
	return *only != 0;
}

bool trees_has(uint16_t only, const struct trail_part *part)
{
	return only == UINT16_MAX || (part->owner & only) != 0;
}
