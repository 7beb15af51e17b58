/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How well an object fits a stream, beyond the timing of replies. */
#ifndef FOREFETCH_FIT_H
#define FOREFETCH_FIT_H

#include "predictor/core/core.h"

enum { PLACES = 2 };

struct fit {
	struct predictor *p;
	uint32_t object;
	uint32_t dirs[LEVELS];
	uint32_t before[PLACES]; /* what it came after in older trails */
	uint8_t votes[STREAMS];  /* of its neighbours there */
};

void fit_init(struct fit *f, struct predictor *p, uint32_t object);
/* A stream_fit; `ctx` is a struct fit. */
float fit_score(void *ctx, const struct stream *s);

#endif
