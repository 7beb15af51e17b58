/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks that go on, and the record of each; see the header. */
#include "prefetch/sources/walks.h"

#include <stddef.h>

enum {
	QUIET_US = 30000000, /* a walk that rests for so long is over */
	LISTS_MIN = 2,       /* directories listed make a walk */
	BRANCHES_MIN = 2,    /* so do some that are entered beside another */
	WINDOW_MIN = 4,
	WINDOW_MAX = 256, /* directories ahead */
	WINDOW_GROWS = 2, /* with each that was used */
	OPEN_MIN = 16,    /* that may be unused yet, beside two windows */
	RECORD_MAX = 512, /* both counts are halved there */
};

/* Before anything was seen: of a walk of listings, three in four will be used;
 * of one of lookups, one in two. */
static const struct {
	float used, told;
} priors[2] = {{1, 2}, {3, 4}};

/* How many files a walk of lookups looks up in a directory, before it was seen
 * to: this counts as if it had been seen in VISITS_PRIOR directories. */
#define LOOKS_PRIOR  4
#define VISITS_PRIOR 1

/* ---- which walk ------------------------------------------------------- */

struct walk *walks_find(struct walk_table *ws, uint32_t number)
{
	struct walk *w = &ws->at[number % WALKS];

	return number != 0 && w->number == number ? w : NULL;
}

static struct walk *going_on(
    struct walk_table *ws, uint32_t number, bool lists, uint64_t now_us)
{
	struct walk *w = walks_find(ws, number);

	if (!w || (lists && !w->lists) || w->last_us + QUIET_US < now_us)
		return NULL;
	return w;
}

/* The next place whose walk has rested longest, of a few. */
static struct walk *walk_new(
    struct walk_table *ws, uint32_t cred, bool lists, uint64_t now_us)
{
	struct walk *w;

	for (int i = 0; i < WALKS / 2; i++) {
		w = &ws->at[++ws->numbers % WALKS];
		if (w->last_us + AGAIN_US < now_us || !w->known)
			break;
	}
	if (ws->numbers == 0)
		ws->numbers = WALKS;
	w = &ws->at[ws->numbers % WALKS];
	*w = (struct walk){.number = ws->numbers,
	    .cred = cred,
	    .lists = lists,
	    .window = WINDOW_MIN,
	    .last_us = now_us};
	return w;
}

/* The walk that comes to this directory: of those that were here, or above, or
 * beside, or that will come here, the one that went on last. Where one lists,
 * others that look up names are another matter, but not worth a walk of their
 * own. */
struct walk *walks_for(
    struct walk_table *ws, struct walkdir *d, bool lists, uint64_t now_us)
{
	const struct walkdir *up = d->above;
	uint32_t numbers[] = {
	    d->walk, d->told_walk, up ? up->walk : 0, up ? up->below_walk : 0};
	struct walk *last = NULL;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct walk *w = going_on(ws, numbers[i], lists, now_us);

		if (w && (!last || w->last_us > last->last_us))
			last = w;
	}
	return last ? last : walk_new(ws, d->cred, lists, now_us);
}

/* ---- how it goes ------------------------------------------------------ */

/* How likely what is told next will be used: a share of what was told before,
 * without those whose turn may still come. */
float walks_odds(const struct walk *w)
{
	unsigned open = OPEN_MIN + 2 * w->window;
	unsigned judged = w->told > open ? w->told - open : 0;

	if (judged < w->used)
		judged = w->used;
	return ((float)w->used + priors[w->lists].used) /
	       ((float)judged + priors[w->lists].told);
}

void walks_used(struct walk *w)
{
	w->used++;
	if (w->window < WINDOW_MAX)
		w->window += WINDOW_GROWS;
}

void walks_paces(struct walk *w, uint64_t now_us)
{
	uint64_t gap_us = now_us > w->last_us ? now_us - w->last_us : 0;

	if (gap_us > AGAIN_US)
		gap_us = AGAIN_US;
	w->pace_us = (w->pace_us * 3 + gap_us) / 4;
}

void walks_told(struct walk *w)
{
	if (++w->told < RECORD_MAX)
		return;
	w->told /= 2;
	w->used /= 2;
}

void walks_visits(struct walk *w)
{
	if (++w->visits < RECORD_MAX)
		return;
	w->visits /= 2;
	w->looks /= 2;
}

/* The lookups that a listing will probably spare; 0: the walk reads it. */
float walks_calls_spared(const struct walk *w)
{
	if (w->lists)
		return 0;
	return walks_odds(w) * ((float)w->looks + LOOKS_PRIOR) /
	       ((float)w->visits + VISITS_PRIOR);
}

/* It has come to a directory where it was not just before. */
void walks_arrives(struct walk *w, struct walkdir *d, bool lists)
{
	struct walkdir *up = d->above;

	w->listed += lists;
	w->hidden |= lists && d->hidden;
	if (up && up->below_walk != w->number) {
		up->below_walk = w->number;
		up->below_seen = 0;
	}
	if (up && d->walk != w->number && ++up->below_seen > 1)
		w->branches++;
	d->walk = w->number;
	w->known =
	    w->known || w->listed >= LISTS_MIN || w->branches >= BRANCHES_MIN;
}

/* ---- what comes next -------------------------------------------------- */

/* Whether the walk goes on above, when it has gone through what is below. */
static bool may_rise(const struct walk *w, const struct walkdir *up)
{
	return (w->lists && up->walk == w->number) ||
	       up->told_walk == w->number ||
	       (up->below_walk == w->number && up->below_seen > 1);
}

/* The first from there on that the walk may come to: most leave out hidden
 * directories. */
static struct walkdir *shown(const struct walk *w, struct walkdir *d)
{
	while (d && d->hidden && !w->hidden)
		d = TAILQ_NEXT(d, beside);
	return d;
}

/* `*depth`: how many levels below where it began; from there on it rises as far
 * as the walk does. */
struct walkdir *walks_next(
    const struct walk *w, struct walkdir *d, unsigned *depth)
{
	struct walkdir *next = shown(w, TAILQ_FIRST(&d->below));

	if (next) {
		++*depth;
		return next;
	}
	for (int i = 0; i < RISE_MAX && d->above; i++) {
		if (*depth == 0 && !may_rise(w, d->above))
			return NULL;
		next = shown(w, TAILQ_NEXT(d, beside));
		if (next)
			return next;
		*depth -= *depth > 0;
		d = d->above;
	}
	return NULL;
}
