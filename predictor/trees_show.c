/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "core.h"
#include "trees_private.h"

struct show {
	struct trees_at at;
	uint64_t id;
	uint64_t part, found_part; /* numbers, from 1; 0: not found */
	uint32_t found_i, found_at;
	FILE *out;
	const char *(*name)(void *ctx, uint64_t object);
	void *ctx;
	enum tree_step kind; /* of the root, while it is shown */
	bool nested;
	uint16_t only;
};

static uint32_t step_root(const struct trees_at *at, enum tree_step step)
{
	return step == TREE_RUN ? at->run : at->program;
}

/* The use that began last. */
static int find_on_part(void *ctx, const struct trail_part *part)
{
	struct show *s = ctx;

	s->part++;
	for (uint32_t i = 0; i < part->n; i++) {
		enum tree_step step = trees_step(&s->at, part, i);

		if (step != TREE_RUN && step != TREE_PROGRAM)
			continue;
		if (!trees_has(s->only, part) ||
		    (s->found_part && part->begun_at < s->found_at) ||
		    trees_id(s->at.p, step_root(&s->at, step), s->at.owner) !=
			s->id)
			continue;
		s->found_part = s->part;
		s->found_i = i;
		s->found_at = part->begun_at;
	}
	return 0;
}

static void show_object(struct show *s, uint32_t object, int depth)
{
	uint64_t key = objects_at(s->at.p->objects, object)->key;
	const char *name = s->name ? s->name(s->ctx, key) : NULL;

	if (name)
		fprintf(s->out, "%*s%s\n", 2 * depth, "", name);
	else
		fprintf(s->out, "%*s%016llx\n", 2 * depth, "",
		    (unsigned long long)key);
}

/* Nonzero at the end of the tree. */
static int show_step(struct show *s, uint32_t object, enum tree_step step)
{
	if (step == TREE_NOTHING)
		return 0;
	if (step == TREE_RUN ||
	    (step == TREE_PROGRAM && s->kind == TREE_PROGRAM))
		return 1;
	s->nested |= step == TREE_PROGRAM;
	show_object(s, object, s->nested && step == TREE_OBJECT ? 2 : 1);
	return 0;
}

static int show_on_part(void *ctx, const struct trail_part *part)
{
	struct show *s = ctx;

	s->part++;
	if (s->kind != TREE_NOTHING && !part->more)
		return 1;
	for (uint32_t i = 0; i < part->n; i++) {
		enum tree_step step = trees_step(&s->at, part, i);

		if (s->kind != TREE_NOTHING) {
			if (show_step(s, part->objects[i], step))
				return 1;
		} else if (s->part == s->found_part && i == s->found_i) {
			s->kind = step;
			show_object(s, part->objects[i], 0);
		}
	}
	return 0;
}

int predictor_show_tree(const struct predictor *p, uint64_t uid, uint64_t id,
    FILE *out, const char *(*name)(void *ctx, uint64_t object), void *ctx)
{
	struct show s = {
	    .at.p = p, .id = id, .out = out, .name = name, .ctx = ctx};
	uint32_t session;

	if (!trees_of(p, uid, &s.only))
		return -ENOENT;
	session = session_find(p, s.only, id);
	if (session != SESSION_NONE) {
		session_show(p, session, out, name, ctx);
		return 0;
	}
	trails_walk(p->trails, find_on_part, &s);
	if (!s.found_part)
		return -ENOENT;
	s.part = 0;
	trails_walk(p->trails, show_on_part, &s);
	return 0;
}
