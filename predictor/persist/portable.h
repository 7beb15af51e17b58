/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The portable form: objects are known by their names, not by the keys that one
 * machine has for them. On another machine they look like a checkout that
 * nobody uses any more, and core/twin.c finds the present one by the ends of
 * paths.
 */
#ifndef FOREFETCH_PORTABLE_H
#define FOREFETCH_PORTABLE_H

#include "predictor/persist/predictor.pb-c.h"

/*
 * Gives all directories and objects keys that are hashes of their names below
 * the topmost known directory, so that whoever made the message cannot choose
 * them. Its indices must have been checked before.
 */
void portable_set_keys(Forefetch__TreeFile *f);

#endif
