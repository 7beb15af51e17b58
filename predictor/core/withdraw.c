/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking back what was told, since the stream left the trail that it came from.
 * The candidate stays until its time is over, because it has to be counted as
 * wrong, or as right after all. It is told again if something else makes it
 * likely.
 */
#include "predictor/core/core.h"

void withdraw_cand(struct predictor *p, struct cand *c)
{
	if (!has_part(p, PREDICTOR_PART_WITHDRAWAL) || c->told_p <= 0 ||
	    c->withdrawn || c->rest)
		return;
	c->withdrawn = true;
	if (p->nwithdrawn < WITHDRAWN)
		p->withdrawn[p->nwithdrawn++] = c->object;
}

/* Whether any stream of that uid still counts on it. */
static bool is_told(const struct predictor *p, uint64_t uid, uint32_t object)
{
	for (uint32_t i = 0; i < p->streams.n; i++) {
		const struct stream *s = p->streams.at[i];
		const struct cand *c;

		if (!s->used || s->uid != uid || !s->pending)
			continue;
		c = stream_find_cand(s, object);
		if (c && c->told_p > 0 && !c->withdrawn)
			return true;
	}
	return false;
}

size_t predictor_withdrawn(
    const struct predictor *p, uint64_t *objects, size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; p->now && i < p->nwithdrawn && n < max; i++) {
		const struct object *o =
		    objects_at(p->objects, p->withdrawn[i]);

		if (!o->free && !is_told(p, p->now->uid, p->withdrawn[i]))
			objects[n++] = o->key;
	}
	return n;
}
