/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forgetting a uid or a tree: all trails are written anew without it, and the
 * graph grows again out of them. Streams begin anew, because the places that
 * they know are gone.
 */
#include <errno.h>
#include <stdlib.h>

#include "predictor/core/core.h"
#include "predictor/persist/persist.h"
#include "predictor/persist/trees_private.h"

struct clear {
	struct trees_at at;
	struct predictor *p;
	struct trails *trails; /* the new ones */
	struct graph *graph;   /* the same */
	bool *cut;             /* by object: it lost a use */
	uint64_t id;
	uint32_t tail;           /* of the new trail */
	uint32_t not_before;     /* event of its last entry */
	uint16_t only;           /* bits of uids */
	bool whole;              /* all that is theirs; else the tree `id` */
	bool in_run, in_program; /* the entry belongs to that tree */
};

/* Whether a tree with that root is the one to be forgotten. */
static bool clear_is_root(const struct clear *c, uint32_t root)
{
	return trees_id(c->p, root, c->at.owner) == c->id;
}

/* Whether the entry is to be forgotten. */
static bool clear_takes(
    struct clear *c, const struct trail_part *part, uint32_t i)
{
	switch (trees_step(&c->at, part, i)) {
	case TREE_NOTHING:
		return true;
	case TREE_RUN:
		c->in_run = clear_is_root(c, c->at.run);
		c->in_program = false;
		break;
	case TREE_PROGRAM:
		c->in_program = clear_is_root(c, c->at.program);
		break;
	case TREE_OBJECT:
		break;
	}
	if (!trees_part_is_of(c->only, part) ||
	    !(c->whole || c->in_run || c->in_program))
		return false;
	c->cut[part->objects[i]] = true;
	return true;
}

/* About when the entry was written: not before its object was made, nor before
 * the entries in front of it. */
static uint32_t clear_time(
    struct clear *c, const struct trail_part *part, uint32_t i)
{
	const struct object *o = objects_at(c->p->objects, part->objects[i]);

	if (c->not_before < o->born_at)
		c->not_before = o->born_at;
	if (c->not_before < part->begun_at + i)
		c->not_before = part->begun_at + i;
	return c->not_before;
}

/* Writes the part anew, without what is to be forgotten. */
static void clear_part(struct clear *c, const struct trail_part *part)
{
	if (!part->more) {
		c->tail = TRAIL_NONE;
		c->not_before = 0;
	}
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t object = part->objects[i];
		struct object *o = objects_at(c->p->objects, object);

		if (clear_takes(c, part, i))
			continue;
		c->tail = trails_append(c->trails, c->tail,
		    &(struct trail_use){.object = object,
			.last = o->last,
			.now = clear_time(c, part, i),
			.owner = part->owner,
			.needs = part->needs[i] & NEEDS_KEPT,
			.begins = (part->needs[i] & TRAIL_BEGINS) != 0});
		o->last = c->tail;
	}
}

/* The object becomes as if it was listed and never used. */
static void object_unuse(struct predictor *p, uint32_t id)
{
	struct object *o = objects_at(p->objects, id);

	twin_drop(p, id, o);
	extents_drop(p->extents, id);
	o->seen_at = 0;
	o->count = o->hits = o->tries = o->unused = 0;
	o->needs = o->first = 0;
}

/* Forgets what no trail has any more; and of a uid also what it only met. */
static void clear_objects(struct clear *c)
{
	uint16_t bit = c->whole ? c->only : 0;
	uint32_t end = objects_end(c->p->objects);

	for (uint32_t id = 0; id < end; id++) {
		struct object *o = objects_at(c->p->objects, id);

		if (o->free)
			continue;
		if (c->cut[id] && o->last == TRAIL_NONE)
			object_unuse(c->p, id);
		if (!(o->met_by & bit))
			continue;
		o->met_by &= (uint16_t)~bit;
		if (!o->met_by)
			objects_drop(c->p->objects, id);
	}
}

/* A listing that nobody else was shown goes with the uid; the directory itself
 * stays, since numbers of directories are never given up. */
static void clear_dirs(struct clear *c)
{
	for (uint32_t i = 0; i < names_count(c->p->names); i++) {
		struct dir *d = names_at(c->p->names, i);

		if (!(d->met_by & c->only))
			continue;
		d->met_by &= (uint16_t)~c->only;
		if (!d->met_by)
			names_set_list(c->p->names, i, NULL, NULL, 0);
	}
}

/* Streams know numbers of objects and places that mean nothing now. */
static void clear_streams(struct predictor *p)
{
	streams_reset(&p->streams);
	p->now = NULL;
	p->nwanted = 0;
}

/* Nothing can fail from here on, so either all of it is forgotten or nothing.
 */
static void clear_all(struct clear *c)
{
	struct predictor *p = c->p;
	uint32_t end = objects_end(p->objects);
	struct trail_part part;
	struct trails_at at;

	for (uint32_t id = 0; id < end; id++) {
		struct object *o = objects_at(p->objects, id);

		if (o->free)
			continue;
		o->last = TRAIL_NONE;
		o->edges = GRAPH_NONE;
	}
	trails_begin(p->trails, &at);
	while (trails_part(p->trails, &at, &part))
		clear_part(c, &part);
	trails_free(p->trails);
	graph_free(p->graph);
	p->trails = c->trails;
	p->graph = c->graph;
	p->era++;
	clear_streams(p);
	clear_objects(c);
	if (c->whole)
		clear_dirs(c);
}

/* Allocates all that the new trails and graph need before anything changes. */
static int clear_run(struct clear *c)
{
	struct predictor *p = c->p;

	c->cut = calloc(objects_end(p->objects) + 1, sizeof(*c->cut));
	c->trails = arena_trails(p->opt.budget_bytes);
	c->graph = arena_graph(p->opt.budget_bytes);
	if (c->cut && c->trails && c->graph) {
		clear_all(c);
		free(c->cut);
		return 0;
	}
	free(c->cut);
	trails_free(c->trails);
	graph_free(c->graph);
	return -ENOMEM;
}

int predictor_clear_uid(struct predictor *p, uint64_t uid)
{
	struct clear c = {.at.p = p, .p = p, .whole = true};
	int rc;

	if (uid == TREES_ALL)
		return predictor_clear(p);
	if (!trees_uid_bits(p, uid, &c.only))
		return -ENOENT;
	sessions_forget(p->sessions, uid);
	rc = clear_run(&c);
	if (rc == 0)
		*wall_brought(&p->wall, c.only) =
		    (struct brought){.since = p->events - p->imported};
	return rc;
}

/* 0 if the uid has such a tree, which can be shown then; or -errno. */
static int tree_find(const struct predictor *p, uint64_t uid, uint64_t id)
{
	struct trees_show *s = trees_show_new(p, uid, id, 0);
	const struct predictor_line *lines;
	bool more;
	size_t n;
	int ret;

	if (!s)
		return -ENOMEM;
	while (!trees_show_step(s, SIZE_MAX))
		;
	ret = trees_show_lines(s, &lines, &n, &more);
	trees_show_free(s);
	return ret;
}

int predictor_clear_tree(struct predictor *p, uint64_t uid, uint64_t id)
{
	struct clear c = {.at.p = p, .p = p, .id = id};
	uint32_t session;
	int ret;

	if (!trees_uid_bits(p, uid, &c.only))
		return -ENOENT;
	session = session_find(p, c.only, id);
	if (session != SESSION_NONE) {
		sessions_forget_book(p->sessions, session);
		return 0;
	}
	ret = tree_find(p, uid, id);
	return ret ? ret : clear_run(&c);
}
