/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who says so decides what a wish is. */
#include "prefetch/queue/wish.h"

bool wish_is_of_session(const struct wish *w)
{
	return w->said_by == WISH_OF_SESSION;
}

bool wish_is_guess(const struct wish *w)
{
	return !(w->said_by & ~NOTE_GUESSES);
}

bool wish_is_asked(const struct wish *w)
{
	return w->source == NOTE_FROM_HINT && (w->name || w->count > 0);
}

/* A want of which trails or the graph say that it will be used is not bounded.
 */
bool wish_is_bounded(const struct wish *w)
{
	uint16_t led = 1 << PREDICTOR_FROM_TRAIL | 1 << PREDICTOR_FROM_GRAPH;

	return !wish_is_asked(w) && !wish_is_of_session(w) &&
	       !(w->said_by & led);
}
