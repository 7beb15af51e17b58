/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How well an event's object fits a stream, apart from the timing of replies:
 * was it predicted there, did its neighbours go there, is it near. */
#ifndef FOREFETCH_FIT_H
#define FOREFETCH_FIT_H

#include "predictor/core/core.h"

enum { PLACES = 2 };

struct fit {
	struct predictor *p;
	uint32_t object;
	uint32_t spacing;      /* of the actor's events, stream.h */
	uint32_t dirs[LEVELS]; /* its directory and those above */
	uint32_t
	    before[PLACES]; /* objects that it came after in older trails */
	uint8_t
	    votes[STREAMS_MAX]; /* how many neighbours there a stream used */
};

/* Collects all that the score of any stream needs from trails and names, once
 * an event, so that fit_score() is cheap. `spacing` as streams_event() gives
 * it. Constant time. */
void fit_init(
    struct fit *f, struct predictor *p, uint32_t object, uint32_t spacing);
/* How well the object fits the stream; the more the better. */
float fit_score(const struct fit *f, const struct stream *s);

#endif
