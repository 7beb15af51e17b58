/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A weighted graph of what follows what within a window: the structure that
 * the probability graph and Nexus share. */
#ifndef FOREFETCH_EDGES_H
#define FOREFETCH_EDGES_H

#include "predictor/baselines/ids.h"
#include "predictor/predictor.h"

/* Weight of the `distance`-th successor, 1 for the next. */
typedef float (*edges_weight)(unsigned distance);

struct edges;

struct edges *edges_new(unsigned window, edges_weight weight);
void edges_free(struct edges *g);
void edges_observe(struct edges *g, uint64_t object);
/* Successors of the last object by weight, `p` being the weight over what
 * it would be, had each occurrence been followed by it directly. */
size_t edges_predict(struct edges *g, struct prediction *out, size_t max);
size_t edges_memory_bytes(const struct edges *g);

#endif
