/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of all predictors that forefetch-sim knows.
 *
 * To add one, write base_NAME.c with a `const struct model_ops model_NAME`, and
 * add X(NAME) below; the build finds the file, --list and --predictor find the
 * line. base_lastsucc.c is a short one to begin with. The rules for models are
 * in model.h. The test test_all_play plays a trace that repeats to every model
 * but the oracles, and demands that its warm stall be at most 1.01 of nobody's.
 */
#include <stdlib.h>
#include <string.h>

#include "predictor/baselines/model.h"

/* In the order of the table; the judge's rows and the limits come first. */
#define MODELS(X)                                                              \
	X(none)                                                                \
	X(last_successor_8)                                                    \
	X(oracle_64)                                                           \
	X(oracle_history)                                                      \
	X(oracle_listed)                                                       \
	X(last_successor)                                                      \
	X(graph)                                                               \
	X(ppm)                                                                 \
	X(epcm)                                                                \
	X(nexus)                                                               \
	X(mithril)                                                             \
	X(atree)                                                               \
	X(forefetch)

#define DECLARE(name) extern const struct model_ops model_##name;
MODELS(DECLARE)

#define ADDRESS(name) &model_##name,
const struct model_ops *const models[] = {MODELS(ADDRESS) NULL};

const struct model_ops *model_find(const char *name)
{
	for (int i = 0; models[i]; i++)
		if (strcmp(models[i]->name, name) == 0)
			return models[i];
	return NULL;
}

void *model_new(const struct model_ops *ops, const struct model_options *opt)
{
	return ops->create ? ops->create(opt) : calloc(1, ops->size);
}

void model_free(const struct model_ops *ops, void *m)
{
	if (m && ops->destroy)
		ops->destroy(m);
	else
		free(m);
}
