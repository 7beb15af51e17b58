/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which uid has met what: see wall.h. */
#include "predictor/core/core.h"

/* Only predictor_clear() takes bits back, since objects and directories carry
 * them. */
uint16_t wall_bit(struct wall *w, uint64_t uid)
{
	uint32_t i = 0;

	while (i < w->n && w->uids[i] != uid)
		i++;
	/* However many users there were, root finds a place. */
	if (i == WALL_UIDS || (i == WALL_UIDS - 1 && i == w->n && uid != 0))
		return 0;
	if (i == w->n)
		w->uids[w->n++] = uid;
	return (uint16_t)(1u << i);
}

uint16_t wall_find(const struct wall *w, uint64_t uid)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->uids[i] == uid)
			return (uint16_t)(1u << i);
	return 0;
}

uint64_t wall_uid(const struct wall *w, uint16_t bit)
{
	return w->uids[__builtin_ctz(bit)];
}

struct brought *wall_brought(struct wall *w, uint16_t bit)
{
	return &w->brought[__builtin_ctz(bit)];
}

bool wall_passes(struct predictor *p, const struct stream *s, uint16_t met_by,
    uint64_t parent, uint64_t object)
{
	if (met_by & s->uid_bit)
		return true;
	if (p->opt.may_search &&
	    p->opt.may_search(p->opt.may_search_ctx, s->uid, parent, object))
		return true;
	p->walled++;
	return false;
}

void wall_open(struct predictor *p, uint32_t dir, uint16_t bit)
{
	while (bit && dir != DIR_NONE) {
		struct dir *d = names_at(p->names, dir);

		if (d->met_by & bit)
			return;
		d->met_by |= bit;
		dir = d->parent;
	}
}
