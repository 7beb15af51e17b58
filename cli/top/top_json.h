/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model for programs. */
#ifndef FOREFETCH_TOP_JSON_H
#define FOREFETCH_TOP_JSON_H

#include <stdio.h>

#include "top/top_model.h"

/* Writes the model as one JSON value on a line. */
void top_json_print(FILE *out, const struct top_model *m);

#endif
