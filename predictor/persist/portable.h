/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The portable form: objects are known by their names, not by the keys that
 * one machine has for them. On another machine they are like a checkout that
 * nobody uses any more; twin.c finds the present one by its path suffixes.
 */
#ifndef FOREFETCH_PORTABLE_H
#define FOREFETCH_PORTABLE_H

#include "predictor/persist/predictor.pb-c.h"

/*
 * Gives all directories and objects keys that follow from their names below
 * the topmost directory that is known. The message must be sane: nothing in
 * it points outside. Whoever made it cannot choose the keys.
 */
void portable_set_keys(Forefetch__TreeFile *f);

#endif
