/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits: whoever is told what comes next in the run. The history oracle
 * knows it only of files that were used before, the third of those and of
 * files in directories that were listed.
 */
#include "predictor/baselines/model.h"

#include <stdlib.h>

enum oracle_knows { KNOWS_ALL, KNOWS_SEEN, KNOWS_LISTED };

struct oracle {
	enum oracle_knows knows;
	const struct model_future *future;
};

static void *oracle_new(enum oracle_knows knows)
{
	struct oracle *m = calloc(1, sizeof(*m));

	if (m)
		m->knows = knows;
	return m;
}

static void *oracle_create_all(const struct model_options *opt)
{
	(void)opt;
	return oracle_new(KNOWS_ALL);
}

static void *oracle_create_seen(const struct model_options *opt)
{
	(void)opt;
	return oracle_new(KNOWS_SEEN);
}

static void *oracle_create_listed(const struct model_options *opt)
{
	(void)opt;
	return oracle_new(KNOWS_LISTED);
}

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

static bool oracle_knows(const struct oracle *m, size_t i)
{
	switch (m->knows) {
	case KNOWS_SEEN:
		return m->future->seen[i];
	case KNOWS_LISTED:
		return m->future->seen[i] || m->future->listed[i];
	default:
		return true;
	}
}

static size_t oracle_predict(void *arg, struct prediction *out, size_t max)
{
	struct oracle *m = arg;
	size_t n = 0;

	for (size_t i = 0; i < m->future->n && n < max; i++) {
		if (!oracle_knows(m, i))
			continue;
		out[n] = (struct prediction){.object = m->future->objects[i],
		    .p = 1,
		    .lead = (uint32_t)i + 1};
		n++;
	}
	return n;
}

#define ORACLE_OPS(create_)                                                    \
	.create = (create_), .destroy = free, .observe = oracle_observe,       \
	.predict = oracle_predict, .future = oracle_future

const struct model_ops model_oracle_64 = {
    .name = "oracle-64",
    .what = "the next 64 of the run, ungated",
    .ungated = true,
    ORACLE_OPS(oracle_create_all),
};

const struct model_ops model_oracle_history = {
    .name = "oracle-history",
    .what = "of the next 64, those used before",
    ORACLE_OPS(oracle_create_seen),
};

const struct model_ops model_oracle_listed = {
    .name = "oracle-listed",
    .what = "of the next 64, those used before or listed",
    ORACLE_OPS(oracle_create_listed),
};
