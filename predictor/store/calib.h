/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calibration: how often predictions of a kind came true. A kind is a cell
 * of features; a cell that has seen little leans on its coarser parent, and
 * that on the prior. Old outcomes decay.
 */
#ifndef FOREFETCH_CALIB_H
#define FOREFETCH_CALIB_H

#include <stddef.h>
#include <stdint.h>

enum { CALIB_PARENTS = 304, CALIB_FINE = 64, CALIB_OUTCOMES = 256 };

/* parent * CALIB_FINE + fine */
typedef uint16_t calib_cell;

struct calib;

struct calib *calib_new(void);
void calib_free(struct calib *c);

float calib_p(const struct calib *c, calib_cell cell, float prior);
/* A prediction of that cell came true, or not. */
void calib_learn(struct calib *c, calib_cell cell, int hit);
/* Estimates that were told, and what became of them: said → was. */
float calib_correct(const struct calib *c, float p);
void calib_learn_told(struct calib *c, float p, int hit);

size_t calib_memory_bytes(const struct calib *c);

/* For saving. */
enum { CALIB_CELLS = CALIB_PARENTS * CALIB_FINE };
void calib_get(const struct calib *c, calib_cell cell, float *hits, float *n);
void calib_set(struct calib *c, calib_cell cell, float hits, float n);

#endif
