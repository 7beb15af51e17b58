/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nexus (Gu et al. 2006): a relationship graph whose edges weigh less the
 * further apart two accesses are.
 */
#include "predictor/baselines/model.h"

#include "predictor/baselines/edges.h"

enum { WINDOW = 10 };

static float nexus_weight(unsigned distance)
{
	return (float)(WINDOW + 1 - (int)distance);
}

static void *nexus_create(const struct model_options *opt)
{
	(void)opt;
	return edges_new(WINDOW, nexus_weight);
}

static void nexus_destroy(void *m)
{
	edges_free(m);
}

static void nexus_observe(void *m, const struct predictor_obs *o)
{
	edges_observe(m, o->object);
}

static size_t nexus_predict(void *m, struct prediction *out, size_t max)
{
	return edges_predict(m, out, max);
}

static size_t nexus_memory(const void *m)
{
	return edges_memory_bytes(m);
}

const struct model_ops model_nexus = {
    .name = "nexus",
    .what = "Nexus, window 10, decremented weights",
    .create = nexus_create,
    .destroy = nexus_destroy,
    .observe = nexus_observe,
    .predict = nexus_predict,
    .memory_bytes = nexus_memory,
};
