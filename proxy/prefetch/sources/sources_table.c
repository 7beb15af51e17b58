/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of sources: a new one is a line here. */
#include "prefetch/sources/source_private.h"

/* Somebody has said what comes (hint.h). */
static void hint_passed(struct source *s, struct passed *p)
{
	const struct sources_params *sp = &s->all->p;

	p->hinted = sp->on_seen && sp->on_seen(sp->ctx, &p->obs);
}

const struct source_ops source_hint = {.passed = hint_passed};

/* In the order in which they hear of a call: what is sure comes first, and
 * behind hints only who goes on although somebody has said what comes. */
static const struct source_ops *const table[] = {
    &source_rest,    /* the rest of a file that was read before */
    &source_kind,    /* the rest of others, by their kind */
    &source_hint,    /* somebody has said what comes */
    &source_miss,    /* lists directories in which clients missed names */
    &source_mention, /* names in data */
    &source_habit,   /* what follows a lookup */
    &source_renew,   /* what came too early, and what is mapped */
    &source_walk,    /* the way through a tree */
    &source_tree,    /* what the predictor has learned */
    &source_pattern, /* the way through a file */
    &source_session, /* a whole former session */
};
_Static_assert(sizeof(table) / sizeof(*table) <= SOURCES_MAX, "too many");

struct sources *sources_new(const struct sources_params *p)
{
	struct sources *all = sources_new_empty(p);

	for (size_t i = 0; all && i < sizeof(table) / sizeof(*table); i++)
		if (!sources_add(all, table[i])) {
			sources_free(all);
			return NULL;
		}
	return all;
}
