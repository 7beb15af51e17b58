/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No prefetch: the cache alone. */
#include "predictor/baselines/model.h"

#include <stdlib.h>

static void *none_create(const struct model_options *opt)
{
	(void)opt;
	return malloc(1);
}

static void none_observe(void *m, const struct predictor_obs *o)
{
	(void)m;
	(void)o;
}

static size_t none_predict(void *m, struct prediction *out, size_t max)
{
	(void)m;
	(void)out;
	(void)max;
	return 0;
}

const struct model_ops model_none = {
    .name = "none",
    .what = "no prefetch, LRU only",
    .ungated = true,
    .create = none_create,
    .destroy = free,
    .observe = none_observe,
    .predict = none_predict,
};
