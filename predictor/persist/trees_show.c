/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Showing a tree, line by line: a walk over the trails finds the tree's last
 * use; a second one goes on from there to its end.
 */
#include <errno.h>
#include <stdlib.h>

#include "predictor/core/core.h"
#include "predictor/persist/trees_private.h"
#include "predictor/store/vec.h"

struct trees_show {
	struct trees_at at;
	struct trails_at walk;
	uint64_t id;
	/* The use that began last: in which part, with which entry. */
	uint32_t place, begun_at, entry;
	enum tree_step kind; /* of the root; TREE_NOTHING: not found */
	uint32_t run, program;
	struct predictor_line *lines;
	size_t n, max;
	uint32_t cap, era;
	int error;
	uint16_t only;
	bool found;  /* the first walk is over */
	bool done;   /* all lines are there */
	bool nested; /* a program has begun in the tree */
	bool more;   /* there are more than `max` lines */
};

static uint32_t step_root(const struct trees_at *at, enum tree_step step)
{
	return step == TREE_RUN ? at->run : at->program;
}

/* ---- the last use ----------------------------------------------------- */

/* Notes the entry if a use of the tree begins with it that is not older than
 * the one before. */
static void find_step(
    struct trees_show *s, const struct trail_part *part, uint32_t i)
{
	enum tree_step step = trees_step(&s->at, part, i);

	if (step != TREE_RUN && step != TREE_PROGRAM)
		return;
	if (!trees_part_is_of(s->only, part) ||
	    (s->kind != TREE_NOTHING && part->begun_at < s->begun_at) ||
	    trees_id(s->at.p, step_root(&s->at, step), s->at.owner) != s->id)
		return;
	s->kind = step;
	s->place = part->place;
	s->begun_at = part->begun_at;
	s->entry = i;
	s->run = s->at.run;
	s->program = s->at.program;
}

/* One part of the first walk; behind the last one, the second walk begins where
 * the use was found, if it is still there. */
static void find_part(struct trees_show *s)
{
	const struct trails *t = s->at.p->trails;
	struct trail_part part;

	if (trails_part(t, &s->walk, &part)) {
		for (uint32_t i = 0; i < part.n; i++)
			find_step(s, &part, i);
		return;
	}
	s->found = true;
	if (s->kind == TREE_NOTHING ||
	    !trails_seek(t, s->place, s->begun_at, &s->walk))
		s->error = -ENOENT;
}

/* ---- lines ------------------------------------------------------------ */

static void show_key(struct trees_show *s, uint64_t key, unsigned depth)
{
	if (s->n == s->max) {
		s->more = s->done = true;
		return;
	}
	if (!VEC_ROOM(s->lines, s->cap, s->n)) {
		s->error = -ENOMEM;
		return;
	}
	s->lines[s->n++] =
	    (struct predictor_line){.object = key, .depth = depth};
}

static void show_object(struct trees_show *s, uint32_t object, unsigned depth)
{
	show_key(s, objects_at(s->at.p->objects, object)->key, depth);
}

static void show_step(
    struct trees_show *s, const struct trail_part *part, uint32_t i)
{
	enum tree_step step = trees_step(&s->at, part, i);

	if (step == TREE_NOTHING)
		return;
	if (step == TREE_RUN ||
	    (step == TREE_PROGRAM && s->kind == TREE_PROGRAM)) {
		s->done = true;
		return;
	}
	s->nested |= step == TREE_PROGRAM;
	show_object(
	    s, part->objects[i], s->nested && step == TREE_OBJECT ? 2 : 1);
}

/* The first part has the root; what stands before it is not of the tree. */
static void show_part(struct trees_show *s)
{
	bool first = s->n == 0;
	struct trail_part part;
	uint32_t i = 0;

	if (!trails_part(s->at.p->trails, &s->walk, &part) ||
	    (!first && !part.more)) {
		s->done = true;
		return;
	}
	if (first) {
		s->at.run = s->run;
		s->at.program = s->program;
		s->at.owner = part.owner;
		show_object(s, step_root(&s->at, s->kind), 0);
		i = s->entry + 1;
		part.more = true;
	}
	for (; i < part.n && !s->done && !s->error; i++)
		show_step(s, &part, i);
}

static void show_session(struct trees_show *s, uint32_t session)
{
	const struct predictor *p = s->at.p;
	struct session_step *plan;
	uint32_t n;

	plan = session_plan(
	    sessions_book(p->sessions, session), SESSION_OBJECTS, &n);
	for (uint32_t i = 0; plan && i < n && !s->done && !s->error; i++) {
		const struct object *o = objects_at(p->objects, plan[i].object);

		if (!o->free && o->born_at <= plan[i].at)
			show_key(s, o->key, 1);
	}
	free(plan);
	s->found = s->done = true;
}

/* ---- the walk --------------------------------------------------------- */

struct trees_show *trees_show_new(
    const struct predictor *p, uint64_t uid, uint64_t id, size_t max)
{
	struct trees_show *s = calloc(1, sizeof(*s));
	uint32_t session;

	if (!s)
		return NULL;
	s->at.p = p;
	s->era = p->era;
	s->id = id;
	s->max = max;
	if (!trees_uid_bits(p, uid, &s->only)) {
		s->error = -ENOENT;
		return s;
	}
	session = session_find(p, s->only, id);
	if (session != SESSION_NONE)
		show_session(s, session);
	else
		trails_begin(p->trails, &s->walk);
	return s;
}

void trees_show_free(struct trees_show *s)
{
	if (!s)
		return;
	free(s->lines);
	free(s);
}

bool trees_show_step(struct trees_show *s, size_t steps)
{
	if (!s->done && s->era != s->at.p->era)
		s->error = -ESTALE;
	for (; steps > 0 && !s->done && !s->error; steps--)
		if (s->found)
			show_part(s);
		else
			find_part(s);
	return s->done || s->error;
}

int trees_show_lines(const struct trees_show *s,
    const struct predictor_line **lines, size_t *n, bool *more)
{
	*lines = s->lines;
	*n = s->n;
	*more = s->more;
	return s->error;
}
