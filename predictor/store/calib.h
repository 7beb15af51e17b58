/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calibration: how often predictions of a kind came true. A kind is a cell,
 * which is a combination of features. A cell that has seen few outcomes leans
 * on its parent, which has fewer features, and the parent on a prior. Old
 * outcomes decay.
 *
 *	parents 0 to 127    trails and graph   cands.c
 *	      128 to 255    names              guess.c
 *	      256 to 271    rest of an access  cands.c
 *	      272 to 287    new names          guess.c
 *	      288 to 303    analogies          analog.c
 */
#ifndef FOREFETCH_CALIB_H
#define FOREFETCH_CALIB_H

#include <stddef.h>
#include <stdint.h>

enum { CALIB_PARENTS = 304, CALIB_FINE = 64, CALIB_OUTCOMES = 256 };

/* parent * CALIB_FINE + fine features */
typedef uint16_t calib_cell;

struct calib;

/* NULL without memory. It has the same size whatever it learns, some 158 KB. */
struct calib *calib_new(void);
void calib_free(struct calib *c);

/* Returns the probability of a prediction of that cell, 0 to 1: what came true
 * of the cell's outcomes, of its parent's and by the prior, each weighed by how
 * much is known. Constant time. */
float calib_p(const struct calib *c, calib_cell cell, float prior);
/* A prediction of that cell came true (hit), or not. */
void calib_learn(struct calib *c, calib_cell cell, int hit);
/* Corrects an estimate by what became of those that were told before: they may
 * be too high or too low, since several cells choose what is told. */
float calib_correct(const struct calib *c, float p);
/* Counts whether a prediction that was told with probability `p` came true. */
void calib_learn_told(struct calib *c, float p, int hit);

size_t calib_memory_bytes(const struct calib *c);

/* For saving: how many outcomes of a cell were hits, of how many. Old outcomes
 * decay, so neither is a whole number. calib_set() adds them to the parent. */
enum { CALIB_CELLS = CALIB_PARENTS * CALIB_FINE };
void calib_get(const struct calib *c, calib_cell cell, float *hits, float *n);
void calib_set(struct calib *c, calib_cell cell, float hits, float n);

#endif
