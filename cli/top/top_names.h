/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of objects as the daemon told them. The daemon goes through all names
 * in its cache to find some (control_reply_activity.c), which takes many turns
 * of its loop; so what it told is kept here, and it is asked for others only
 * now and then. */
#ifndef FOREFETCH_TOP_NAMES_H
#define FOREFETCH_TOP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control.pb-c.h"

struct top_names;

/* NULL without memory. */
struct top_names *top_names_new(void);
void top_names_free(struct top_names *n); /* NULL is allowed */

/* Learns the names that an answer with names has; objects without one have none
 * at that time. Times are milliseconds of any clock that does not go back. */
void top_names_learn(
    struct top_names *n, const Forefetch__ServerActivity *srv, uint64_t now_ms);
/* Puts the names that are known into the rows of an answer. True where some
 * objects were never asked for, or long ago. */
bool top_names_fill(
    struct top_names *n, Forefetch__ServerActivity *srv, uint64_t now_ms);

#endif
