/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scan guard. A walk over thousands of files that nobody used before would
 * drive more useful objects out of a full memory. So the objects of a walk are
 * on probation: they make room for each other, and their trail is not kept.
 * While there is room they are kept like all others, since walks come again.
 */
#include "predictor/core/core.h"

enum {
	SCAN_MIN = 256, /* uses of new objects in order, before it is a walk */
	SCAN_LEAVE = 8, /* any other use takes so many of them back */
};

/* A sixteenth of all objects may be on probation. */
static uint32_t probation_size(const struct predictor *p)
{
	uint32_t most = objects_end(p->objects) / 16;

	return most < PROBATION ? most : PROBATION;
}

void scan_room(struct predictor *p, uint64_t key)
{
	if (!objects_full(p->objects) ||
	    objects_find(p->objects, key) != OBJECT_NONE)
		return;
	while (p->probation_in - p->probation_out >= probation_size(p) &&
	       p->probation_in != p->probation_out) {
		const struct probation *x =
		    &p->probation[p->probation_out++ % PROBATION];
		const struct object *o = objects_at(p->objects, x->object);

		if (!o->free && o->born_at == x->born_at && !o->recent &&
		    o->count <= 1) {
			objects_drop(p->objects, x->object);
			return;
		}
	}
}

void scan_try(struct predictor *p, uint32_t object)
{
	if (!objects_full(p->objects))
		return;
	if (p->probation_in - p->probation_out == PROBATION)
		p->probation_out++;
	p->probation[p->probation_in++ % PROBATION] =
	    (struct probation){object, objects_at(p->objects, object)->born_at};
}

bool scan_guards(struct predictor *p, struct stream *s, uint32_t object)
{
	struct object *o = objects_at(p->objects, object);
	bool inorder = s->by_names;

	if (o->dir != DIR_NONE && o->rank != RANK_NONE)
		inorder |= names_run(names_at(p->names, o->dir)) > 1;
	if (o->count == 0 && inorder && s->unseen < SCAN_MIN)
		s->unseen++;
	else if (o->count > 0 || !inorder)
		s->unseen = s->unseen > SCAN_LEAVE ? s->unseen - SCAN_LEAVE : 0;
	if (s->unseen == 0)
		s->scans = false;
	if (s->unseen == SCAN_MIN && !s->scans &&
	    has_part(p, PREDICTOR_PART_SCANS)) {
		s->scans = true;
		p->guarded++;
	}
	p->scan = s->scans && o->count == 0;
	if (!p->scan)
		return false;
	o->recent = false;
	scan_try(p, object);
	return trails_full(p->trails);
}
