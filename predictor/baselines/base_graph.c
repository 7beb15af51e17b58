/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probability graph (Griffioen and Appleton 1994): how often B followed A
 * within the window, over how often A came.
 */
#include "predictor/baselines/model.h"

#include "predictor/baselines/edges.h"

enum { WINDOW = 20 };

static float graph_weight(unsigned distance)
{
	(void)distance;
	return 1;
}

static void *graph_create(const struct model_options *opt)
{
	(void)opt;
	return edges_new(WINDOW, graph_weight);
}

static void graph_destroy(void *m)
{
	edges_free(m);
}

static void graph_observe(void *m, const struct predictor_obs *o)
{
	edges_observe(m, o->object);
}

static size_t graph_predict(void *m, struct prediction *out, size_t max)
{
	return edges_predict(m, out, max);
}

static size_t graph_memory(const void *m)
{
	return edges_memory_bytes(m);
}

const struct model_ops model_graph = {
    .name = "graph",
    .what = "probability graph, window 20",
    .create = graph_create,
    .destroy = graph_destroy,
    .observe = graph_observe,
    .predict = graph_predict,
    .memory_bytes = graph_memory,
};
