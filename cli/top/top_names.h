/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of objects as the daemon told them. It goes through all of its names to
 * find some, so what was told is kept here, and it is asked for others only now
 * and then.
 */
#ifndef FOREFETCH_TOP_NAMES_H
#define FOREFETCH_TOP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control.pb-c.h"

struct top_names;

/* NULL without memory. */
struct top_names *top_names_new(void);
void top_names_free(struct top_names *n); /* NULL is allowed */

/* Learn what an answer has names for; at that time, those without one have
 * none. Times are milliseconds of any clock. */
void top_names_learn(
    struct top_names *n, const Forefetch__ServerActivity *srv, uint64_t now_ms);
/* Put in the names that are known. True where some were never asked for, or
 * long ago. */
bool top_names_fill(
    struct top_names *n, Forefetch__ServerActivity *srv, uint64_t now_ms);

#endif
