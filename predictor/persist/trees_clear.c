/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forgetting a uid or a tree, a step at a time. Its entries are cut out of the
 * trails where they stand, so all others keep their places and learning may go
 * on between two steps. The graph grows again out of the trails. Streams begin
 * anew, since they have seen what is forgotten.
 */
#include <errno.h>
#include <stdlib.h>

#include "predictor/core/core.h"
#include "predictor/persist/persist.h"
#include "predictor/persist/trees_private.h"

enum {
	STEP = 32,       /* directories or the like */
	FEW_OBJECTS = 8, /* each of which takes longer */
};

struct predictor_clear {
	struct trees_at at;
	struct predictor *p;
	struct trees_show *show; /* of the tree, until it is found */
	struct trails_at walk;
	bool *cut; /* by object: it lost a use */
	uint64_t id;
	uint32_t next; /* what the phase looks at next */
	uint32_t emptied;
	unsigned phase;
	int error;
	uint16_t only;           /* bits of uids */
	bool whole;              /* all that is theirs; else the tree `id` */
	bool walking;            /* `walk` has begun */
	bool in_run, in_program; /* the entry belongs to that tree */
};

/* ---- which entries ------------------------------------------------------ */

/* The uid must have such a tree that can be shown. */
static int clear_find(struct predictor_clear *c)
{
	const struct predictor_line *lines;
	bool more;
	size_t n;
	int rc;

	if (!c->show)
		return 0;
	if (!trees_show_step(c->show, 1))
		return 1;
	rc = trees_show_lines(c->show, &lines, &n, &more);
	trees_show_free(c->show);
	c->show = NULL;
	return rc;
}

static bool clear_is_root(const struct predictor_clear *c, uint32_t root)
{
	return trees_id(c->p, root, c->at.owner) == c->id;
}

/* Whether the entry is to be forgotten. */
static bool clear_takes(
    struct predictor_clear *c, const struct trail_part *part, uint32_t i)
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

/* Streams have seen what is forgotten, and the room behind their last places is
 * about to be given back. */
static void clear_streams(struct predictor *p)
{
	streams_reset(&p->streams);
	p->nwanted = 0;
}

static int clear_trails(struct predictor_clear *c)
{
	struct trails *t = c->p->trails;
	struct trail_part part;

	if (!c->walking)
		trails_begin(t, &c->walk);
	c->walking = trails_part(t, &c->walk, &part);
	if (!c->walking) {
		clear_streams(c->p);
		return 0;
	}
	for (uint32_t i = 0; i < part.n; i++)
		if (clear_takes(c, &part, i))
			trails_cut(t, part.place + i);
	return 1;
}

/* ---- what they were of -------------------------------------------------- */

/* The object becomes as if it was listed and never used. */
static void object_unuse(struct predictor *p, uint32_t id)
{
	struct object *o = objects_at(p->objects, id);

	twin_drop(p, id, o);
	extents_drop(p->extents, id);
	o->last = TRAIL_NONE;
	o->seen_at = 0;
	o->count = o->hits = o->tries = o->unused = 0;
	o->needs = o->first = 0;
}

static void clear_object(struct predictor_clear *c, uint32_t id)
{
	struct predictor *p = c->p;
	struct object *o = objects_at(p->objects, id);
	uint16_t bit = c->whole ? c->only : 0;

	if (o->free)
		return;
	if (o->edges != GRAPH_NONE)
		graph_drop(p->graph, o->edges);
	o->edges = GRAPH_NONE;
	if (c->cut[id]) {
		o->last = trails_mend(p->trails, id, o->last);
		if (!trails_holds(p->trails, o->last, id))
			object_unuse(p, id);
	}
	if (!(o->met_by & bit))
		return;
	o->met_by &= (uint16_t)~bit;
	if (!o->met_by)
		objects_drop(p->objects, id);
}

static int clear_objects(struct predictor_clear *c)
{
	uint32_t n = objects_end(c->p->objects);

	for (int i = 0; i < FEW_OBJECTS && c->next < n; i++)
		clear_object(c, c->next++);
	return c->next < n;
}

static int clear_dirs(struct predictor_clear *c)
{
	struct names *ns = c->p->names;

	if (!c->whole)
		return 0;
	for (int i = 0; i < STEP && c->next < names_count(ns); i++, c->next++) {
		struct dir *d = names_at(ns, c->next);

		if (!(d->met_by & c->only))
			continue;
		d->met_by &= (uint16_t)~c->only;
		if (!d->met_by)
			names_set_list(ns, c->next, NULL, NULL, 0);
	}
	return c->next < names_count(ns);
}

static int clear_room(struct predictor_clear *c)
{
	return trails_sweep(c->p->trails, &c->next, STEP);
}

/* ---- steps -------------------------------------------------------------- */

typedef int (*clear_phase)(struct predictor_clear *c);

static const clear_phase phases[] = {
    clear_find, clear_trails, clear_objects, clear_dirs, clear_room};

enum { PHASES = sizeof(phases) / sizeof(phases[0]) };

static void clear_end(struct predictor_clear *c)
{
	struct predictor *p = c->p;

	p->era++;
	if (c->whole)
		*wall_brought(&p->wall, c->only) =
		    (struct brought){.since = p->events - p->imported};
}

bool predictor_clear_step(struct predictor_clear *c, size_t steps)
{
	struct predictor *p = c->p;

	/* Meanwhile everything was forgotten, and so was this. */
	if (c->emptied != p->emptied)
		c->phase = PHASES;
	/* The stream and objects of the last event may be given up. */
	p->now = NULL;
	for (; steps > 0 && c->phase < PHASES && !c->error; steps--) {
		int rc = phases[c->phase](c);

		c->error = rc < 0 ? rc : 0;
		if (rc != 0)
			continue;
		c->next = 0;
		if (++c->phase == PHASES)
			clear_end(c);
	}
	return c->phase == PHASES || c->error;
}

int predictor_clear_error(const struct predictor_clear *c)
{
	return c->error;
}

void predictor_clear_free(struct predictor_clear *c)
{
	if (!c)
		return;
	trees_show_free(c->show);
	free(c->cut);
	free(c);
}

/* A session is a tree that has no entries, and is forgotten at once. */
static bool clear_begin(struct predictor_clear *c, uint64_t uid)
{
	struct predictor *p = c->p;
	uint32_t session;

	c->cut = calloc(objects_limit(p->objects) + 1, sizeof(*c->cut));
	if (!c->cut)
		return false;
	if (c->whole) {
		sessions_forget(p->sessions, uid);
		return true;
	}
	session = session_find(p, c->only, c->id);
	if (session == SESSION_NONE) {
		c->show = trees_show_new(p, uid, c->id, 0);
		return c->show != NULL;
	}
	sessions_forget_book(p->sessions, session);
	c->phase = PHASES;
	return true;
}

struct predictor_clear *predictor_clear_new(
    struct predictor *p, uint64_t uid, uint64_t id)
{
	struct predictor_clear *c;
	uint16_t only;

	errno = ENOENT;
	if (!trees_uid_bits(p, uid, &only))
		return NULL;
	errno = ENOMEM;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->at.p = c->p = p;
	c->emptied = p->emptied;
	c->only = only;
	c->whole = !id;
	c->id = id;
	if (clear_begin(c, uid))
		return c;
	predictor_clear_free(c);
	errno = ENOMEM;
	return NULL;
}

static int clear_at_once(struct predictor *p, uint64_t uid, uint64_t id)
{
	struct predictor_clear *c = predictor_clear_new(p, uid, id);
	int rc;

	if (!c)
		return -errno;
	(void)predictor_clear_step(c, SIZE_MAX);
	rc = c->error;
	predictor_clear_free(c);
	return rc;
}

int predictor_clear_uid(struct predictor *p, uint64_t uid)
{
	return uid == TREES_ALL ? predictor_clear(p) : clear_at_once(p, uid, 0);
}

int predictor_clear_tree(struct predictor *p, uint64_t uid, uint64_t id)
{
	return id ? clear_at_once(p, uid, id) : -ENOENT;
}
