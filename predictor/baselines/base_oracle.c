/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limits at the other end: predictors that are told what comes next in the
 * run. The history oracle may say it only of files that were used before; the
 * third oracle also of files in directories that were listed.
 */
#include "predictor/baselines/model.h"

struct oracle {
	const struct model_future *future;
};

static void oracle_observe(void *m, const struct predictor_obs *o)
{
	(void)m;
	(void)o;
}

static void oracle_future(void *arg, const struct model_future *f)
{
	struct oracle *m = arg;

	m->future = f;
}

static size_t oracle_predict(const struct oracle *m, struct prediction *out,
    size_t max, bool new_ones, bool listed_ones)
{
	const struct model_future *f = m->future;
	size_t n = 0;

	for (size_t i = 0; i < f->n && n < max; i++) {
		if (!new_ones && !f->seen[i] && !(listed_ones && f->listed[i]))
			continue;
		model_predict(out, n, f->objects[i], 1);
		out[n++].lead = (uint32_t)i + 1;
	}
	return n;
}

static size_t oracle_all(void *m, struct prediction *out, size_t max)
{
	return oracle_predict(m, out, max, true, true);
}

static size_t oracle_seen(void *m, struct prediction *out, size_t max)
{
	return oracle_predict(m, out, max, false, false);
}

static size_t oracle_listed(void *m, struct prediction *out, size_t max)
{
	return oracle_predict(m, out, max, false, true);
}

#define ORACLE_OPS                                                             \
	.size = sizeof(struct oracle), .observe = oracle_observe,              \
	.future = oracle_future

const struct model_ops model_oracle_64 = {
    .name = "oracle-64",
    .what = "the next 64 of the run, ungated",
    .ungated = true,
    .predict = oracle_all,
    ORACLE_OPS,
};

const struct model_ops model_oracle_history = {
    .name = "oracle-history",
    .what = "of the next 64, those used before",
    .predict = oracle_seen,
    ORACLE_OPS,
};

const struct model_ops model_oracle_listed = {
    .name = "oracle-listed",
    .what = "of the next 64, those used before or listed",
    .predict = oracle_listed,
    ORACLE_OPS,
};
