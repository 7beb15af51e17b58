/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking back what was told: a tree broke, so that what was ahead in it will
 * hardly come. The candidate stays until its time is over, since it has to be
 * counted as wrong, or right after all; and it is told again if something
 * else makes it likely.
 */
#include "predictor/core/core.h"

void withdraw_cand(struct predictor *p, struct cand *c)
{
	if (c->told <= 0 || c->withdrawn || c->more)
		return;
	c->withdrawn = true;
	if (p->nwithdrawn < WITHDRAWN)
		p->withdrawn[p->nwithdrawn++] = c->object;
}

/* A stream of that uid counts on it. */
static bool is_told(const struct predictor *p, uint64_t uid, uint32_t object)
{
	for (int i = 0; i < STREAMS; i++) {
		const struct stream *s = &p->streams.at[i];
		const struct cand *c;

		if (!s->used || s->uid != uid || !s->pending)
			continue;
		c = stream_find_cand(s, object);
		if (c && c->told > 0 && !c->withdrawn)
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
