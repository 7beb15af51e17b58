/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "predictor/baselines/model.h"

#include <string.h>

const struct model_ops *const models[] = {
    &model_none,
    &model_last_successor_8,
    &model_oracle_64,
    &model_oracle_history,
    &model_oracle_listed,
    &model_last_successor,
    &model_graph,
    &model_ppm,
    &model_epcm,
    &model_nexus,
    &model_mithril,
    &model_atree,
    &model_forefetch,
    NULL,
};

const struct model_ops *model_find(const char *name)
{
	for (int i = 0; models[i]; i++)
		if (strcmp(models[i]->name, name) == 0)
			return models[i];
	return NULL;
}
