/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories whose listing would show where a stream goes. */
#include "predictor/core/core.h"

enum { LIST_PATIENCE = 24 };

/* What another uid wanted, and was not told in time, is not for this one. */
static void want_begin(struct predictor *p, const struct stream *s)
{
	if (p->wanted_by != s->uid)
		p->nwanted = 0;
}

bool want_listing(struct predictor *p, struct stream *s, uint32_t dir)
{
	struct dir *d = names_at(p->names, dir);

	if (d->list)
		return false;
	want_begin(p, s);
	if (!d->wanted_at) {
		uint64_t parent = d->parent == DIR_NONE
				      ? 0
				      : names_at(p->names, d->parent)->key;

		if (p->nwanted == WANTED ||
		    !wall_passes(p, s, d->known, parent, d->key))
			return false;
		d->wanted_at = p->events;
		p->wanted[p->nwanted++] = dir;
		p->wanted_by = s->uid;
	}
	return p->events - d->wanted_at < LIST_PATIENCE;
}

size_t want_tell(struct predictor *p, struct prediction *out, size_t max)
{
	size_t n = 0;

	want_begin(p, p->now);
	while (p->nwanted > 0 && n < max) {
		const struct dir *d =
		    names_at(p->names, p->wanted[--p->nwanted]);

		out[n++] = (struct prediction){.object = d->key,
		    .parent = d->parent == DIR_NONE
				  ? 0
				  : names_at(p->names, d->parent)->key,
		    .p = 0.9f,
		    .lead = 1,
		    .needs = PREDICTOR_NEEDS_LISTING,
		    .source = PREDICTOR_FROM_NAMES};
	}
	return n;
}
