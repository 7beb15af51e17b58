/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories whose listing would show where a stream goes: they are told as
 * predictions, once each. */
#include "predictor/core/core.h"

/* Events until a listing that was asked for is given up: a stream that waits
 * for it makes no other predictions from that trail. A third or three times as
 * much changes no stall by more than .004 (forefetch-sim --calls). */
enum { LIST_PATIENCE = 24 };

/* Drops listings that were wanted for another uid and not told in time: this
 * uid may have no right to them. */
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
		if (p->nwanted == WANTED ||
		    !wall_passes(p, s, d->met_by,
			names_key(p->names, d->parent), d->key))
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
		    .parent = names_key(p->names, d->parent),
		    /* Above P_SURE: a stream waits for it. */
		    .p = 0.9f,
		    .lead = 1,
		    .needs = PREDICTOR_NEEDS_LISTING,
		    .source = PREDICTOR_FROM_NAMES};
	}
	return n;
}
