/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listing trees: one walk over the trails counts the uses and objects of each
 * tree; then a heap keeps the newest ones.
 */
#include "predictor/persist/trees.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "predictor/core/core.h"
#include "predictor/persist/trees_private.h"
#include "predictor/store/vec.h"

enum { LEVELS_MAX = 64 };
/* In place of a tree whose present use is not counted. */
#define NOT_COUNTED (KEYMAP_NONE - 1)

/* A hash of the path as far as it is known, so that a tree keeps its id when
 * its root gets a new handle. */
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
	if (part->objects[i] == TRAIL_NOTHING)
		return TREE_NOTHING;
	o = objects_at(at->p->objects, part->objects[i]);
	/* The number may mean another object by now. */
	if (o->free || part->ended_at < o->born_at)
		return TREE_NOTHING;
	/* Where the log has lost what stood before, a run begins, too. */
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

/* A tree while it is counted. */
struct trees_entry {
	struct predictor_tree t;
	uint32_t root;
	uint32_t used_at; /* event of its last use, about */
	uint16_t owner;
};

struct trees_list {
	struct trees_at at;
	struct trails_at walk;
	struct keymap *map; /* root and owner → tree */
	struct trees_entry *trees;
	uint32_t n, cap;
	uint32_t run, program; /* trees that go on, or NOT_COUNTED */
	uint32_t *newest;      /* a heap of trees, the oldest one first */
	uint32_t nnewest, max;
	uint32_t looked; /* trees that the heap has seen */
	uint32_t era;
	int error;
	uint16_t only;
	bool walked;
};

/* The tree of that root and owner, made if there is none; KEYMAP_NONE without
 * memory. */
static uint32_t list_tree(struct trees_list *l, uint32_t root)
{
	uint64_t object = objects_at(l->at.p->objects, root)->key;
	uint64_t key = (uint64_t)root << 16 | l->at.owner;
	uint32_t i = keymap_get(l->map, key);

	/* The number may mean another object than when the tree was made. */
	if (i != KEYMAP_NONE)
		return l->trees[i].t.root == object ? i : NOT_COUNTED;
	if (!VEC_ROOM(l->trees, l->cap, l->n) || keymap_put(l->map, key, l->n))
		return KEYMAP_NONE;
	l->trees[l->n] = (struct trees_entry){
	    .root = root, .owner = l->at.owner, .t.root = object};
	return l->n++;
}

/* A use of the tree begins. The size is that of the use that began last. */
static uint32_t list_begin(struct trees_list *l, uint32_t root, uint32_t now)
{
	uint32_t i = list_tree(l, root);
	struct trees_entry *t;

	if (i == KEYMAP_NONE || i == NOT_COUNTED)
		return i;
	t = &l->trees[i];
	t->t.uses++;
	if (now < t->used_at)
		return NOT_COUNTED;
	t->used_at = now;
	t->t.objects = 1;
	return i;
}

/* One more object of the tree. */
static void list_count(struct trees_list *l, uint32_t tree)
{
	if (tree != NOT_COUNTED)
		l->trees[tree].t.objects++;
}

/* One entry of a trail: it begins a use of a tree, or counts in those that go
 * on. */
static int list_step(
    struct trees_list *l, const struct trail_part *part, uint32_t i)
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

/* ---- the newest trees ------------------------------------------------- */

/* Whether the tree at place `a` of the heap was used before that at `b`. */
static bool is_older(const struct trees_list *l, uint32_t a, uint32_t b)
{
	return l->trees[l->newest[a]].used_at < l->trees[l->newest[b]].used_at;
}

static void heap_swap(struct trees_list *l, uint32_t a, uint32_t b)
{
	uint32_t x = l->newest[a];

	l->newest[a] = l->newest[b];
	l->newest[b] = x;
}

/* Lets the top sink until nothing below it is older. */
static void heap_down(struct trees_list *l)
{
	for (uint32_t at = 0, least = 0;; at = least) {
		for (uint32_t k = 2 * at + 1; k <= 2 * at + 2; k++)
			if (k < l->nnewest && is_older(l, k, least))
				least = k;
		if (least == at)
			return;
		heap_swap(l, at, least);
	}
}

/* Keeps the tree if it is among the `max` that were used last, in logarithmic
 * time. */
static void heap_add(struct trees_list *l, uint32_t tree)
{
	uint32_t at = l->nnewest;

	if (l->nnewest == l->max) {
		if (l->max == 0 ||
		    l->trees[tree].used_at <= l->trees[l->newest[0]].used_at)
			return;
		l->newest[0] = tree;
		heap_down(l);
		return;
	}
	l->newest[l->nnewest++] = tree;
	for (; at > 0 && is_older(l, at, (at - 1) / 2); at = (at - 1) / 2)
		heap_swap(l, at, (at - 1) / 2);
}

/* Fills in what is shown of a tree; only trees that are shown need it. */
static void tree_fill(const struct predictor *p, struct trees_entry *t)
{
	const struct object *o = objects_at(p->objects, t->root);

	t->t.uid = t->owner ? wall_uid(&p->wall, t->owner) : TREES_ALL;
	t->t.age = p->events > t->used_at ? p->events - t->used_at : 0;
	/* Of a root that was forgotten meanwhile only the key is known. */
	if (o->free || o->key != t->t.root) {
		t->t.id = t->t.root;
		return;
	}
	t->t.id = trees_id(p, t->root, t->owner);
	t->t.program = o->exec;
}

static int tree_cmp(const void *a, const void *b)
{
	const struct predictor_tree *x = a, *y = b;

	if (x->age != y->age)
		return x->age < y->age ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* ---- the walk --------------------------------------------------------- */

struct trees_list *trees_list_new(
    const struct predictor *p, uint64_t uid, size_t max)
{
	struct trees_list *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->at.p = p;
	l->era = p->era;
	l->max = (uint32_t)max;
	l->map = keymap_new();
	l->newest = calloc(max + 1, sizeof(*l->newest));
	if (!l->map || !l->newest) {
		trees_list_free(l);
		errno = ENOMEM;
		return NULL;
	}
	l->walked = !trees_uid_bits(p, uid, &l->only);
	trails_begin(p->trails, &l->walk);
	return l;
}

void trees_list_free(struct trees_list *l)
{
	if (!l)
		return;
	keymap_free(l->map);
	free(l->newest);
	free(l->trees);
	free(l);
}

/* Looks at one part of a trail. */
static void list_part(struct trees_list *l)
{
	struct trail_part part;

	l->walked = !trails_part(l->at.p->trails, &l->walk, &part);
	if (l->walked || !trees_part_is_of(l->only, &part))
		return;
	for (uint32_t i = 0; i < part.n && !l->error; i++)
		l->error = list_step(l, &part, i);
}

bool trees_list_step(struct trees_list *l, size_t steps)
{
	if (l->era != l->at.p->era)
		l->error = -ESTALE;
	for (; steps > 0 && !l->error; steps--) {
		if (!l->walked)
			list_part(l);
		else if (l->looked < l->n)
			for (uint32_t i = 0; i < TRAIL_PART && l->looked < l->n;
			     i++)
				heap_add(l, l->looked++);
		else
			return true;
	}
	return l->error != 0;
}

/* Sessions are not in the trails. There are few, so all of them are added to
 * the newest trees. */
static size_t list_end(struct trees_list *l, struct predictor_tree *out)
{
	const struct predictor *p = l->at.p;
	struct predictor_tree t;
	size_t n = 0;

	for (uint32_t i = 0; i < l->nnewest; i++) {
		tree_fill(p, &l->trees[l->newest[i]]);
		out[n++] = l->trees[l->newest[i]].t;
	}
	for (uint32_t i = 0; l->only && session_tree(p, i, l->only, &t); i++) {
		if (!t.id)
			continue;
		out[n++] = t;
		l->n++;
	}
	qsort(out, n, sizeof(*out), tree_cmp);
	return n;
}

ssize_t trees_list_end(
    struct trees_list *l, struct predictor_tree *out, size_t *shown)
{
	size_t room = l->nnewest + SESSION_BOOKS + 1, n;
	struct predictor_tree *all;

	*shown = 0;
	if (!l->error && l->era != l->at.p->era)
		l->error = -ESTALE;
	if (l->error)
		return l->error;
	all = calloc(room, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = list_end(l, all);
	*shown = n < l->max ? n : l->max;
	if (*shown > 0)
		memcpy(out, all, *shown * sizeof(*out));
	free(all);
	return (ssize_t)l->n;
}

ssize_t predictor_trees(const struct predictor *p, uint64_t uid,
    struct predictor_tree *out, size_t max)
{
	struct trees_list *l = trees_list_new(p, uid, max);
	size_t shown;
	ssize_t ret;

	if (!l)
		return -ENOMEM;
	while (!trees_list_step(l, SIZE_MAX))
		;
	ret = trees_list_end(l, out, &shown);
	trees_list_free(l);
	return ret;
}

bool trees_uid_bits(const struct predictor *p, uint64_t uid, uint16_t *only)
{
	*only = uid == TREES_ALL ? UINT16_MAX : wall_find(&p->wall, uid);
	return *only != 0;
}

bool trees_part_is_of(uint16_t only, const struct trail_part *part)
{
	return only == UINT16_MAX || (part->owner & only) != 0;
}
