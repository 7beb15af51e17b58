/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own predictor, in the form that the simulator wants. */
#include "predictor/baselines/model.h"

static void *forefetch_create(const struct model_options *opt)
{
	struct predictor_options po = {.budget_bytes = opt->budget_bytes,
	    .without = opt->without,
	    .use_pids = opt->use_pids};

	return predictor_new(&po);
}

static void forefetch_destroy(void *m)
{
	predictor_free(m);
}

static void forefetch_observe(void *m, const struct predictor_obs *o)
{
	predictor_observe(m, o);
}

static size_t forefetch_predict(void *m, struct prediction *out, size_t max)
{
	return predictor_predict(m, out, max);
}

static void forefetch_feedback(
    void *m, uint64_t object, enum predictor_outcome what)
{
	predictor_feedback(m, object, what);
}

static void forefetch_list(void *m, uint64_t uid, uint64_t dir,
    const struct predictor_dirent *ents, size_t n)
{
	predictor_list(m, uid, dir, ents, n);
}

static void forefetch_place_dir(
    void *m, uint64_t uid, uint64_t dir, uint64_t parent, uint64_t name_hash)
{
	predictor_place_dir(m, uid, dir, parent, name_hash);
}

static size_t forefetch_memory(const void *m)
{
	struct predictor_stats st;

	predictor_get_stats(m, &st);
	return st.memory_bytes;
}

static bool forefetch_reliability(
    const void *m, struct predictor_reliability *r)
{
	predictor_get_reliability(m, r);
	return true;
}

const struct model_ops model_forefetch = {
    .name = "forefetch",
    .what = "trails, successor graph and names, streams told apart",
    .create = forefetch_create,
    .destroy = forefetch_destroy,
    .observe = forefetch_observe,
    .predict = forefetch_predict,
    .feedback = forefetch_feedback,
    .list = forefetch_list,
    .place_dir = forefetch_place_dir,
    .memory_bytes = forefetch_memory,
    .reliability = forefetch_reliability,
};
