/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limit at one end: no prefetch, the cache alone. */
#include "predictor/baselines/model.h"

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
    .size = 1,
    .observe = none_observe,
    .predict = none_predict,
};
