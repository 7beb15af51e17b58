/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging three sessions into a plan: all objects that any of them used, each
 * with the probability that a session uses it. The order is that of the newest
 * session. An object that only an older one has comes behind the object that it
 * followed there.
 *
 * The plan is the union of the three, in the order of the newest. A plan of the
 * objects that at least two of the three have was tried, too: of five logins,
 * half of each being one of three kinds (bench/sessions, vary), the union
 * foresaw three whole, that plan only one. It wanted 357 objects in vain in
 * place of 178, of 1,500; most are confirmations.
 */
#include <stdlib.h>

#include "predictor/sessions/sessions.h"
#include "predictor/store/keymap.h"
#include "predictor/store/objects.h"

/* Where an object stands in the plan: behind number `anchor` of the newest
 * session; there, those of younger sessions come first, each in its order. */
struct place {
	uint32_t anchor, session, i;
	uint32_t count; /* how many sessions have it */
	uint32_t last;  /* the last of these sessions */
	struct session_step step;
};

struct merge {
	struct place *places;
	struct keymap *map; /* object → place */
	uint32_t n;
};

static int place_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->anchor != y->anchor)
		return x->anchor < y->anchor ? -1 : 1;
	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

/* The plan has the object already: a session counts once for it, its needs add
 * up, and the largest part that was read is the one to fetch. */
static void place_again(
    struct place *x, const struct session_use *u, uint32_t session)
{
	x->count += x->last != session;
	x->last = session;
	x->step.needs |= u->needs;
	if (u->blocks > x->step.blocks)
		x->step.blocks = u->blocks;
}

/* Adds a session to the plan. An object that the newest session has, too, is
 * the anchor of those that follow it here. False without memory. */
static bool merge_record(
    struct merge *m, const struct session_record *r, uint32_t session)
{
	uint32_t anchor = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t at = keymap_get(m->map, r->uses[i].object);

		if (at != KEYMAP_NONE) {
			place_again(&m->places[at], &r->uses[i], session);
			anchor = m->places[at].anchor;
			continue;
		}
		if (session == 0)
			anchor = i;
		if (keymap_put(m->map, r->uses[i].object, m->n))
			return false;
		m->places[m->n++] = (struct place){.anchor = anchor,
		    .session = session,
		    .i = i,
		    .count = 1,
		    .last = session,
		    .step = {.object = r->uses[i].object,
			.blocks = r->uses[i].blocks,
			.at = r->at,
			.needs = r->uses[i].needs}};
	}
	return true;
}

/* The rule of succession, where the prior counts as one session. */
static float place_p(const struct place *x, uint32_t sessions)
{
	return ((float)x->count + 0.5f) / ((float)sessions + 1);
}

/* Puts the places in order, and makes steps of the first `max`. */
static struct session_step *merge_steps(
    struct merge *m, uint32_t sessions, uint32_t max, uint32_t *n)
{
	struct session_step *steps = calloc(m->n + 1, sizeof(*steps));

	*n = 0;
	if (!steps)
		return NULL;
	qsort(m->places, m->n, sizeof(*m->places), place_cmp);
	for (uint32_t i = 0; i < m->n && *n < max; i++) {
		steps[*n] = m->places[i].step;
		steps[(*n)++].p = place_p(&m->places[i], sessions);
	}
	return steps;
}

struct session_step *session_plan(
    const struct session_book *b, uint32_t max, uint32_t *n)
{
	struct session_step *steps = NULL;
	struct merge m = {.map = keymap_new()};
	uint32_t room = 0;
	bool whole;

	*n = 0;
	for (uint32_t i = 0; i < b->n; i++)
		room += b->kept[i].n;
	m.places = calloc(room + 1, sizeof(*m.places));
	whole = m.map && m.places && room > 0;
	for (uint32_t i = 0; i < b->n && whole; i++)
		whole = merge_record(&m, &b->kept[i], i);
	if (whole)
		steps = merge_steps(&m, b->n, max, n);
	keymap_free(m.map);
	free(m.places);
	return steps;
}
